"""What features, groups of features and evaluations cost, and the record of what has been paid."""

from miserly.costs.costs import SLACK, Costs, Feature, Ledger, fits, read_budget

__all__ = ["SLACK", "Costs", "Feature", "Ledger", "fits", "read_budget"]
