"""The page of a run: one HTML file for everybody."""

from attribound.report.page.page import write_report

__all__ = ["write_report"]
