"""What an adopted model must share with the model: answers on 10,000 rows, decisions without exception."""

from __future__ import annotations

import numpy as np

from miserly import adopt

N_ROWS = 10_000


def check_agreement(model, X, costs=None):
    """The adopted model, after its answers on `X` were compared with those of the model."""
    adopted = adopt(model, costs, n_jobs=1)
    expected, found = model.predict(X), adopted.predict(X)
    if adopted.model.task == "classes":
        assert (expected == found).all()
        if adopted.plan_.has_probabilities:
            chances = model.predict_proba(X)
            np.testing.assert_allclose(adopted.predict_proba(X), chances, rtol=1e-10)
    else:
        scale = np.abs(expected).mean()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * scale)
    return adopted
