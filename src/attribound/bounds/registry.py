"""Every kind of fact by its name, as stored records spell it."""

from attribound.bounds.cells import ErrorBars, Majority, Votes
from attribound.bounds.facts import Closeness, Fact
from attribound.bounds.orders import Orders
from attribound.bounds.rules import RULES

_NEEDED: tuple[type[Fact], ...] = tuple(fact for rule in RULES for fact in rule.needs)
_OTHERS: tuple[type[Fact], ...] = (
    Closeness,
    Votes,
    Majority,
    ErrorBars,
    Orders,
)
"""Facts that no rule needs; those that one needs are known by the rule."""

FACTS = {fact.name: fact for fact in (*_NEEDED, *_OTHERS)}
