"""Steps in front of a model folded into it, so that its plan reads raw columns."""
