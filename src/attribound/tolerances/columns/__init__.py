"""Exact tolerances of a table's columns, for forests: records, how they are made, checked and said. No torch."""
