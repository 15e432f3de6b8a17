"""Every kind of fact by its name, as stored records spell it; a new one adds a word here."""

from attribound.bounds.cells import ErrorBars, Majority, Votes
from attribound.bounds.facts import Closeness, Fact, Length, ProbabilityGradient, Spread
from attribound.bounds.rules.moment import MomentBounds

FACTS: dict[str, type[Fact]] = {
    fact.name: fact
    for fact in (Length, Spread, Closeness, ProbabilityGradient, MomentBounds, Votes, Majority, ErrorBars)
}
