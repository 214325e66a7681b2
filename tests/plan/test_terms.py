"""Terms: one class each. A term that is written here, and nowhere else, does all that a term does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from miserly import Costs
from miserly.errors import PlanError
from miserly.plan import Node, Plan
from miserly.plan.engine.compiled_rules import TERM_RULES
from miserly.plan.store import packing
from miserly.plan.store.container import ints
from miserly.plan.store.format import dumps, loads
from miserly.plan.terms import TERMS, Term
from miserly.plan.terms.base import register

ROWS = np.array([[2.0, 3.0], [1.0, np.nan], [-1.0, 5.0]])


@dataclass(frozen=True)
class Product(Term):
    """The product of two features; 0 where one is missing."""

    kind: ClassVar[str] = "product"
    code: ClassVar[int] = 50
    schemas: ClassVar = {1: {"product_one": ("<i8", ("products",)), "product_other": ("<i8", ("products",))}}
    one: int
    other: int
    evaluation: float = 0.0

    @property
    def features(self):
        return np.unique([self.one, self.other]).astype(np.int64)

    def evaluate(self, X, rows):
        return np.nan_to_num(X[rows, self.one] * X[rows, self.other])

    def evaluate_one(self, known):
        return float(np.nan_to_num(known[self.one] * known[self.other]))

    @classmethod
    def pack(cls, terms, n_features):
        return {
            "product_one": ints([term.one for term in terms]),
            "product_other": ints([term.other for term in terms]),
        }

    @classmethod
    def unpack(cls, arrays, evaluations):
        columns = arrays["product_one"].tolist(), arrays["product_other"].tolist(), evaluations
        return [cls(*row) for row in zip(*columns, strict=True)]

    @classmethod
    def check_arrays(cls, arrays, sizes):
        return sizes["products"]

    def name_words(self, place, words):
        return f"({words.feature(self.one)} times {words.feature(self.other)})"

    @classmethod
    def sum_words(cls, terms, words):
        return f"{len(terms)} products"


@pytest.fixture(autouse=True)
def new_term(monkeypatch):
    known = dict(TERMS)
    register(Product)
    schemas = {version: packing.schema_of(version) for version in packing.SCHEMAS}
    for version, schema in schemas.items():
        monkeypatch.setitem(packing.SCHEMAS, version, schema)
    yield
    TERMS.clear()
    TERMS.update(known)


def plan(**changes):
    given = {"terms": [Product(0, 1, 0.5)], "nodes": [Node([0], [0], [2.0], [1.0])], **changes}
    return Plan(costs=Costs({"age": 1.0, "chol": 5.0}), base=[0.0], **given)


@pytest.mark.parametrize("count", ["path", "tree"])
def test_a_new_term_runs_and_is_paid(count):
    run = plan().run(ROWS, count=count)
    assert run.scores.tolist() == [13.0, 1.0, -9.0]
    assert run.cost.tolist() == [6.5, 6.5, 6.5]
    short = plan().run(ROWS, budget=2.0, count=count)
    assert short.stopped.all() and short.cost.tolist() == [1.5 if count == "path" else 0.0] * 3
    with pytest.raises(PlanError, match="compiled code has no rule for terms of kind product"):
        plan().run(ROWS, compiled=True)


def test_a_new_term_is_stepped_through():
    trail = plan().start()
    needs = []
    while need := trail.next():
        needs.append(need)
        trail.tell({name: {"age": 2.0, "chol": 3.0}[name] for name in need})
    assert needs == [("age",), ("chol",)] and float(trail.answer()) == 13.0 and trail.cost == 6.5


def test_a_new_term_is_saved_and_loaded():
    again = loads(dumps(plan()))
    assert again.terms == (Product(0, 1, 0.5),) and again.digest == plan().digest
    assert plan(terms=[Product(1, 1)]).digest != plan(terms=[Product(0, 1)]).digest


def test_a_new_term_is_described_drawn_and_checked():
    assert "step 1 adds 1 + 2 \N{MULTIPLICATION SIGN} (age times chol) to the score" in plan().describe()
    many = plan(terms=[Product(0, 1)] * 9, nodes=[Node(range(9), [0] * 9, [1.0] * 9, [0.0])])
    assert "step 1 adds a weighted sum of 9 products to the score" in many.describe()
    assert "chol" in plan().draw().svg
    with pytest.raises(PlanError, match="term 0 reads a feature that is not among 2"):
        plan(terms=[Product(0, 2)])
    with pytest.raises(PlanError, match="exists: Product"):
        register(Product)


def test_compiled_rules_are_found_by_their_codes():
    assert [term.code for term in TERM_RULES] == list(range(len(TERM_RULES)))
