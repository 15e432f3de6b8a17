"""Benchmarks: ratios against a peer or a bare loop in the same run, for machines are noisy."""
