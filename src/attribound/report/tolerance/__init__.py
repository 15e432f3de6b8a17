"""The page of a run of tolerances."""
