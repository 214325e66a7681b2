"""Support vector machines of scikit-learn: one node over all their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from miserly.data.tasks import Task
from miserly.learners.common.svm_reading import machine_of
from miserly.learners.wrap.adopt.model import Addend, AdoptedModel
from miserly.learners.wrap.adopt.scikit.parts import Rounds, common_parts, refuse_rounds
from miserly.plan.terms import Kernel

__all__ = ["read_svm"]

_OUTLIER_INLIER = np.array([-1, 1])


def read_svm(model: Any, rounds: Rounds = None) -> AdoptedModel:
    """Read a fitted `SVC`, `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM`. Probabilities are not read."""
    refuse_rounds(model, rounds)
    machine = machine_of(model)
    parts = common_parts(model, "support_vectors_")
    kernel = machine.kernel
    terms = [Kernel(v, kernel.name, kernel.gamma, kernel.coef0, kernel.degree) for v in machine.vectors]
    sign, link = 1.0, "identity"
    if machine.kind == "one-class":
        link, parts["classes"] = "sign", _OUTLIER_INLIER
    elif machine.kind == "classifier":
        # A decision value is positive for the first class of a pair; a score is positive for the second.
        sign, link = (-1.0, "sign") if machine.n_decisions == 1 else (1.0, "votes")
    coef, base = sign * machine.coef, sign * machine.intercept
    step = [
        Addend(i, c, float(coef[c, i]))
        for i in range(len(terms))
        for c in range(len(coef))
        if coef[c, i] != 0.0
    ]
    task: Task = "numbers" if machine.kind == "regressor" else "classes"
    return AdoptedModel(task, terms, [step], base, link=link, **parts)
