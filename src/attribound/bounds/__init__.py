"""The proved mathematics: float64, numpy and scipy only, never torch."""

from attribound.bounds.budgets import Budget
from attribound.bounds.cells import ErrorBars, Majority, Votes, hot_cells
from attribound.bounds.confidence import eigenvalue_upper_bound, mean_radius, norm_lower_bound, spend
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Closeness, Fact, Length, ProbabilityGradient, Spread
from attribound.bounds.features import order_kept, sign_kept, top_k_overlap
from attribound.bounds.laws import LAWS, Ball, Law, Normal, moved_fraction, parse_law, register_law, shift_size
from attribound.bounds.orders import Orders, order_radii
from attribound.bounds.paper import (
    cosine_bound_paper,
    largest_moved_fraction_paper,
    max_epsilon_paper,
    norm_interval_paper,
)
from attribound.bounds.proportions import majority_needed, proportion_lower
from attribound.bounds.registry import FACTS, register_rule
from attribound.bounds.rules import RULES, Rule
from attribound.bounds.rules.curvature import cosine_bound_curvature, cosine_from_displacement, displacement_curvature
from attribound.bounds.tight import cosine_bound, largest_moved_fraction, max_epsilon, min_radius, min_sigma

__all__ = [
    "FACTS",
    "LAWS",
    "RULES",
    "Ball",
    "Budget",
    "Closeness",
    "ErrorBars",
    "Evidence",
    "Fact",
    "Law",
    "Length",
    "Majority",
    "Normal",
    "Orders",
    "ProbabilityGradient",
    "Rule",
    "Spread",
    "Votes",
    "cosine_bound",
    "cosine_bound_curvature",
    "cosine_bound_paper",
    "cosine_from_displacement",
    "displacement_curvature",
    "eigenvalue_upper_bound",
    "hot_cells",
    "largest_moved_fraction",
    "largest_moved_fraction_paper",
    "majority_needed",
    "max_epsilon",
    "max_epsilon_paper",
    "mean_radius",
    "min_radius",
    "min_sigma",
    "moved_fraction",
    "norm_interval_paper",
    "norm_lower_bound",
    "order_kept",
    "order_radii",
    "parse_law",
    "proportion_lower",
    "register_law",
    "register_rule",
    "shift_size",
    "sign_kept",
    "spend",
    "top_k_overlap",
]
