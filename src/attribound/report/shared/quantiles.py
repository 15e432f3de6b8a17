"""The epsilon that a given share of all inputs reaches."""

from typing import Any

from attribound.report.shared.collect import Collected
from attribound.rounding import degrees, exact_text, in_units, lower_quantile

_DRAWN = (0.5, 0.7, 0.8, 0.9, 0.95)
_SHARES = (0.9, 0.75, 0.5, 0.25, 0.1)


def drawn_cosines(run: Collected) -> list[int]:
    """Which cosines get a line: the run's own and a few others."""
    wanted = {*_DRAWN, *run.config.cosines[:3]}
    return [number for number, cosine in enumerate(run.proofs.cosines) if cosine in wanted][:6]


def quantiles(run: Collected) -> dict[str, Any]:
    """For a few cosines, the epsilon that given shares of all inputs reach; rounded down."""
    proofs, rows = run.proofs, []
    for column in drawn_cosines(run) if proofs.scale.count else []:
        budgets, seen = proofs.units[:, column].tolist(), proofs.visible[:, column].tolist()
        reached = [in_units(int(lower_quantile(budgets, 1 - share)), proofs.scale.digits) for share in _SHARES]
        visible = in_units(int(lower_quantile(seen, 0.5)), proofs.scale.digits)
        cosine = proofs.cosines[column]
        rows.append({"cosine": exact_text(cosine), "degrees": degrees(cosine), "reached": reached, "visible": visible})
    return {"shares": [f"{100 * share:.0f} %" for share in _SHARES], "rows": rows}
