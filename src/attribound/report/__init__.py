"""Tables and pictures: they read certificates and records, and never recompute them."""
