"""Metrics: accuracy and others of labels, NDCG and precision at k, costs, the area under a cost curve."""

from miserly.metrics.metrics import (
    Metric,
    Queries,
    accuracy,
    cost_curve_area,
    expected_cost,
    get_metric,
    ndcg,
    per_query,
    precision_at_k,
)

__all__ = [
    "Metric",
    "Queries",
    "accuracy",
    "cost_curve_area",
    "expected_cost",
    "get_metric",
    "ndcg",
    "per_query",
    "precision_at_k",
]
