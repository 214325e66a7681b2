"""Losses: values, gradients and curvatures of scores."""
