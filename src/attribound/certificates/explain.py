"""What a certificate says in words: summaries, reasons, and what would help."""

import html
import math
from typing import TYPE_CHECKING

from attribound.bounds.designs import draws_for
from attribound.bounds.rules.moment import MomentBounds
from attribound.certificates.statements.base import ASSUMED
from attribound.certificates.statements.registry import words
from attribound.rounding import exact_text, round_down

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate

FIDELITY = 0.5
"""The least fidelity that gates, tests and tuning accept unless told otherwise: 60 degrees from the plain map."""


def summary(certificate: "Certificate") -> str:
    """One line with certified numbers rounded down."""
    note = ", limit ASSUMED: not a certificate" if certificate.assumed else ""
    note += _counted(certificate, ", ")
    claim = certificate.record.bound.claim and f" {certificate.record.bound.claim}"
    return (
        f"Certificate(target={certificate.target}, noise={certificate.noise}, "
        f"max_epsilon(0.8)={round_down(certificate.max_epsilon(0.8))}, rule={certificate.rule}, "
        f"fidelity={_fidelity(certificate)}, samples={certificate.samples}, alpha={certificate.alpha:g}{note}){claim}"
    )


def html_table(certificate: "Certificate") -> str:
    """A small table for notebooks, certified numbers rounded down, everything escaped."""
    cells = {
        "status": certificate.status,
        "explained class": str(certificate.target),
        "noise": certificate.law.words,
        "epsilon": f"the change's {certificate.evidence.budget.measure}",
        **words(certificate),
        "rule": certificate.rule or "none",
        "limit": certificate.record.bound.claim or f"{certificate.limit:g}: {certificate.limit_source}",
        "fidelity": f"{_fidelity(certificate)} (cosine to the plain map)",
        "samples": f"{certificate.samples:,}",
        "failure probability": f"alpha = {certificate.alpha:g}",
        **({"why not": certificate.reason} if certificate.reason else {}),
    }
    lines = "".join(
        f'<tr><th scope="row" style="text-align:left">{html.escape(key)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for key, value in cells.items()
    )
    note = f"<p><strong>{ASSUMED}</strong></p>" if certificate.assumed else ""
    return f"{note}<table><caption>attribound certificate</caption>{lines}</table>"


def explain(certificate: "Certificate", cosine: float, epsilon: float) -> str:
    """Is `cosine` certified at `epsilon`, by which rule, or why not."""
    reached = certificate.cosine(epsilon)
    counted = _counted(certificate, "; ")
    if reached < cosine:
        reasons = why_not(certificate, cosine, epsilon), more_draws(certificate, cosine, epsilon)
        return "; ".join(filter(None, reasons)) + counted
    noun = "under an ASSUMED limit (not a certificate):" if certificate.assumed else "certified:"
    rule = certificate.rule_at(epsilon)
    proved = f"{noun} cosine >= {round_down(reached)} at epsilon {exact_text(epsilon)} by the {rule} rule{counted}"
    like = unfaithful(certificate.fidelity, FIDELITY) or f"fidelity {_fidelity(certificate)}"
    claim = certificate.record.bound.claim and f". {certificate.record.bound.claim}"
    return f"{proved}; {like}; chance unknown (a run compares inputs){claim}"


def _counted(certificate: "Certificate", before: str) -> str:
    """What epsilon counts, where it is not the plain size of the change."""
    budget = certificate.evidence.budget
    return "" if budget.units is None and not budget.changes else f"{before}epsilon is the change's {budget.measure}"


def unfaithful(fidelity: float | None, least: float) -> str:
    """Why a map is not like the plain one, if it is not; a floor of 0 accepts every map.

    Args:
        fidelity: cosine of the smoothed and the plain map; None: one of them is zero.
        least: the least fidelity accepted.
    """
    if least <= 0 or (fidelity is not None and fidelity >= least):
        return ""
    known = "is unknown" if fidelity is None else f"is only {round_down(fidelity, 2)}"
    return (
        f"the fidelity (cosine of the smoothed and the plain map) {known}, less than {exact_text(least)}: this is "
        "not the explanation that people know; use less noise"
    )


def _fidelity(certificate: "Certificate") -> str:
    return "unknown" if certificate.fidelity is None else f"{certificate.fidelity:.2f}"


def more_draws(certificate: "Certificate", cosine: float, epsilon: float) -> str:
    """About how many draws would certify it, if the moments stay as they were seen; empty if nobody knows."""
    moments, shift = certificate.evidence.facts.get(MomentBounds), certificate.law.normal_shift(epsilon)
    if not isinstance(moments, MomentBounds) or shift is None or certificate.norm_lower <= 0:
        return ""
    seen = next((one for one in moments.each() if one.cosine >= cosine), None)
    if seen is None or seen.tilt > math.pi / 2:
        return ""
    kappa, alpha = certificate.norm_lower / certificate.limit, float(moments.alpha[0])
    needed = draws_for(float(shift), seen, norm=kappa, alpha=alpha)
    if needed is None:
        return "no number of draws up to a million would do: rare events cannot be excluded so far out"
    return f"about {needed:,} draws would do" if needed > certificate.draws else ""


def stopped_early(certificate: "Certificate") -> str:
    """That sampling stopped before all samples were taken, and why; empty if it did not."""
    record = certificate.record
    why = {
        "futile": "because what was asked could not be proved any more",
        "proved": "because what was asked was proved",
    }
    if record.stopped not in why:
        return ""
    return f"sampling stopped after {record.samples:,} of {record.budget:,} samples {why[record.stopped]}; "


def why_not(certificate: "Certificate", cosine: float, epsilon: float) -> str:
    """Why `cosine` is not certified at `epsilon`, and in numbers what would help."""
    law, kappa = certificate.law, certificate.norm / certificate.limit
    start = f"cosine {exact_text(cosine)} is not certified" + (f" at epsilon {exact_text(epsilon)}" if epsilon else "")
    stopped = stopped_early(certificate)
    if certificate.norm == 0:
        return (
            f"{start}: every attribution drawn is zero, or they cancel: does the explained output depend on the input?"
        )
    if certificate.norm_lower <= 0:
        noise = certificate.map_radius / certificate.norm
        wanted = certificate.samples * max(noise * noise, 2.0)
        return (
            f"{start}: {stopped}the smoothed map's norm ({certificate.norm:.3g}) cannot be told from 0 after "
            f"{certificate.samples} samples; about {wanted:,.0f} samples may do, or a "
            f"smaller {law.parameter} or a model trained with noise (norm / limit is {kappa:.3g})"
        )
    largest = certificate.max_epsilon(cosine)
    if epsilon <= largest or largest == 0:
        return f"{start}: {stopped}norm / limit is only {kappa:.3g}; a model trained with noise would raise it"
    certified = "that follows from the ASSUMED limit (not a certificate)" if certificate.assumed else "certified"
    if stopped:  # what few draws certify says little about the noise that would be needed
        return f"{start}: {stopped}these draws reach epsilon {round_down(largest)}, {certified}; all may reach further"
    needed, reached = law.value * epsilon / largest, certificate.cosine(epsilon)
    return (
        f"{start}: the largest epsilon {certified} is {round_down(largest)}; {law.parameter} >= {needed:.3g} would do "
        f"if the norm stayed at {kappa:.3g} of its limit (attribound.min_radius measures it)"
        + (f", or accept cosine {round_down(reached)}" if reached > 0 else "")
    )
