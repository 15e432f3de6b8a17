"""Slow, naive or 40-digit versions of the mathematics, written from the theory and not from src."""
