"""Budgeted boosting: the figures of Huang, Powers and Reyzin (2014), and what they left open.

    MISERLY_DATA=... python benchmarks/budgeted_boosting.py [--quick] [--trials 100] [--only curves trees ...]

Curves come from one fit per trial and rule: with the paper's way of stopping, the model for a budget is the
beginning of the model for a larger one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from boosting_page import page, picture
from boosting_sets import NAMES, PRICES, BinarySet, binary_set, ranking_set
from common import folder, write
from miserly import AdaBoostBTClassifier, BudgetedTreeClassifier, Costs, Ledger
from miserly.datasets import load
from miserly.grow import Bins
from miserly.grow.stumps import Stumps
from miserly.learners.base.arguments import class_signs
from miserly.learners.boosting.adaboost_rs import draw_rounds
from miserly.learners.boosting.votes import BoostingState, LearnerBudget, StumpVoter, VoteRound, boost
from miserly.solvers.budget_rules import SelectionRule

BUDGETS = np.arange(2.0, 41.0, 2.0)
MOST_ROUNDS = 500  # as many as the paper gives its rules on sonar
RULES = {
    "AdaBoostBT": SelectionRule("early-stop"),
    "Greedy": SelectionRule("greedy"),
    "SpeedBoost": SelectionRule("speed"),
    "Smoothed": SelectionRule("smoothed"),
    "Hybrid": SelectionRule("hybrid"),
}
SHOWN = ("AdaBoostRS", *RULES)

Curve = np.ndarray  # test error at each of BUDGETS


# -- boosting on binned rows, without reading them again for every rule --------------------------------------


class Trial:
    """One division of a set and one draw of costs."""

    def __init__(self, data: BinarySet, seed: int) -> None:
        train, test, costs = data.trial(seed)
        self.costs = Costs(costs)
        self.X, self.y = data.X[test], data.y[test]
        self.labels = data.y[train]
        self.stumps = Stumps(self._bins(data).transform(data.X[train].astype(np.float32)))
        self.prior = int(self.labels.mean() > 0.5)

    def _bins(self, data: BinarySet) -> Bins:
        """Two bins for columns of 0 and 1, wherever the rows of a trial lie."""
        if data.X.dtype != np.uint8:
            return Bins.fit(data.X)
        d = data.X.shape[1]
        edges = np.full((d, 256), np.inf)
        edges[:, 0] = 0.5
        return Bins(edges, np.full(d, 2), np.zeros(d, dtype=np.bool_))

    def boost(
        self, rule: SelectionRule, n_rounds: int, budget: float | None, fill: bool = False
    ) -> list[VoteRound]:
        state = BoostingState(
            class_signs(self.labels.astype(float), 2).T, np.full(len(self.labels), 1 / len(self.labels))
        )
        limit = LearnerBudget(Ledger(self.costs, budget), fill)
        fresh = SelectionRule(rule.name, rule.tau, rule.switch)
        return boost(StumpVoter(self.stumps), state, limit, fresh, n_rounds)[0]

    def errors(self, rounds: list[VoteRound]) -> tuple[np.ndarray, np.ndarray]:
        """What is spent, and the share of test rows that are wrong, after 0, 1, 2, ... rounds."""
        trees = [one.trees[0] for one in rounds]
        feature = np.array([tree.feature[0] for tree in trees], dtype=int)
        left = self.X[:, feature] <= np.array([tree.threshold[0] for tree in trees])
        ways = np.array([tree.value[1:] for tree in trees]).reshape(-1, 2)
        scores = np.cumsum(
            np.where(left, ways[:, 0], ways[:, 1]) * [one.weights[0] for one in rounds], axis=1
        )
        wrong = np.mean((scores > 0) != (self.y[:, None] == 1), axis=0)
        new = np.array([f not in feature[:t] for t, f in enumerate(feature)], dtype=bool)
        spent = np.cumsum(np.where(new, self.costs.feature[feature], 0.0))
        return np.append(0.0, spent), np.append(np.mean(self.y != self.prior), wrong)

    def curve(self, rule: SelectionRule, budgets: np.ndarray = BUDGETS, n_rounds: int = MOST_ROUNDS) -> Curve:
        spent, wrong = self.errors(self.boost(rule, n_rounds, float(budgets[-1])))
        return wrong[np.searchsorted(spent, budgets * (1 + 1e-12), side="right") - 1]

    def sampled(self, rounds: list[VoteRound], budgets: np.ndarray, seed: int) -> Curve:
        """AdaBoostRS: draws from AdaBoost's rounds, again for every budget."""
        random = np.random.default_rng(seed)
        out = []
        for budget in budgets:
            drawn, _ = draw_rounds(rounds, Ledger(self.costs, float(budget)), 1000, random)
            out.append(self.errors(drawn)[1][-1])
        return np.array(out)


def curves(data: BinarySet, trials: int, budgets: np.ndarray = BUDGETS) -> dict[str, Any]:
    """Test errors of all methods at all budgets, and of AdaBoost without one."""
    found: dict[str, list[Any]] = {name: [] for name in (*SHOWN, "AdaBoost", "AdaBoost's cost")}
    for seed in range(trials):
        trial = Trial(data, seed)
        if data.columns == 519:
            trial.costs = web_costs(trial, seed)
        for name, rule in RULES.items():
            found[name].append(trial.curve(rule, budgets))
        plain = trial.boost(SelectionRule("early-stop"), data.rounds, None)
        spent, wrong = trial.errors(plain)
        found["AdaBoost"].append(wrong[-1])
        found["AdaBoost's cost"].append(spent[-1])
        found["AdaBoostRS"].append(trial.sampled(plain, budgets, seed))
    out: dict[str, Any] = {"trials": trials, "columns": data.X.shape[1], "budgets": budgets.tolist()}
    for name, values in found.items():
        array = np.array(values)
        out[name] = array.mean(axis=0).tolist()
        out[f"{name} 95%"] = (1.96 * array.std(axis=0, ddof=1) / np.sqrt(trials)).tolist()
    return out


def web_costs(trial: Trial, seed: int) -> Costs:
    """Rescaled prices of Yahoo's features, at random; the most informative feature is the most expensive."""
    costs = np.random.default_rng(seed).choice(PRICES, trial.X.shape[1])
    first = trial.boost(SelectionRule("early-stop"), 1, None)[0].trees[0]
    costs[first.feature[0]] = PRICES[-1]
    return Costs(costs)


# -- decision trees ------------------------------------------------------------------------------------------


def tree_sizes(data: BinarySet, trials: int) -> dict[str, Any]:
    """Test errors of one decision tree by its number of questions: one tree, cut short."""
    sizes = [1, 2, 4, 8, 16, 32, 64, 128, 255]
    errors = []
    for seed in range(trials):
        train, test, _ = data.trial(seed)
        model = BudgetedTreeClassifier(max_nodes=255, n_jobs=1).fit(data.X[train], data.y[train])
        answers = [model.plan_.prefix(min(k, model.n_nodes_)).predict(data.X[test]) for k in sizes]
        errors.append([np.mean(answer != data.y[test]) for answer in answers])
    return {"sizes": sizes, "error": np.mean(errors, axis=0).tolist()}


# -- what the paper leaves open ------------------------------------------------------------------------------

TAUS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
SWITCHES = (0.02, 0.05, 0.1, 0.2, 0.5)


def ablation(data: BinarySet, trials: int) -> dict[str, list[float]]:
    """Errors at budgets of 4, 10, 20 and 40: smoothed with each tau, hybrid with each switch."""
    at = np.array([4.0, 10.0, 20.0, 40.0])
    rules = {f"tau {tau:g}": SelectionRule("smoothed", tau=tau) for tau in TAUS}
    rules |= {f"switch {switch:g}": SelectionRule("hybrid", switch=switch) for switch in SWITCHES}
    found: dict[str, list[Curve]] = {name: [] for name in rules}
    for seed in range(trials):
        trial = Trial(data, seed)
        for name, rule in rules.items():
            found[name].append(trial.curve(rule, at))
    return {name: np.mean(values, axis=0).tolist() for name, values in found.items()}


def filling(data: BinarySet, trials: int) -> dict[str, list[float]]:
    """Errors at budgets of 4, 10 and 20 if what does not fit ends boosting, or something else is taken."""
    found: dict[str, list[list[float]]] = {"stop": [], "fill": []}
    for seed in range(trials):
        trial = Trial(data, seed)
        for name, fill in (("stop", False), ("fill", True)):
            rounds = [
                trial.boost(SelectionRule("smoothed"), 200, budget, fill) for budget in (4.0, 10.0, 20.0)
            ]
            found[name].append([trial.errors(some)[1][-1] for some in rounds])
    return {name: np.mean(values, axis=0).tolist() for name, values in found.items()}


SHARES = (0.05, 0.1, 0.2, 0.4, 1.0)
RAW = ("sonar", "ionosphere", "breast_cancer_wisconsin", "ecoli", "heart_statlog", "pima", "splice", "magic",
       "higgs_sample", "phishing_websites")  # fmt: skip


def bases(name: str, trials: int) -> dict[str, list[float]]:
    """Stumps against trees on features as they are, costs on [0, 2], at shares of what all would cost."""
    return at_shares(
        name,
        trials,
        {
            "stumps": {},
            "trees of depth 2": {"base": "tree", "max_depth": 2},
            "trees of depth 3": {"base": "tree", "max_depth": 3},
        },
    )


def filling_features(name: str, trials: int) -> dict[str, list[float]]:
    """Stopping or filling where features are priced, not columns."""
    return at_shares(name, trials, {"stop": {"fill_budget": False}, "fill": {"fill_budget": True}})


def at_shares(name: str, trials: int, kinds: dict[str, dict[str, Any]]) -> dict[str, list[float]]:
    """Mean test errors of AdaBoostBT with some options, at each of SHARES."""
    data = load(name)
    X = np.asarray(data.X, dtype=np.float32)
    y = (np.asarray(data.extra.get("y_binary", data.y)) > 0).astype(int)
    found: dict[str, list[list[float]]] = {kind: [] for kind in kinds}
    for seed in range(trials):
        random = np.random.default_rng(seed)
        order = random.permutation(len(y))[:3000]
        train, test = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
        costs = random.uniform(0.0, 2.0, X.shape[1])
        for kind, options in kinds.items():
            errors = []
            for share in SHARES:
                model = AdaBoostBTClassifier(
                    costs=costs, budget=share * costs.sum(), n_rounds=200, n_jobs=1, **options
                )
                errors.append(1 - model.fit(X[train], y[train]).score(X[test], y[test]))
            found[kind].append(errors)
    return {kind: np.mean(values, axis=0).tolist() for kind, values in found.items()}


# -- several classes -----------------------------------------------------------------------------------------

MANY = ("letter", "ann_thyroid", "dna", "page_blocks")


def several_classes(name: str, n_rounds: int) -> dict[str, list[float]]:
    """One class against the others with shared stumps, and SAMME, at shares of the number of features."""
    train, test = load(name).train_test(random_state=0)
    budgets = [max(1.0, round(share * train.X.shape[1])) for share in (0.1, 0.25, 0.5, 1.0)]
    X, T = (np.asarray(part.X, dtype=np.float32) for part in (train, test))
    shared = [
        AdaBoostBTClassifier(rule="early-stop", budget=budget, n_rounds=n_rounds, n_jobs=1).fit(X, train.y)
        for budget in budgets
    ]
    return {
        "budgets": budgets,
        "shared": [1 - model.score(T, test.y) for model in shared],
        "SAMME": [samme(X, train.y, T, test.y, budget, n_rounds) for budget in budgets],
    }


def samme(X: Any, y: Any, T: Any, labels: Any, n_features: float, n_rounds: int) -> float:
    """The test error of SAMME (Zhu et al. 2009) with stumps on at most so many features."""
    bins = Bins.fit(X)
    codes, classes = bins.transform(X).codes.astype(np.int64), np.unique(y)
    target = np.searchsorted(classes, y)
    K, D, scores, paid = len(classes), np.full(len(y), 1 / len(y)), np.zeros((len(T), len(classes))), set()
    for _ in range(n_rounds):
        best = (0.0, 0, 0, 0, 0)
        for f in sorted(paid) if len(paid) >= n_features else range(X.shape[1]):
            sums = np.bincount(codes[f] * K + target, weights=D, minlength=256 * K)[: 256 * K].reshape(256, K)
            left = np.cumsum(sums, axis=0)[: bins.n_bins[f] - 1]
            right = sums.sum(axis=0) - left
            hit = left.max(axis=1, initial=0) + right.max(axis=1, initial=0)
            if len(hit) and hit.max() > best[0] + 1e-12:
                cut = int(hit.argmax())
                best = (float(hit[cut]), f, cut, int(left[cut].argmax()), int(right[cut].argmax()))
        hit, f, cut, low, high = best
        if hit <= 1 / K + 1e-9 or hit >= 1 - 1e-9:
            break
        paid.add(f)
        alpha = np.log(hit / (1 - hit)) + np.log(K - 1)
        vote = np.where(codes[f] <= cut, low, high)
        D = D * np.exp(alpha * (vote != target))
        D /= D.sum()
        answer = np.where(T[:, f] <= bins.edges[f, cut], low, high)
        scores[np.arange(len(T)), answer] += alpha
    return float(np.mean(classes[scores.argmax(axis=1)] != labels))


# -- speed ---------------------------------------------------------------------------------------------------


def speeds() -> dict[str, float]:
    """Seconds for 400 rounds, binning included: the best of three."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(5000, 403)).astype(np.float32)
    y = numbers[:, :30].sum(axis=1) + 5 * random.normal(size=5000) > 0
    sonar = binary_set("sonar")
    sets: dict[str, tuple[Any, Any]] = {
        "5,000 rows, 403 columns of 0 and 1": ((numbers > 0).astype(np.float32), y),
        "5,000 rows, 403 columns of numbers, 255 cuts each": (numbers, y),
        "sonar, 208 rows, 11,196 columns of 0 and 1": (sonar.X.astype(np.float32), sonar.y),
    }
    found = {}
    for name, (X, labels) in sets.items():
        costs = random.uniform(0.0, 2.0, X.shape[1])
        found[name] = min(_time(lambda X=X, y=labels, c=costs: AdaBoostBTClassifier(costs=c).fit(X, y)))
    return found


def _time(work: Callable[[], Any]) -> list[float]:
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return taken


# -- the run -------------------------------------------------------------------------------------------------


def measure(quick: bool, trials: int, only: list[str], keep: Callable[[str, Any], None]) -> None:
    """Part by part, keeping what there is after each set."""
    names = ("splice", "ecoli", "heart") if quick else NAMES
    few = 3 if quick else max(3, trials // 5)
    parts: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "speed": (("all",), lambda _: speeds()),
        "curves": (names, lambda name: curves(binary_set(name), trials)),
        "web": (("web documents",), lambda _: curves(ranking_set(), few, 2 * BUDGETS)),
        "trees": (names, lambda name: tree_sizes(binary_set(name), few)),
        "tau": (names[-4:], lambda name: ablation(binary_set(name), few)),
        "filling": (names[-6:], lambda name: filling(binary_set(name), few)),
        "filling features": (
            RAW[3:5] if quick else RAW,
            lambda name: filling_features(name, 2 if quick else 5),
        ),
        "bases": (RAW[3:5] if quick else RAW, lambda name: bases(name, 2 if quick else 5)),
        "classes": (MANY[3:] if quick else MANY, lambda name: several_classes(name, 30 if quick else 300)),
    }
    for part, (cases, work) in parts.items():
        if part not in only:
            continue
        found = {}
        for case in cases:
            start = time.perf_counter()
            found[case] = work(case)
            print(f"{part} {case}: {time.perf_counter() - start:.0f} s", flush=True)
            keep(part, found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--trials", type=int, default=None)
    every = ["speed", "curves", "web", "trees", "tau", "filling", "filling features", "bases", "classes"]
    parser.add_argument("--only", nargs="+", choices=[*every, "page"], default=every)
    args = parser.parse_args()
    trials = args.trials or (3 if args.quick else 100)
    path = folder(args.quick) / "budgeted_boosting.json"

    def kept() -> dict[str, Any]:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def keep(part: str, found: Any) -> None:
        path.write_text(json.dumps({**kept(), part: found}, indent=1), encoding="utf-8")

    measure(args.quick, trials, args.only, keep)
    picture(kept(), args.quick)
    write("budgeted_boosting", page(kept()), kept(), args.quick)


if __name__ == "__main__":
    main()
