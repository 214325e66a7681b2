"""Reports of frontiers with outcome costs: the sum of tests and mistakes in words, and a constant action."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from miserly import CostLassoClassifier, Costs, frontier

pytest.importorskip("plotly")
pytest.importorskip("matplotlib")


def page(tmp_path, refer, unit="", **options):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = np.where(X @ [1.0, 1.0] + 0.5 * random.normal(size=200) > 0, "ill", "well")
    costs = {("ill", "well"): 90.0, ("well", "ill"): 20.0, "refer": refer}
    found = frontier(
        CostLassoClassifier(),
        X,
        y,
        costs=Costs([0.2, 0.5], unit=unit),
        outcome_costs=costs,
        max_fits=4,
        random_state=0,
        **options,
    )
    text = found.to_html(tmp_path / "report.html").read_text()
    return found, " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text.partition("<script")[0])).split())


def test_the_opening_adds_tests_and_mistakes(tmp_path):
    found, text = page(tmp_path, refer=50.0)
    line = re.search(
        r"Tests ([\d.]+) \+ mistakes ([\d.]+) = ([\d.]+) per row \(95 % interval of the sum: ", text
    )
    assert line is not None, text[:1500]
    tests, mistakes, total = map(float, line.groups())
    assert total == pytest.approx(tests + mistakes, abs=0.011)
    assert "total cost of tests and mistakes is the lowest" in text
    assert "The model was chosen for a round budget: total(), which compares all models, may give" in text
    assert total == pytest.approx(found.total()["total"], rel=0.2)


def test_a_total_is_in_the_unit_of_the_costs_and_contains_the_tests(tmp_path):
    _, text = page(tmp_path, refer=50.0, unit="CAD")
    figures = r"Expect a total cost of tests and mistakes of ([\d.]+) CAD per row on average \(95 % interval"
    total = re.search(figures, text)
    assert total is not None, text[:1500]
    exact = re.search(r"mistakes [\d.]+ = ([\d.]+) CAD per row", text)
    assert exact is not None and float(exact[1]) == pytest.approx(float(total[1]), abs=0.06)
    assert re.search(r"interval [\d.]+ to [\d.]+\), [\d.]+ CAD of it for tests", text)
    assert "total cost of tests and mistakes (CAD)" in text  # the head of the column
    assert re.search(r"total cost of tests and mistakes is [\d.]+ CAD\.", text)  # without any purchase


def test_a_constant_action_is_named(tmp_path):
    _, text = page(tmp_path, refer=0.01)
    assert 'buy nothing and give the answer "refer" to every row' in text.replace(
        "Buy nothing", "buy nothing"
    )


def test_another_metric_shows_the_sum_too(tmp_path):
    _, text = page(tmp_path, refer=50.0, metric="accuracy")
    assert re.search(r"Tests [\d.]+ \+ mistakes [\d.]+ = [\d.]+ per row", text)
    assert "The model was chosen by accuracy: another one may have a lower total." in text


def test_the_sum_of_a_given_budget_is_that_of_total(tmp_path):
    found, text = page(tmp_path, refer=50.0, budgets=None)
    del text
    asked = found.to_html(tmp_path / "asked.html", mean_budget=0.5).read_text()
    line = re.search(r"Tests [\d.]+ \+ mistakes [\d.]+ = ([\d.]+) per row", html.unescape(asked))
    assert line is not None
    assert float(line[1]) == pytest.approx(found.total(mean_budget=0.5)["total"], abs=0.005)
    assert "which compares all models" not in asked
