"""Draw the pictures of the gallery: ``python docs/gallery/make.py [names]``. Two minutes on two cores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib import pyplot, rc_context
from sklearn.base import clone
from sklearn.svm import SVC

from miserly import (
    AdaBoostBTClassifier,
    AFRClassifier,
    AndOrCascadeClassifier,
    ASTCClassifier,
    ASTCRegressor,
    CostLassoClassifier,
    CronusClassifier,
    CSCCClassifier,
    CSTCRegressor,
    EarlyExit,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    Handover,
)
from miserly.cli import demo
from miserly.datasets import load_heart, make_quadrants, make_ranking, make_ring, make_xor_afr
from miserly.metrics import ndcg
from miserly.plan import Node, Plan
from miserly.report import plot_extracted, plot_leaf_similarity, plot_remaining, plot_tree
from miserly.report.style import COLOURS, FAINT, SOFT, STYLE
from miserly.selection import frontier as search
from miserly.solvers.kernel_machine import DecisionTarget, KernelFunction, KernelMachine
from miserly.solvers.lars_svm import lars_order
from miserly.solvers.moving_vectors import move_vectors

HERE = Path(__file__).parent
BLUE, ORANGE, *_ = COLOURS


def frontier() -> None:
    """What a Greedy Miser reaches at the budgets of the demo, and the plan of the one that is chosen."""
    heart = load_heart()
    learner = GreedyMiserClassifier(max_depth=1, n_rounds=40)
    labels = np.array(heart.classes)[heart.y]
    found = search([learner], heart.frame(), labels, costs=heart.costs, budgets=demo.BUDGETS, random_state=0)
    budget = found.suggested_budget()
    _save(found.plot(budget=budget).figure, "frontier")
    found.best(budget).plan_.draw().save(HERE / "plan.svg")


def miser() -> None:
    """Greedy Miser on a ranking set with prices from 1 to 200: what it spends, and what it gets for it."""
    train, test = make_ranking(12_000, 200, random_state=0).train_test(random_state=0)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.0, 3.9), layout="constrained")
    for tradeoff, colour in zip((0.0, 1e-4, 1e-3), (SOFT, BLUE, ORANGE), strict=True):
        model = GreedyMiserRanker(costs=train.costs, tradeoff=tradeoff, n_rounds=80)
        model.fit(train.X, train.y, qid=train.qid)
        stages = list(model.staged_run(test.X))
        cost = [stage.cost.mean() for stage in stages]
        value = [ndcg(test.y, stage.scores[:, 0], test.qid) for stage in stages]
        label = f"tradeoff {tradeoff:g}" if tradeoff else "tradeoff 0: plain boosting"
        left.plot(range(1, len(cost) + 1), cost, color=colour, linewidth=1.8)
        left.annotate(label, (len(cost), cost[-1]), xytext=(-4, 6), textcoords="offset points", ha="right",
                      color=colour, fontsize=9)  # fmt: skip
        right.plot(cost, value, color=colour, linewidth=1.8)
        right.plot(cost[-1], value[-1], "o", color=colour, markersize=5)
    _finish(left, "rounds of boosting", "average cost of a document", "What is spent")
    _finish(right, "average cost of a document", "NDCG@5 on test queries", "What it brings")
    _save(figure, "miser")


def early_exit() -> None:
    """Easy rows leave with the cheap features; only the hard ones pay for the expensive ones."""
    X, y, costs = _hard_and_easy()
    train, test = slice(0, 4_000), slice(4_000, None)
    learner = GreedyMiserClassifier(costs=costs, tradeoff=1e-4, max_depth=3, n_rounds=200)
    learner.fit(X[train], y[train])
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.0, 3.9), layout="constrained")
    budgeted = [_budgeted(learner, budget, X, y, train, test) for budget in np.cumsum(costs)]
    left.plot(*zip(*budgeted, strict=True), "o-", color=SOFT, linewidth=1.4, markersize=5,
              label="the same features for all, a model per budget")  # fmt: skip
    left.plot(*zip(*_with_exits(learner, X[test], y[test]), strict=True), color=ORANGE, linewidth=1.8,
              label="one model with exits, from eager to patient")  # fmt: skip
    left.legend(frameon=False, loc="lower right", fontsize=9)
    left.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    _finish(left, "average cost", "accuracy on test rows", "More for the same cost")
    run = EarlyExit(learner, threshold=0.8, every=5, prefit=True).fit(X[test], y[test]).run(X[test])
    mean = run.cost.mean()
    right.hist(run.cost, bins=np.arange(0, learner.cost_ + 4, 2), color=ORANGE, rwidth=0.85)
    right.axvline(mean, color=BLUE, linewidth=1.4)
    right.annotate(f"{mean:.0f} on average", (mean, right.get_ylim()[1]), xytext=(5, -10),
                   textcoords="offset points", color=BLUE, fontsize=9)  # fmt: skip
    _finish(right, "cost of a row", "rows", "Who pays what, leaving at 80 %")
    _save(figure, "early_exit")


def handover() -> None:
    """A cheap model that hands over to an expensive one, for several thresholds."""
    X, y, costs = _hard_and_easy()
    train, test = slice(0, 4_000), slice(4_000, None)
    learner = GreedyMiserClassifier(costs=costs, max_depth=3, n_rounds=100)
    cheap, expensive = (clone(learner).set_params(budget=b).fit(X[train], y[train]) for b in (3.0, None))
    levels = [0.5, *np.linspace(0.52, 0.98, 24), 0.99, 0.995, 1.01]
    pairs = [Handover.of(cheap, expensive, level) for level in levels]
    points = [(pair.run(X[test]).cost.mean(), pair.score(X[test], y[test])) for pair in pairs]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.0, 3.9), layout="constrained")
    ends = points[0], points[-1]
    left.plot(*zip(*ends, strict=True), ":", color=SOFT, linewidth=1.4, label="by tossing a coin")
    left.plot(*zip(*points, strict=True), color=ORANGE, linewidth=1.8, label="by doubt")
    left.plot(*zip(*ends, strict=True), "o", color=BLUE, markersize=6)
    for end, name, place, side in zip(
        ends, ("cheap", "expensive"), ((9, -4), (0, 8)), ("left", "right"), strict=True
    ):
        left.annotate(name, end, xytext=place, textcoords="offset points", ha=side, color=BLUE, fontsize=9)
    left.margins(y=0.12)
    left.legend(frameon=False, loc="lower right", fontsize=9, title="who is handed over")
    left.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    _finish(left, "average cost", "accuracy on test rows", "What a threshold buys")
    sure = cheap.predict_proba(X[test]).max(axis=1)
    wrong = cheap.predict(X[test]) != y[test]
    bins = np.linspace(0.5, 1.0, 21)
    right.hist([sure[wrong], sure[~wrong]], bins=bins, stacked=True, color=[ORANGE, FAINT], rwidth=0.85,
               label=["wrong", "right"])  # fmt: skip
    right.legend(frameon=False, loc="upper left", fontsize=9, title="the cheap model is")
    _finish(right, "how sure the cheap model is", "rows", "Where the errors are")
    _save(figure, "handover")


def _hard_and_easy() -> tuple[Any, Any, list[float]]:
    """Six features that tell less and cost more from one to the next."""
    X = np.random.default_rng(0).normal(size=(8_000, 6))
    return X, (X @ [3.0, 2.0, 1.5, 1.0, 0.7, 0.5] > 0).astype(int), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]


def _budgeted(learner: Any, budget: float, X: Any, y: Any, train: slice, test: slice) -> tuple[float, float]:
    """Cost and accuracy of a Miser trained with a hard budget."""
    model = clone(learner).set_params(budget=budget, tradeoff=0.0).fit(X[train], y[train])
    return model.run(X[test]).cost.mean(), model.score(X[test], y[test])


def _with_exits(learner: Any, X: Any, y: Any) -> list[tuple[float, float]]:
    """Cost and accuracy for one given threshold after another; nothing is chosen on these rows."""
    points = []
    for threshold in [*np.linspace(0.6, 0.98, 20), 0.99, 0.995, 1.0]:
        model = EarlyExit(learner, threshold=threshold, every=5, prefit=True).fit(X, y)
        points.append((model.run(X).cost.mean(), model.score(X, y)))
    return points


def trees() -> None:
    """Trees of classifiers: who is asked what."""
    train, test = make_quadrants(1000, random_state=0), make_quadrants(1000, random_state=1)
    model = CSTCRegressor(costs=train.costs, tradeoff=0.05, random_state=0).fit(train.X, train.y)
    title = "Four quadrants: two cheap signs tell which expert to ask"
    plot_tree(model, test.X, test.y, HERE / "tree.svg", title=title)
    heart = load_heart()
    labels = np.array(heart.classes)[heart.y]
    model = ASTCClassifier(costs=heart.costs, max_depth=3, node_budget=110).fit(heart.X, labels)
    plot_tree(model, heart.X, labels, HERE / "heart_tree.svg", title="Heart disease: a tree of classifiers")


def extraction() -> None:
    """What a tree extracts by which level, and how its leaves differ."""
    train, test = make_ranking(12_000, 200, random_state=0).train_test(random_state=0)
    model = ASTCRegressor(costs=train.costs, max_depth=4, node_budget=60, random_state=0)
    model.fit(train.X, train.y, qid=train.qid)
    title = "A tree for ranking: what is extracted by when"
    plot_extracted(model, test.X, HERE / "extracted.svg", title=title)
    plot_leaf_similarity(model, test.X, HERE / "leaves.svg", title="A tree for ranking: its leaves")


def exits() -> None:
    """Documents that leave because others of their query are better, and how many are left."""
    train, test = make_ranking(6_000, 100, random_state=0, evaluation=1.0).train_test(random_state=0)
    miser = GreedyMiserRanker(costs=train.costs, tradeoff=3e-5, n_rounds=80)
    miser.fit(train.X, train.y, qid=train.qid)
    models = {
        f"at most {slack:g} behind": EarlyExit(miser, rule="proximity", threshold=slack, prefit=True)
        for slack in (2.0, 1.0, 0.5)
    }
    for model in models.values():
        model.fit(train.X, train.y, qid=train.qid)
    title = "Early Exit: the documents of a query, from hopeless to promising"
    chosen = models["at most 1 behind"]
    plot_tree(chosen, test.X, test.y, HERE / "chain.svg", qid=test.qid, title=title)
    title = "Early Exit: how many documents are left"
    plot_remaining(models, test.X, HERE / "remaining.svg", qid=test.qid, title=title)


def cascades() -> None:
    """Cascades on a skewed set: about one document in ten is relevant."""
    train, test = make_ranking(6_000, 100, random_state=0).train_test(random_state=0)
    words = np.array(["not relevant", "relevant"])
    models = {
        "Cronus": CronusClassifier(costs=train.costs, tradeoff=3e-4, n_terms=60, random_state=0),
        "CSCC": CSCCClassifier(costs=train.costs, tradeoff=3e-4, random_state=0),
        "and-or": AndOrCascadeClassifier(costs=train.costs, tradeoff=1e-4),
    }
    for model in models.values():
        model.fit(train.X, words[(train.y >= 3).astype(int)], qid=train.qid)
    labels = words[(test.y >= 3).astype(int)]
    title = "CSCC: the irrelevant leave first"
    plot_tree(models["CSCC"], test.X, labels, HERE / "cascade.svg", title=title)
    title = "Cascades: how many documents are left"
    plot_remaining(models, test.X, HERE / "cascades_left.svg", title=title)
    figure, panels = pyplot.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained")
    for axes, name in zip(panels, ("CSCC", "and-or"), strict=True):
        plot_extracted(models[name], target=axes, title=f"{name}: read up to each stage")
    _save(figure, "cascades_extracted")


def boosting() -> None:
    """The rules of budgeted boosting on the heart table: what they spend round by round, and what for."""
    heart = load_heart()
    divided = [heart.train_test(random_state=seed) for seed in range(30)]
    budgets = np.geomspace(1.0, 400.0, 40)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.0, 3.9), layout="constrained")
    rules = {"early-stop": SOFT, "greedy": ORANGE, "smoothed": BLUE}
    for rule, colour in rules.items():
        learner = AdaBoostBTClassifier(costs=heart.costs, rule=rule, n_rounds=100, n_jobs=1)
        models = [clone(learner).fit(train.X, train.y) for train, _ in divided]
        spent = [[stage.cost[0] for stage in model.staged_run(heart.X[:1])] for model in models]
        left.plot(range(1, 101), np.mean(spent, axis=0), color=colour, linewidth=1.8, label=rule)
        value = [
            [np.mean(model.predict(test.X, budget=budget) == test.y) for budget in budgets]
            for model, (_, test) in zip(models, divided, strict=True)
        ]
        right.plot(budgets, np.mean(value, axis=0), color=colour, linewidth=1.8)
    left.legend(frameon=False, loc="center right", bbox_to_anchor=(1.0, 0.72), fontsize=9)
    right.set_xscale("log")
    right.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    right.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    _finish(left, "rounds of boosting", "spent (CAD)", "Greed stays with what is cheap")
    _finish(right, "budget of a prediction (CAD)", "accuracy on test rows", "One model, every budget")
    _save(figure, "boosting")


def anytime() -> None:
    """AFR on its synthetic set: two dimensions at four snapshots, and what each budget buys."""
    data = make_xor_afr(random_state=0)
    train, test = data.take(data.split == 0), data.take(data.split == 1)
    learner = AFRClassifier(costs=data.costs, max_depth=3, n_dimensions=2, max_dimensions=2, random_state=0)
    model = learner.fit(train.X, train.y)
    figure, grid = pyplot.subplots(1, 5, figsize=(13.0, 3.0), layout="constrained")
    for axes, budget in zip(grid, (1, 20, 60, 150), strict=False):
        k = int(np.flatnonzero(model.snapshot_costs_ <= budget)[-1])
        _draw_representation(axes, model, k, test)
    accuracy = [np.mean(answer == test.y) for answer in model.staged_predict(test.X)]
    grid[-1].step(model.snapshot_costs_, accuracy, where="post", color=BLUE, linewidth=1.8)
    grid[-1].plot(model.snapshot_costs_, accuracy, "o", color=BLUE, markersize=4)
    grid[-1].set_xscale("log")
    _finish(grid[-1], "budget", "", "Accuracy")
    _save(figure, "anytime")


def _draw_representation(axes: Any, model: AFRClassifier, k: int, test: Any) -> None:
    """Test rows at one snapshot, with the line where its SVM is undecided."""
    node, terms = model.plan_.nodes[k], model.plan_.terms
    weights, dimension = np.unique(node.weights.round(12), return_inverse=True)
    order = np.argsort([node.terms[dimension == s].min() for s in range(len(weights))])
    values = np.zeros((len(test.X), 2))
    for axis, s in enumerate(order):
        trees = [terms[t] for t in node.terms[dimension == s]]
        one = Node(range(len(trees)), [0] * len(trees), [1.0] * len(trees), [0.0])
        values[:, axis] = (
            Plan(costs=model.plan_.costs, terms=trees, nodes=[one], base=[0.0]).run(test.X).scores
        )
    if len(weights) == 1:
        values[:, 1] = np.random.default_rng(0).uniform(-1, 1, len(values))  # no second dimension yet
    for label, colour in ((0, BLUE), (1, ORANGE)):
        axes.plot(*values[test.y == label].T, ".", color=colour, markersize=3, alpha=0.6)
    low, high = values[:, 1].min(), values[:, 1].max()
    edge = np.array([low, high])
    second = weights[order[1]] if len(weights) > 1 else 0.0
    axes.plot(-(node.bias[0] + second * edge) / weights[order[0]], edge, color="black", linewidth=1)
    right = np.mean((values @ [weights[order[0]], second] + node.bias[0] > 0) == test.y)
    _finish(
        axes,
        "first dimension",
        "second dimension" if len(weights) > 1 else "(spread at random)",
        f"Cost {model.snapshot_costs_[k]:g}: {right:.3f}",
    )


def ring() -> None:
    """A kernel machine of 8 vectors that move until it decides as one of 240 does (thesis, Fig. 4.2)."""
    data = make_ring(random_state=0)
    full = SVC(C=0.07, gamma=0.5).fit(data.X, data.y)
    kernel = KernelFunction("rbf", gamma=0.5)
    whole = KernelMachine(
        kernel, full.support_vectors_, -full.dual_coef_, -full.intercept_, classes=full.classes_
    )
    chosen = lars_order(whole, 8, np.arange(whole.n_vectors), np.random.default_rng(0))
    aim = DecisionTarget.squared(data.X, whole.decisions(data.X))
    figure, grid = pyplot.subplots(2, 4, figsize=(12.0, 6.4), layout="constrained")
    panels = grid.ravel()
    _draw_machine(panels[0], data, "600 points")
    _draw_machine(panels[1], data, f"SVM, {whole.n_vectors} vectors", whole)
    for axes, steps in zip(panels[2:], (0, 1, 2, 5, 20, 200), strict=True):
        moved = move_vectors(kernel, whole.vectors[chosen], aim, max_iter=steps)
        small = whole.with_vectors(moved.vectors, moved.coef.T, moved.intercept)
        agree = np.mean(small.labels(data.X) == whole.labels(data.X))
        steps_taken = "8 of them, by LARS" if not steps else f"moved, {steps} step{'s' * (steps > 1)}"
        _draw_machine(axes, data, f"{steps_taken}: {100 * agree:.1f} %", whole, small)
    _save(figure, "ring")


def _draw_machine(
    axes: Any, data: Any, title: str, whole: KernelMachine | None = None, small: KernelMachine | None = None
) -> None:
    """Points, the full machine's boundary (black), and a small one's (orange) with its vectors."""
    for label, colour in ((0, BLUE), (1, SOFT)):
        axes.plot(*data.X[data.y == label].T, ".", color=colour, markersize=3, alpha=0.35, rasterized=True)
    if whole is not None and small is None:
        axes.plot(*whole.vectors.T, "o", color="black", markersize=4, fillstyle="none", linewidth=0.5)
    edge = np.linspace(-6.5, 6.5, 200)
    places = np.stack(np.meshgrid(edge, edge), axis=-1).reshape(-1, 2)
    for machine, colour, width in ((whole, "black", 1.2), (small, ORANGE, 2.0)):
        if machine is not None:
            height = machine.decisions(places)[:, 0].reshape(len(edge), -1)
            axes.contour(edge, edge, height, levels=[0.0], colors=[colour], linewidths=width)
    if small is not None:
        axes.plot(*small.vectors.T, "o", color=ORANGE, markersize=8, markeredgecolor="black")
    axes.set(xlim=(-6.5, 6.5), ylim=(-6.5, 6.5), aspect="equal", xticks=[], yticks=[])
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")


def report() -> None:
    """The top of a report, photographed in a browser, and the picture of its frontier."""
    heart = load_heart()
    miser = GreedyMiserClassifier(n_rounds=40, max_depth=2)
    learners = [CostLassoClassifier(), miser, EarlyExit(miser)]
    labels = np.array(heart.classes)[heart.y]
    found = search(learners, heart.X, labels, costs=heart.costs, max_fits=20, cv=3, random_state=0)
    _save(found.plot(mean_budget=30).figure, "found")
    with TemporaryDirectory() as folder:
        page = found.to_html(
            f"{folder}/report.html", mean_budget=30, title="Heart disease: what a budget buys"
        )
        shot = f"--screenshot={HERE / 'report.png'}"
        looks = ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1120,1385")
        scale = "--force-device-scale-factor=0.75"
        waits = "--virtual-time-budget=4000"
        subprocess.run(
            ["chromium", *looks, scale, waits, shot, page.as_uri()], check=True, capture_output=True
        )


def _finish(axes: Any, x: str, y: str, title: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _save(figure: Any, name: str) -> None:
    figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    pictures = {
        "frontier": frontier,
        "miser": miser,
        "early_exit": early_exit,
        "handover": handover,
        "trees": trees,
        "extraction": extraction,
        "exits": exits,
        "cascades": cascades,
        "boosting": boosting,
        "anytime": anytime,
        "ring": ring,
        "report": report,
    }
    with rc_context(STYLE):
        for name in sys.argv[1:] or pictures:
            pictures[name]()
