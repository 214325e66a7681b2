"""The frontier against LightGBM (CEGB), CatBoost (first-use penalties) and boosted trees on price tiers.

    MISERLY_DATA=... python benchmarks/frontier_race.py [--quick] [--sets pima adult] [--draws 3] [--jobs 1]

For 24 budgets, geometric between the cheapest feature and all of them, every learner chooses a model whose
mean cost is at most the budget, and the figure is the mean over the budgets of what the choices reach on test
rows. Every learner is given the same rows to learn from and the same ledger: a row pays for the features that
it really meets on its way through the trees, once.

- frontier: `frontier("auto", ...)`, then `best(mean_budget=...)`, with all its defaults and a time limit;
- LightGBM, CatBoost: twelve penalties and all rounds of each; the best on a quarter of the rows, then
  learned again from all of them;
- tiers: LightGBM without penalties on the features up to a price, for up to twelve prices, chosen alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from common import Problem, axes, problem, quality, save_picture, table, write
from miserly import frontier
from miserly.datasets import Dataset
from rivals import fit_catboost, fit_lightgbm

DRAWS = {
    "heart_cleveland": 5,
    "pima": 5,
    "ckd": 5,
    "ann_thyroid": 2,
    "nhanes1_subset": 2,
    "magic": 2,
    "mq2008": 2,
    "mslr_web10k_sample": 2,
    "adult": 1,
    "letter": 1,
}
FIRST_SEED = 10  # seeds 0 to 9 were looked at while the frontier was being made
N_BUDGETS = 24
N_MEMBERS = 12  # penalties, or price tiers
ROUNDS = 100
PENALTIES = {"LightGBM": (1e-7, 1e-1), "CatBoost": (1e-5, 1e1)}  # from hardly any to no feature at all
TIME_LIMIT = 300.0
SLACK = 1 + 1e-9
Fit = Callable[[Problem, float], Any]  # of one member of a sweep; gives a model round by round
COLOURS = {"frontier": "C3", "LightGBM": "C0", "CatBoost": "C1", "tiers": "C2"}


@dataclass(frozen=True)
class Stage:
    """One round of one member of a rival's sweep: what it costs and reaches."""

    member: float
    rounds: int
    cost: float
    value: float


# -- rivals ------------------------------------------------------------------------------------------------


def rival(fit: Fit, members: list[float], given: Problem, budgets: np.ndarray) -> dict[str, Any]:
    """Choose on validation rows, learn again from all, evaluate on test rows."""
    everything = replace(given, train=joined(given))
    found = [one for member in members for one in stages(fit, given, member, given.validation)]
    again: dict[float, list[list[Stage]]] = {}  # on the rows learned from, and on test rows
    reached = []
    for budget in budgets:
        fitting = sorted(
            (one for one in found if one.cost <= budget * SLACK),
            key=lambda one: (-one.value, one.cost, one.rounds),
        )
        for one in fitting:
            if one.member not in again:
                model = fit(everything, one.member)
                parts = (everything.train, given.test)
                again[one.member] = [list(staged(model, one.member, everything, part)) for part in parts]
            learned, tested = (part[min(one.rounds, len(part) - 1)] for part in again[one.member])
            if learned.cost <= budget * SLACK:
                reached.append(tested)
                break
        else:
            reached.append(nothing(given))
    return {"test": [one.value for one in reached], "cost": [one.cost for one in reached]}


def stages(fit: Fit, given: Problem, member: float, part: Dataset) -> list[Stage]:
    return list(staged(fit(given, member), member, given, part))


def staged(model: Any, member: float, given: Problem, part: Dataset) -> Iterator[Stage]:
    """Nothing paid, then round after round: the mean cost over rows, and the metric."""
    yield replace(nothing(given, part), member=member)
    for t, (scores, cost) in enumerate(model(part.X), start=1):
        yield Stage(member, t, cost, quality(part, given.metric, scores))


def nothing(given: Problem, part: Dataset | None = None) -> Stage:
    """The answer that costs nothing."""
    part = given.test if part is None else part
    scores = np.zeros((len(part), max(1, given.n_classes)))
    if not given.ranks:
        scores[:, np.bincount(given.train.y).argmax()] = 1.0
    return Stage(0.0, 0, 0.0, quality(part, given.metric, scores))


def joined(given: Problem) -> Dataset:
    """The rows to learn from and those to choose by."""
    qid = None if not given.ranks else np.concatenate([given.train.qid, given.validation.qid])
    return replace(
        given.train,
        X=np.concatenate([given.train.X, given.validation.X]),
        y=np.concatenate([given.train.y, given.validation.y]),
        qid=qid,
        split=None,
        extra={},
    )


def lightgbm(given: Problem, budgets: np.ndarray) -> dict[str, Any]:
    penalties = [0.0, *np.geomspace(*PENALTIES["LightGBM"], N_MEMBERS - 1)]
    return rival(lambda p, tradeoff: fit_lightgbm(p, ROUNDS, tradeoff), penalties, given, budgets)


def catboost(given: Problem, budgets: np.ndarray) -> dict[str, Any]:
    penalties = [0.0, *np.geomspace(*PENALTIES["CatBoost"], N_MEMBERS - 1)]
    return rival(lambda p, tradeoff: fit_catboost(p, ROUNDS, tradeoff), penalties, given, budgets)


def tiers(given: Problem, budgets: np.ndarray) -> dict[str, Any]:
    prices = alone(given)
    levels = np.unique(prices)
    if len(levels) > N_MEMBERS:
        levels = np.unique(np.quantile(prices, np.linspace(0, 1, N_MEMBERS), method="higher"))

    def fit(p: Problem, level: float) -> Any:
        return fit_lightgbm(p, ROUNDS, 0.0, only=np.flatnonzero(alone(p) <= level))

    return rival(fit, [float(level) for level in levels], given, budgets)


def alone(given: Problem) -> np.ndarray:
    """What each feature costs bought alone."""
    return np.array([given.costs.marginal(given.costs.name(f)) for f in range(len(given.costs))])


# -- the frontier ------------------------------------------------------------------------------------------


def ours(given: Problem, budgets: np.ndarray, seed: int, time_limit: float) -> dict[str, Any]:
    rows = joined(given)
    found = frontier(
        "auto",
        rows.X,
        rows.y,
        costs=given.costs,
        qid=rows.qid,
        metric=given.metric,
        mean_budgets=budgets.tolist(),
        certify=0,
        time_limit=time_limit,
        random_state=seed,
    )
    reached: dict[str, Any] = {"test": [], "cost": [], "chosen": [], "failed": len(found.failures)}
    for budget in budgets:
        model = found.best(mean_budget=budget)
        run = model.plan_.run(given.test.X, qid=given.test.qid)
        if given.ranks:
            value = quality(given.test, given.metric, run.scores.reshape(len(given.test), -1))
        else:
            value = float(np.mean(model.predict(given.test.X) == given.test.y))
        reached["test"].append(value)
        reached["cost"].append(float(run.cost.mean()))
        reached["chosen"].append(type(model).__name__)
    return reached


# -- one race ----------------------------------------------------------------------------------------------


def race(name: str, seed: int, time_limit: float) -> dict[str, Any]:
    given = problem(name, seed)
    prices = alone(given)
    budgets = np.geomspace(prices[prices > 0].min(), given.costs.total, N_BUDGETS)
    result: dict[str, Any] = {"set": name, "seed": seed, "metric": given.metric, "budgets": budgets.tolist()}
    racers: dict[str, Callable[[], dict[str, Any]]] = {
        "frontier": lambda: ours(given, budgets, seed, time_limit),
        "LightGBM": lambda: lightgbm(given, budgets),
        "CatBoost": lambda: catboost(given, budgets),
        "tiers": lambda: tiers(given, budgets),
    }
    for who, run in racers.items():
        start = time.perf_counter()
        result[who] = {**run(), "seconds": time.perf_counter() - start}
        result[who]["mean"] = float(np.mean(result[who]["test"]))
    return result


# -- the page ----------------------------------------------------------------------------------------------


def line(name: str, draws: list[dict[str, Any]]) -> list[Any]:
    means = {who: np.array([d[who]["mean"] for d in draws]) for who in COLOURS}
    rivals = [who for who in COLOURS if who != "frontier"]
    best = max(rivals, key=lambda who: means[who].mean())
    lead = means["frontier"] - means[best]
    error = f" ± {lead.std(ddof=1) / np.sqrt(len(lead)):.4f}" if len(lead) > 1 else ""
    spent = [np.mean([np.array(d[who]["cost"]) / d["budgets"] for d in draws]) for who in COLOURS]
    return [
        name,
        draws[0]["metric"],
        len(draws),
        *(float(values.mean()) for values in means.values()),
        best,
        f"{lead.mean():+.4f}{error}",
        " / ".join(f"{share:.2f}" for share in spent),
        " / ".join(f"{np.mean([d[who]['seconds'] for d in draws]):.0f}" for who in COLOURS),
    ]


def picture(results: dict[str, list[dict[str, Any]]], quick: bool) -> None:
    figure, grid = axes(len(results), columns=4)
    for ax, (name, draws) in zip(grid, results.items(), strict=True):
        for who, colour in COLOURS.items():
            share = np.mean([np.array(d["budgets"]) / d["budgets"][-1] for d in draws], axis=0)
            ax.plot(share, np.mean([d[who]["test"] for d in draws], axis=0), color=colour, label=who)
        ax.set(xscale="log", title=name, xlabel="budget / cost of all features", ylabel=draws[0]["metric"])
        ax.grid(alpha=0.3)
    grid[0].legend(fontsize=7)
    save_picture(figure, "frontier_race", quick)


def report(results: dict[str, list[dict[str, Any]]], time_limit: float, command: str, quick: bool) -> None:
    names = list(COLOURS)
    head = ["set", "metric", "draws", *names, "best rival", "lead", "spent of the budget", "seconds"]
    page = [
        "# The frontier against its rivals",
        __doc__.split("\n\n", 2)[2].strip(),
        f"Rivals: depth 4, step 0.1, up to {ROUNDS} rounds. The frontier: {time_limit:g} s at most for the "
        "search, one process. Prices are real for `heart_cleveland`, `pima`, `ann_thyroid` and `ckd`, and "
        "dealt out again from the papers' tiers with every draw for the others. ± is the standard error over "
        "draws. What is spent of the budget (mean over budgets) and seconds are "
        f"of {', '.join(names)} in this order.",
        f"`{command}`",
        table(head, [line(name, draws) for name, draws in results.items()]),
        "![Test metric against budget](frontier_race.png)",
    ]
    write("frontier_race", "\n\n".join(page) + "\n", results, quick)
    picture(results, quick)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="+", default=list(DRAWS), choices=list(DRAWS))
    parser.add_argument("--draws", type=int, default=10, help="at most so many draws of every set")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    sets, draws = (["heart_cleveland"], 1) if args.quick else (args.sets, args.draws)
    limit = 30.0 if args.quick else args.time_limit
    jobs = [(name, args.first_seed + k) for name in sets for k in range(min(draws, DRAWS[name]))]
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in sets}
    for done in Parallel(args.jobs, return_as="generator_unordered")(delayed(race)(*j, limit) for j in jobs):
        print(done["set"], done["seed"], {who: round(done[who]["mean"], 4) for who in COLOURS}, flush=True)
        results[done["set"]].append(done)
    command = "python benchmarks/frontier_race.py" + (" --quick" if args.quick else "")
    report(results, limit, command, args.quick)


if __name__ == "__main__":
    main()
