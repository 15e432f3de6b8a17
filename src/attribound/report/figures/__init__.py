"""Figures and highlighted texts, for papers and notebooks."""
