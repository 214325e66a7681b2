"""The frontier against LightGBM (CEGB), CatBoost (first-use penalties) and boosted trees on price tiers.

    MISERLY_DATA=... python benchmarks/frontier_race.py [--quick] [--sets pima adult] [--draws 3] [--jobs 1]
                                                        [--racers frontier before] [--add] [--resume]

For 24 budgets, geometric between the cheapest feature and all of them, every learner chooses a model whose
mean cost is at most the budget, and the figure is the mean over the budgets of what the choices reach on test
rows. Every learner is given the same rows to learn from and the same ledger: a row pays for the features that
it really meets on its way through the trees, once.

- frontier: `frontier("auto", ...)`, then `best(mean_budget=...)`, with all its defaults and a time limit;
- before: the same without the learners that came last: the selector, the acquirer and the purchase tree;
- LightGBM, CatBoost: twelve penalties and all rounds of each; the best on a quarter of the rows, then
  learned again from all of them;
- tiers: LightGBM without penalties on the features up to a price, for up to twelve prices, chosen alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

from common import Problem, axes, in_parallel, problem, quality, save_picture, table, write, written
from miserly import frontier
from miserly.datasets import Dataset
from miserly.selection.candidates import pool_for

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
    "optdigits": 2,
    "covertype_balanced15k": 2,
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
COLOURS = {"frontier": "C3", "before": "C4", "LightGBM": "C0", "CatBoost": "C1", "tiers": "C2"}
RIVALS = ("LightGBM", "CatBoost", "tiers")
NEWER = (
    "BudgetedSelectorClassifier",
    "BudgetedSelectorRegressor",
    "AcquirerClassifier",
    "PurchaseTreeClassifier",
)
Results: TypeAlias = dict[str, list[dict[str, Any]]]  # draws by set
NAME = "frontier_race"


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
    from rivals import fit_lightgbm  # not needed where rivals are not run

    penalties = [0.0, *np.geomspace(*PENALTIES["LightGBM"], N_MEMBERS - 1)]
    return rival(lambda p, tradeoff: fit_lightgbm(p, ROUNDS, tradeoff), penalties, given, budgets)


def catboost(given: Problem, budgets: np.ndarray) -> dict[str, Any]:
    from rivals import fit_catboost

    penalties = [0.0, *np.geomspace(*PENALTIES["CatBoost"], N_MEMBERS - 1)]
    return rival(lambda p, tradeoff: fit_catboost(p, ROUNDS, tradeoff), penalties, given, budgets)


def tiers(given: Problem, budgets: np.ndarray) -> dict[str, Any]:
    from rivals import fit_lightgbm

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


def ours(given: Problem, budgets: np.ndarray, seed: int, time_limit: float, before: bool) -> dict[str, Any]:
    """The frontier with all learners, or without the newer ones."""
    rows = joined(given)
    learners: Any = "auto"
    if before:
        pool = pool_for("ranking" if given.ranks else "classes", rows.y)
        learners = [learner for learner in pool if type(learner).__name__ not in NEWER]
    found = frontier(
        learners,
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


def race(name: str, seed: int, who: str, time_limit: float) -> dict[str, Any]:
    """What one racer reaches on one draw of a set."""
    given = problem(name, seed)
    prices = alone(given)
    budgets = np.geomspace(prices[prices > 0].min(), given.costs.total, N_BUDGETS)
    racers: dict[str, Callable[[], dict[str, Any]]] = {
        "frontier": lambda: ours(given, budgets, seed, time_limit, before=False),
        "before": lambda: ours(given, budgets, seed, time_limit, before=True),
        "LightGBM": lambda: lightgbm(given, budgets),
        "CatBoost": lambda: catboost(given, budgets),
        "tiers": lambda: tiers(given, budgets),
    }
    start = time.perf_counter()
    reached = {**racers[who](), "seconds": time.perf_counter() - start}
    reached["mean"] = float(np.mean(reached["test"]))
    return {"set": name, "seed": seed, "metric": given.metric, "budgets": budgets.tolist(), who: reached}


# -- the page ----------------------------------------------------------------------------------------------


def line(name: str, draws: list[dict[str, Any]]) -> list[Any]:
    """One line of the table; a lead is over the draws that both have run."""
    means = {who: [d[who]["mean"] for d in draws if who in d] for who in COLOURS}
    known = [who for who in RIVALS if means[who]]
    best = max(known, key=lambda who: float(np.mean(means[who]))) if known else ""
    ran = {who: [d for d in draws if who in d] for who in COLOURS}
    return [
        name,
        draws[0]["metric"],
        len(draws),
        *(float(np.mean(values)) if values else "" for values in means.values()),
        lead(draws, "before"),
        best,
        lead(draws, best),
        " / ".join(
            _mean([np.mean(np.array(d[who]["cost"]) / d["budgets"]) for d in ran[who]]) for who in ran
        ),
        " / ".join(_mean([d[who]["seconds"] for d in ran[who]], digits=0) for who in ran),
    ]


def _mean(values: list[Any], digits: int = 2) -> str:
    return f"{np.mean(values):.{digits}f}" if values else "-"


def lead(draws: list[dict[str, Any]], other: str) -> str:
    """The mean lead of the frontier over another racer, with its standard error over draws."""
    found = [d["frontier"]["mean"] - d[other]["mean"] for d in draws if "frontier" in d and other in d]
    if not found:
        return ""
    error = f" ± {np.std(found, ddof=1) / np.sqrt(len(found)):.4f}" if len(found) > 1 else ""
    return f"{np.mean(found):+.4f}{error}"


def picture(results: dict[str, list[dict[str, Any]]], quick: bool) -> None:
    """Curves of all racers; none where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        print("no picture: matplotlib is not installed")
        return
    figure, grid = axes(len(results), columns=4)
    for ax, (name, draws) in zip(grid, results.items(), strict=True):
        for who, colour in COLOURS.items():
            ran = [d for d in draws if who in d]
            if ran:
                share = np.mean([np.array(d["budgets"]) / d["budgets"][-1] for d in ran], axis=0)
                ax.plot(share, np.mean([d[who]["test"] for d in ran], axis=0), color=colour, label=who)
        ax.set(xscale="log", title=name, xlabel="budget / cost of all features", ylabel=draws[0]["metric"])
        ax.grid(alpha=0.3)
    lines = {line.get_label(): line for ax in grid for line in ax.get_lines()}
    shown = [who for who in COLOURS if who in lines]
    grid[0].legend([lines[who] for who in shown], shown, fontsize=7)
    save_picture(figure, NAME, quick)


def report(results: Results, time_limit: float, command: str, quick: bool, show: bool) -> None:
    """Write the page and the figures."""
    names = list(COLOURS)
    head = ["set", "metric", "draws", *names, "over before", "best rival", "lead", "spent of the budget"]
    page = [
        "# The frontier against its rivals",
        __doc__.split("\n\n", 2)[2].strip(),
        f"Rivals: depth 4, step 0.1, up to {ROUNDS} rounds. The frontier: {time_limit:g} s at most for the "
        "search, one process. Prices are real for `heart_cleveland`, `pima`, `ann_thyroid` and `ckd`, and "
        "dealt out again from the papers' tiers with every draw for the others. ± is the standard error over "
        "draws. What is spent of the budget (mean over budgets) and seconds are "
        f"of {', '.join(names)} in this order. Cells are empty where a racer was not run.",
        f"`{command}`",
        table([*head, "seconds"], [line(name, draws) for name, draws in results.items()]),
        "![Test metric against budget](frontier_race.png)",
    ]
    write(NAME, "\n\n".join(page) + "\n", results, quick, show)
    if show:
        picture(results, quick)


# -- the runs ------------------------------------------------------------------------------------------------


def merged(results: Results, new: dict[str, Any]) -> Results:
    """The figures with those of one more race, sets in the order of `DRAWS`."""
    draws = {d["seed"]: d for d in results.get(new["set"], [])}
    earlier = draws.get(new["seed"], {})
    if earlier and not np.allclose(earlier["budgets"], new["budgets"]):
        raise ValueError(f"the earlier figures of {new['set']} at seed {new['seed']} have other budgets")
    draws[new["seed"]] = earlier | new
    results = results | {new["set"]: [draws[seed] for seed in sorted(draws)]}
    return {name: results[name] for name in DRAWS if name in results}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="+", default=list(DRAWS), choices=list(DRAWS))
    parser.add_argument("--racers", nargs="+", default=list(COLOURS), choices=list(COLOURS))
    parser.add_argument("--draws", type=int, default=10, help="at most so many draws of every set")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT)
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with one thread")
    parser.add_argument(
        "--add", action="store_true", help="add to the figures of earlier runs, or replace them"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep earlier figures, run only what is missing"
    )
    return parser.parse_args()


def main() -> None:
    args = arguments()
    sets, draws = (["heart_cleveland"], 1) if args.quick else (args.sets, args.draws)
    limit = 30.0 if args.quick else args.time_limit
    results: Results = (written(NAME, args.quick) or {}) if args.add or args.resume else {}
    done = {(name, d["seed"], who) for name in results for d in results[name] for who in COLOURS if who in d}
    # the sets with most rows are at the end of the list and take longest
    races = [
        (name, args.first_seed + k, who, limit)
        for name in reversed(sets)
        for k in range(min(draws, DRAWS[name]))
        for who in args.racers
    ]
    wanted = [one for one in races if not args.resume or one[:3] not in done]
    command = "python benchmarks/frontier_race.py" + (" --quick" if args.quick else "")
    for new in in_parallel(race, wanted, args.jobs):
        print(
            new["set"],
            new["seed"],
            {who: round(new[who]["mean"], 4) for who in COLOURS if who in new},
            flush=True,
        )
        results = merged(results, new)
        report(results, limit, command, args.quick, show=False)
    report(results, limit, command, args.quick, show=True)


if __name__ == "__main__":
    main()
