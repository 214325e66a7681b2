"""Fold the preprocessing steps of a pipeline into its model, so that the plan reads raw columns."""
