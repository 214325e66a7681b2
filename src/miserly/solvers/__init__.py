"""Numerics over arrays, without estimators: descent, greedy selection, Gram matrices, kernel machines."""
