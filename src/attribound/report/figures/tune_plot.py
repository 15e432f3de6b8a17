"""Pictures of what `tune` measured."""

from typing import Any

from attribound.report.figures import plots


def plot_scan(scan: dict[str, Any]) -> plots.Picture:
    """Noise levels of `tune`: what each costs in accuracy and gives in certified epsilon."""
    figure = plots.Picture(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for behind, colour, mark in ((False, plots.OURS, "o-"), (True, plots.PAPER, "s--")):
        levels = [level for level in scan["levels"] if level.get("denoised", False) == behind]
        found = [level["median_max_epsilon"] for level in levels]
        kept = [level["accuracy_noisy"] for level in levels]
        axes.plot(found, kept, mark, color=colour, label="with the denoiser" if behind and levels else None)
        for level, x, y in zip(levels, found, kept, strict=True):
            axes.annotate(f"sigma {level['sigma']:g}", (x, y), textcoords="offset points", xytext=(5, 5), fontsize=8)
    axes.axhline(scan["accuracy"], color="#777777", ls=":", lw=1, label="accuracy without noise")
    axes.set_ylim(0, 1.05)
    word = "epsilon under an ASSUMED limit, not certified," if scan.get("assumed") else "certified epsilon"
    axes.set_xlabel(f"median {word} at cosine {scan['cosine']:g}")
    axes.set_ylabel("accuracy under noise")
    axes.legend(fontsize=8, loc="lower left")
    return figure
