"""Angles of maps in balls, searched rather than derived."""

import numpy as np


def tilt_most(sampled: float, radius: float, lower: float, points: int = 200_000) -> float:
    """The largest angle with (sampled, 0) over a fine net of the ball's circle and of the shortest allowed length."""
    turn = np.linspace(0, np.pi, points)
    rim = np.stack([sampled + radius * np.cos(turn), radius * np.sin(turn)])
    short = lower * np.stack([np.cos(turn), np.sin(turn)])
    inside = np.hypot(short[0] - sampled, short[1]) <= radius
    candidates = np.concatenate([rim[:, np.hypot(*rim) >= lower], short[:, inside]], axis=1)
    return float(np.abs(np.arctan2(candidates[1], candidates[0])).max(initial=0.0))


def cosine_extremes(first, second, radii, lowers, generator, points: int = 4000) -> tuple[float, float]:
    """The least and the largest cosine over random maps in both balls, on their rims and in the plane of both."""
    plane = np.linalg.qr(np.stack([first, second], axis=1))[0]
    clouds = []
    for centre, radius, lower in zip((first, second), radii, lowers, strict=True):
        steps = generator.normal(size=(points, centre.size))
        steps[: points // 2] = generator.normal(size=(points // 2, 2)) @ plane.T
        steps *= (radius * generator.random(points) ** 0.1 / np.linalg.norm(steps, axis=1))[:, None]
        steps[::2] *= radius / np.linalg.norm(steps[::2], axis=1)[:, None]
        cloud = centre + steps
        cloud = cloud[np.linalg.norm(cloud, axis=1) >= lower]
        clouds.append(cloud / np.linalg.norm(cloud, axis=1)[:, None])
    cosines = clouds[0] @ clouds[1].T
    return float(cosines.min()), float(cosines.max())
