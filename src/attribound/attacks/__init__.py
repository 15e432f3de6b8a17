"""Attacks on explanations: one file each over one base, the scoring and the audit of certificates."""

from attribound.attacks.base import Attack, AttackResult, Problem
from attribound.attacks.direct import Direct
from attribound.attacks.ifia import Ifia
from attribound.attacks.launch import BUDGETS, METHODS, attack, make_attacks, register_attack
from attribound.attacks.likelihood import Likelihood
from attribound.attacks.random_directions import RandomDirections

__all__ = [
    "BUDGETS", "METHODS", "Attack", "AttackResult", "Direct", "Ifia", "Likelihood", "Problem", "RandomDirections",
    "attack", "make_attacks", "register_attack",
]  # fmt: skip
