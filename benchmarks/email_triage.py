"""How long it takes to sort a mail: extracting everything, against a plan that extracts on demand.

    python benchmarks/email_triage.py [--quick]

Prices are measured, and models learned, on mails of seed 0. The test mails are of seeds 10 to 14, which no
setting was chosen on. Every test mail is sorted both ways, one right after the other, in changing order: all
extractors and then the strongest model (compiled), and `OnDemand` with the learned plan. Both begin with the
bytes of the mail and end with a class. The picture of the README is made here, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from common import ROOT, folder, table, write

sys.path.insert(0, str(ROOT))

from examples.email_triage import SOURCES, Letter, learn, make_mails, measure_costs, used
from examples.email_triage.triage import extract, strongest
from examples.email_triage.triage import table as features_of

from miserly.report.style import COLOURS, STYLE, dress, matplotlib, save
from miserly.runtime import OnDemand

TEST_SEEDS = range(10, 15)
TURNS = 2  # of each mail; the faster one counts, because other work on the machine only adds
BLUE, ORANGE, *_ = COLOURS
WORDS = {
    "header": "look up header",
    "words": "tokenise",
    "patterns": "sweep patterns",
    "render": "render attachments",
}


class Sorted(NamedTuple):
    """What was seen of all test mails."""

    everything: np.ndarray  # milliseconds
    on_demand: np.ndarray
    everything_right: np.ndarray
    on_demand_right: np.ndarray
    used: np.ndarray  # (mails, extractors)


def sort_mails(served: OnDemand, model: Any, seeds: range, n: int) -> Sorted:
    walk, classes = model.plan_.walker(), model.classes_

    def with_everything(raw: bytes) -> Any:
        row = np.array(list(extract(Letter(raw)).values()))
        return classes[np.argmax(walk(row))]

    def on_demand(raw: bytes) -> Any:
        receipt = served.predict(Letter(raw))
        return receipt.answer, receipt

    lines: list[tuple[float, ...]] = []
    called = []
    for seed in seeds:
        for i, mail in enumerate(make_mails(n, seed)):
            first, second = (with_everything, on_demand) if i % 2 else (on_demand, with_everything)
            took = [float("inf"), float("inf")]
            for _ in range(TURNS):
                begun = time.perf_counter()
                one = first(mail.raw)
                between = time.perf_counter()
                other = second(mail.raw)
                took = [min(took[0], between - begun), min(took[1], time.perf_counter() - between)]
            (label, (answer, receipt)), times = ((one, other), took) if i % 2 else ((other, one), took[::-1])
            called.append([name in used(receipt) for name in SOURCES])
            lines.append((1000 * times[0], 1000 * times[1], label == mail.label, answer == mail.label))
    return Sorted(*np.array(lines).T, np.array(called))


def report(found: Sorted, costs: Any, train_size: int, quick: bool) -> None:
    def figures(times: np.ndarray, right: np.ndarray) -> dict[str, float]:
        return {"median": float(np.median(times)), "mean": float(times.mean()),
                "95 %": float(np.quantile(times, 0.95)), "accuracy": float(right.mean())}  # fmt: skip

    both = {
        "extract everything": figures(found.everything, found.everything_right),
        "on demand": figures(found.on_demand, found.on_demand_right),
    }
    difference = 100 * (found.on_demand_right - found.everything_right)
    change, error = float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))
    cut = {
        name: both["extract everything"][name] / both["on demand"][name]
        for name in ("median", "mean", "95 %")
    }
    rows = [
        [
            name,
            *(f"{line[key]:.3f} ms" for key in ("median", "mean", "95 %")),
            f"{100 * line['accuracy']:.2f} %",
        ]
        for name, line in both.items()
    ]
    rows.append(["ratio", *(f"{cut[key]:.1f}" for key in ("median", "mean", "95 %")),
                 f"{change:+.2f} ± {error:.2f} points"])  # fmt: skip
    sources = [
        [name, f"{price:.3f} ms", f"{100 * share:.1f} %"]
        for name, price, share in zip(costs.group_names, costs.setup, found.used.mean(axis=0), strict=True)
    ]
    page = [
        "# E-mail triage",
        f"{len(found.used):,} test mails of seeds {TEST_SEEDS[0]} to {TEST_SEEDS[-1]}, {train_size:,} mails "
        "of seed 0 to learn from. Times are from the bytes of a mail to its class. Both ways take turns on "
        "every mail, in one process and one thread, and the faster of two turns counts. "
        "The difference of accuracies has its standard error over mails; 2.5 % of the labels are "
        "wrong on purpose.",
        "`python benchmarks/email_triage.py" + (" --quick`" if quick else "`"),
        table(["", "median", "mean", "95th percentile", "accuracy"], rows),
        "The price of an extractor is its mean time on training mails. The first one that needs the parts of "
        "a mail parses them.",
        table(["extractor", "price", "mails that needed it"], sources),
        "![Time per mail, and what was extracted](email_triage.svg)",
    ]
    record = {"ways": both, "ratio": cut, "accuracy difference": [change, error], "used": sources}
    write("email_triage", "\n\n".join(page) + "\n", record, quick)
    pyplot, rc_context = matplotlib()
    with rc_context(STYLE):
        figure, (left, right) = pyplot.subplots(
            1, 2, figsize=(9.4, 3.6), layout="constrained", width_ratios=(1.6, 1)
        )
        draw_times(left, found, both)
        draw_sources(right, costs, 100 * found.used.mean(axis=0))
        save(figure, folder(quick) / "email_triage.svg")


def draw_times(axes: Any, found: Sorted, both: dict[str, dict[str, float]]) -> None:
    """Which share of the mails is sorted after how long, both ways."""
    share = np.linspace(0, 100, 401)
    places = {"extract everything": (1.15, 36, "left"), "on demand": (0.88, 56, "right")}
    for (name, (factor, height, side)), times, colour in zip(
        places.items(), (found.everything, found.on_demand), (ORANGE, BLUE), strict=True
    ):
        figures = both[name]
        axes.plot(np.percentile(times, share), share, color=colour, linewidth=2)
        axes.plot(figures["median"], 50, "o", color=colour)
        words = f"{name}\nmedian {figures['median']:.2f} ms\n{100 * figures['accuracy']:.1f} % correct"
        axes.text(factor * figures["median"], height, words, color=colour, ha=side)
    axes.set_xscale("log")
    axes.set_xlim(np.quantile(found.on_demand, 0.01) / 4, 1.6 * np.quantile(found.everything, 0.995))
    axes.set_xticks([0.03, 0.1, 0.3, 1, 3, 10], ["0.03", "0.1", "0.3", "1", "3", "10"])
    axes.minorticks_off()
    axes.set_ylim(0, 101)
    dress(axes, "milliseconds from bytes to class", "% of mails sorted")


def draw_sources(axes: Any, costs: Any, shares: np.ndarray) -> None:
    """Which share of the mails needed each extractor."""
    bars = axes.barh(range(len(shares)), shares, color=BLUE, height=0.55)
    axes.bar_label(bars, [f" {share:.0f} %" for share in shares])
    names = [f"{WORDS[name]}\n{ms:.2f} ms" for name, ms in zip(costs.group_names, costs.setup, strict=True)]
    dress(axes, "", "")
    axes.set_title("extractor, its time, % of mails that needed it", fontsize=10, loc="right")
    axes.set_yticks(range(len(shares)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 118)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.grid(False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    train = make_mails(600 if options.quick else 3000, seed=0)
    costs = measure_costs(train[:500])
    learned, model = learn(train, costs), strongest(costs).fit(*features_of(train))
    served = OnDemand(learned, SOURCES)
    found = sort_mails(served, model, TEST_SEEDS, 60 if options.quick else 1200)
    report(found, costs, len(train), options.quick)


if __name__ == "__main__":
    main()
