"""The page of a table's tolerances: about reasons, in raw values."""
