"""Tolerance sheets: how far an input may change before its explanation does.

`ask.tolerance` is the public function. Records, their words and their checks need no torch.
"""
