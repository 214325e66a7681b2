"""The page that `cvm.py` writes: tables, what they come to, and a picture."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from common import axes, save_picture, table

METHODS = ("LARS-SVM", "Reduced-SVM", "random start", "CVM")
FORMS = {"small": "CompressedSVC", "sklearn": "SVC", "machine": "machine"}
Results: TypeAlias = dict[str, list[dict[str, Any]]]  # the draws of each set

PAGE = """# Kernel machines made smaller

`{command}`: accuracy on test rows of SVMs with RBF kernel, and of machines with 0.5 to 10 % of their support
vectors; means over draws ({draws}). mnist: 10,000 of the 60,000 training rows,
because the full SVM takes too long with all of them on two cores; the others: all rows. page_blocks: text or
not. Where no split is published, a fifth of the rows is for testing. nan: not run, for its time.

LARS-SVM chooses among the SVM's own vectors, Reduced-SVM is `ReducedSVC`, a random start is moved as CVM's
is. "CVM, points" is CVM's accuracy less that of the full machine.

{machines}

![Accuracy against the number of vectors](cvm.png)

{accuracy}

{verdict}

## Prediction

Seconds for 4,000 rows (test rows, repeated where there are fewer), `SVC.predict` of the full machine and 1 %
of its vectors in turns, medians of seven, one thread: `CompressedSVC.predict`;
`to_sklearn()`, an `SVC` again, in which with several classes a vector is there once for each class it serves;
and `machine_.labels`, plain NumPy. In brackets, how many times as fast as the full machine.

{prediction}

## Compressing

Two classes, 20 features, one thread. Aims: 2,000 vectors to 50 in 2 s; 20,000 to 200 in 120 s and 3 GB.

{large}

Seconds on the sets above, by method:

{seconds}

## Where to start

Accuracy with vectors chosen by LARS, greedily (OMP), or by chance, as they were chosen and once they were
moved; means over draws ({start_draws}).

{starts}

## The ring

600 points, a blob in a ring (Fig. 4.2), eight vectors instead of {ring_vectors}: agreement with the full
machine on {agreement:.2%} of the points on average over {ring_draws} draws, {worst:.2%} in the worst. The aim
was 99 %.
"""


def means(draws: list[dict[str, Any]], part: str, method: str) -> np.ndarray:
    return np.mean(np.array([draw[part][method] for draw in draws], dtype=float), axis=0)


def accuracy_lines(results: Results) -> list[list[Any]]:
    lines = []
    for name, draws in results.items():
        full = float(np.mean([draw["full"] for draw in draws]))
        for k, (share, size) in enumerate(draws[0]["sizes"]):
            values = {method: float(means(draws, "accuracy", method)[k]) for method in METHODS}
            lost = 100 * (values["CVM"] - full)
            lines.append([name, f"{100 * share:g} %", size, full, *values.values(), f"{lost:+.2f}"])
    return lines


def verdict(results: Results) -> str:
    """Which of the aims are met, counted from the figures."""
    at = {
        name: {share: k for k, (share, _) in enumerate(draws[0]["sizes"])} for name, draws in results.items()
    }
    lost = {
        name: np.mean([draw["full"] for draw in draws]) - means(draws, "accuracy", "CVM")
        for name, draws in results.items()
    }
    tenth = [name for name in results if lost[name][at[name][0.1]] <= 0.005]
    hundredth = [name for name in results if lost[name][at[name][0.01]] <= 0.03]
    behind = []
    for name, draws in results.items():
        for share, k in at[name].items():
            best = max(means(draws, "accuracy", method)[k] for method in ("LARS-SVM", "Reduced-SVM"))
            if share <= 0.1 and means(draws, "accuracy", "CVM")[k] <= best:
                behind.append(f"{name} at {100 * share:g} %")
    fast = {form: sum(_times_as_fast(draws[0], form) >= 50 for draws in results.values()) for form in FORMS}
    counted = ", ".join(f"{words} {fast[form]}" for form, words in FORMS.items())
    return (
        f"Within 0.5 points of the full machine at 10 %: {len(tenth)} of {len(results)} sets (aim: all). "
        f"Within 3 points at 1 %: {len(hundredth)} ({', '.join(hundredth) or 'none'}; aim: three). Not above "
        f"both LARS-SVM and Reduced-SVM up to 10 %: {', '.join(behind) or 'nowhere'}. Prediction at 1 % "
        f"at least 50 times as fast, of {len(results)} sets: {counted}."
    )


def _times_as_fast(draw: dict[str, Any], form: str) -> float:
    return draw["prediction"]["full"] / draw["prediction"][form]


def _prediction_line(name: str, draw: dict[str, Any]) -> list[Any]:
    taken = draw["prediction"]
    forms = [f"{taken[form]:.4f} ({_times_as_fast(draw, form):.0f})" for form in FORMS]
    return [name, f"{draw['vectors']:,}", taken["vectors"], taken["full"], *forms]


def picture(results: Results, quick: bool) -> None:
    figure, grid = axes(len(results))
    for ax, (name, draws) in zip(grid, results.items(), strict=True):
        full = np.mean([draw["full"] for draw in draws])
        ax.axhline(full, color="black", linestyle="--", linewidth=1, label="full SVM")
        sizes = [size for _, size in draws[0]["sizes"]]
        for k, method in enumerate(METHODS):
            wide = 2.2 if method == "CVM" else 1.2
            ax.plot(sizes, means(draws, "accuracy", method), f"C{k}.-", linewidth=wide, label=method)
        ax.set(title=f"{name}, {draws[0]['vectors']:,} vectors", xlabel="vectors", xscale="log")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    grid[0].legend(fontsize=7)
    save_picture(figure, "cvm", quick)


def _ways(begun: Results) -> list[str]:
    return [way for draws in list(begun.values())[:1] for way in draws[0]["accuracy"]]


def start_lines(begun: Results) -> list[list[Any]]:
    lines = []
    for name, draws in begun.items():
        full = float(np.mean([draw["full"] for draw in draws]))
        for k, (share, size) in enumerate(draws[0]["sizes"]):
            values = [float(means(draws, "accuracy", way)[k]) for way in draws[0]["accuracy"]]
            lines.append([name, f"{100 * share:g} %", size, full, *values])
    return lines


def page(results: Results, large: list[Any], rings: list[Any], begun: Results, command: str) -> str:
    """The page in Markdown."""
    first = {name: draws[0] for name, draws in results.items()}
    facts = ("rows", "features", "classes", "vectors")
    machines = [[name, *(f"{d[fact]:,}" for fact in facts), f"{d['C']:g}", f"{d['gamma']:.3g}", d["full"]]
                for name, d in first.items()]  # fmt: skip
    times = [
        [name, share, *(f"{means(draws, 'seconds', method)[k]:.1f}" for method in METHODS)]
        for name, draws in results.items()
        for k, share in enumerate(f"{100 * s:g} %" for s, _ in draws[0]["sizes"])
    ]
    predicted = [_prediction_line(name, d) for name, d in first.items()]
    agreement = [one["agreement"] for one in rings]
    return PAGE.format(
        command=command,
        draws=", ".join(f"{name} {len(draws)}" for name, draws in results.items()),
        machines=table(["set", *facts, "C", "gamma", "accuracy"], machines),
        accuracy=table(
            ["set", "share", "vectors", "full SVM", *METHODS, "CVM, points"], accuracy_lines(results)
        ),
        verdict=verdict(results),
        prediction=table(["set", "vectors", "left", "full", *FORMS.values()], predicted),
        large=table(
            ["vectors", "left", "seconds", "peak GB", "GB before", "agreement on fresh rows"],
            [[f"{one['vectors']:,}", one["size"], f"{one['seconds']:.1f}", f"{one['peak_gb']:.2f}",
              f"{one['before_gb']:.2f}", one["agreement"]] for one in large],
        ),
        seconds=table(["set", "share", *METHODS], times),
        starts=table(["set", "share", "vectors", "full SVM", *_ways(begun)], start_lines(begun)),
        start_draws=", ".join(f"{name} {len(draws)}" for name, draws in begun.items()),
        ring_vectors=round(np.mean([one["vectors"] for one in rings])),
        agreement=float(np.mean(agreement)),
        worst=min(agreement),
        ring_draws=len(rings),
    )  # fmt: skip
