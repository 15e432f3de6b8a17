"""The page that compares two runs."""

from attribound.report.drift.page import markdown, write_page

__all__ = ["markdown", "write_page"]
