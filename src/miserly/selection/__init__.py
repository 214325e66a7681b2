"""Search over learners and budgets, and the choice of a model."""

from miserly.selection.budgeted import BudgetedEstimator
from miserly.selection.frontier import frontier
from miserly.selection.results import Frontier

__all__ = ["BudgetedEstimator", "Frontier", "frontier"]
