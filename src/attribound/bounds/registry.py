"""Every kind of fact by its name, as stored records spell it."""

from attribound.bounds.cells import ErrorBars, Majority, Votes
from attribound.bounds.facts import Closeness, Fact
from attribound.bounds.orders import Orders
from attribound.bounds.rules import RULES, Rule
from attribound.errors import ArgumentError
from attribound.plugins import Registry

_NEEDED: tuple[type[Fact], ...] = tuple(fact for rule in RULES for fact in rule.needs)
_OTHERS: tuple[type[Fact], ...] = (
    Closeness,
    Votes,
    Majority,
    ErrorBars,
    Orders,
)
"""Facts that no rule needs; those that one needs are known by the rule."""

FACTS: Registry[type[Fact]] = Registry("fact", {fact.name: fact for fact in (*_NEEDED, *_OTHERS)})


def register_rule(rule: Rule) -> Rule:
    """Make a rule of another package known, with the facts that it needs: it is taken wherever they were proved."""
    if not isinstance(rule, Rule):
        raise ArgumentError(f"expected a rule, e.g. Cone(), got {rule!r}")
    if any(known.name == rule.name for known in RULES):
        raise ArgumentError(f"there is a rule called {rule.name!r} already")
    for fact in rule.needs:
        FACTS.register(fact.name, fact)
    RULES.append(rule)
    return rule
