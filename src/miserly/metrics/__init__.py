"""Metrics of labels, numbers and rankings, metrics by name, and measures of cost."""

from miserly.metrics.costs import cost_curve_area, expected_cost, outcome_cost, total_cost
from miserly.metrics.labels import accuracy
from miserly.metrics.ranking import Queries, ndcg, precision_at_k
from miserly.metrics.registry import Metric, get_metric, per_query
from miserly.metrics.row_metrics import row_metric

__all__ = [
    "Metric",
    "Queries",
    "accuracy",
    "cost_curve_area",
    "expected_cost",
    "get_metric",
    "ndcg",
    "outcome_cost",
    "per_query",
    "precision_at_k",
    "row_metric",
    "total_cost",
]
