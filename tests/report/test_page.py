"""The report says what the frontier found, keeps strange names harmless, and works in a browser."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from miserly import (
    ASTCClassifier,
    ASTCRegressor,
    CostLassoClassifier,
    CostLassoRegressor,
    Costs,
    EarlyExit,
    GreedyMiserClassifier,
    Handover,
)
from miserly.datasets import load_heart, make_ranking
from miserly.errors import CostError, DataError
from miserly.report.page.content import Words
from miserly.report.page.opening import actions
from miserly.report.page.purchase_charts import feature_chart, features_shown
from miserly.selection import frontier
from miserly.selection.choice import Chooser
from miserly.selection.offers import offers, round_budgets, round_steps
from miserly.selection.requests import Request
from tests.report.browsing import browser, requested

pytest.importorskip("plotly")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

STRANGE = ["</script><script>alert(1)</script>", 'a "quoted" & <b>bold</b>', "naïve 名前 ✓", "%{x} $y$ {z}"]


def miser(**changes):
    return GreedyMiserClassifier(**{"n_rounds": 8, "max_depth": 2, **changes})


def search(learners, X, y, **options):
    quick = {"cv": 3, "max_fits": 9, "random_state": 0}
    return frontier(learners, X, y, **{**quick, **options})


@pytest.fixture(scope="module")
def heart():
    data = load_heart()
    labels = np.array(data.classes)[data.y]
    return search(
        [CostLassoClassifier(), miser(), EarlyExit(miser())], data.X, labels, costs=data.costs, max_fits=14
    )


@pytest.fixture(scope="module")
def page(heart, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "heart.html"
    assert heart.to_html(path, mean_budget=30, title="Heart disease") == path
    return path


@pytest.fixture(scope="module")
def phone(tmp_path_factory):
    """A page with handovers, whose parameters are many words."""
    data = load_heart()
    found = search(
        [CostLassoClassifier(), miser(), EarlyExit(miser())], data.X, data.y, costs=data.costs, handovers=True
    )
    return found.to_html(tmp_path_factory.mktemp("page") / "phone.html", title="Heart disease")


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A page whose features, unit and prices have long names and many digits."""
    import pandas as pd

    data = load_heart()
    names = [f"a_rather_long_name_of_feature_{i}" for i in range(data.X.shape[1])]
    prices = np.geomspace(1.0, 5000.0, len(names)).round(2).tolist()
    costs = Costs(dict(zip(names, prices, strict=True)), unit="microseconds/req")
    found = search([miser(), EarlyExit(miser())], pd.DataFrame(data.X, columns=names), data.y, costs=costs)
    return found.to_html(tmp_path_factory.mktemp("page") / "long.html", mean_budget=300)


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """A page about columns, classes, groups, units and a title that try to be more than text."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    costs = Costs(
        dict(zip(STRANGE, (1.0, 2.0, 4.0, 8.0), strict=True)),
        groups={"<i>group</i>": {"features": STRANGE[:2], "setup": 1.0}},
        unit="<u>&€",
    )
    y = np.where(X[:, 2] + 0.5 * X[:, 0] + X[:, 1] > 0, "<img src=x onerror=alert(2)>", "no")
    import pandas as pd

    found = search(ASTCClassifier(max_depth=2), pd.DataFrame(X, columns=STRANGE), y, costs=costs, certify=0)
    return found.to_html(tmp_path_factory.mktemp("page") / "strange.html", mean_budget=12, title=STRANGE[0])


class Reader(HTMLParser):
    """What a page is made of, and the text between."""

    def __init__(self, document):
        super().__init__()
        self.tags, self.captions, self.texts, self._inside = [], [], [], []
        self.feed(document)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside.append(tag)

    def handle_endtag(self, tag):
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self._inside):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).replace("\N{NO-BREAK SPACE}", " ").split())


def data_of(path):
    script = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL
    )
    return json.loads(script[1])


# -- which budgets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(1.0, 324.0), (40.0, 80.0), (0.0012, 0.5), (3.0, 2e6), (5.0, 5.0)])
def test_steps_are_few_round_and_reach_from_the_cheapest_to_the_most_expensive(low, high):
    steps = round_steps(low, high)
    assert 1 <= len(steps) <= 24 and steps == sorted(set(steps))
    assert steps[0] >= low and steps[-1] >= high * (1 - 1e-9)
    assert all(len(f"{step:.12g}".replace(".", "").strip("0")) <= 3 for step in steps)


def test_budgets_have_zero_the_asked_one_and_those_of_the_frontier(heart):
    offered = round_budgets(heart, asked=Request(mean_budget=31.0))
    budgets = [wanted.mean_budget for wanted in offered]
    assert {wanted.kind for wanted in offered} == {"mean_budget"}
    assert budgets[0] == 0.0 and 31.0 in budgets and 30.0 not in budgets
    assert 5 <= len(budgets) <= 24 and budgets == sorted(set(budgets))


def test_an_offer_is_what_the_frontier_says_of_the_budget(heart):
    (one,) = offers(heart, [Request(mean_budget=30.0)])
    line = heart.at(mean_budgets=[30.0]).iloc[0]
    assert (one.value, one.low, one.high) == (line.value, line.value_low, line.value_high)
    assert one.candidate.params == line.params
    assert (one.features, one.max_cost, one.pays) == (line.features, line.max_cost, line.plan_cost)


def test_caps_prices_and_features_are_those_of_the_delivered_plan(heart):
    """Not of the models of the folds, which paid and bought something else."""
    X = load_heart().X
    for one in offers(heart, round_budgets(heart)):
        plan = heart.best(mean_budget=one.same_as or one.budget).plan_
        done = plan.run(X)
        assert plan.digest == one.plan.digest and one.max_cost == plan.max_cost >= done.cost.max()
        assert one.pays == done.cost.mean() and one.cost_95 <= one.max_cost
        np.testing.assert_array_equal(one.share, done.acquired.mean(axis=0))


@pytest.mark.parametrize("kind", ["budget", "mean_budget"])
def test_a_table_never_falls_and_one_model_has_one_estimate(heart, kind):
    made = offers(
        heart, [Request(**{kind: float(amount)}) for amount in (0, 1, 2, 4, 8, 16, 40, 110, 215, 324)]
    )
    values = [one.value for one in made]
    assert values == sorted(values)
    fresh = [one for one in made if one.same_as is None]
    assert len({one.value for one in fresh}) == len({one._key for one in fresh}) == len(fresh) < len(made)
    for one in made:
        if one.same_as is not None:
            (old,) = (old for old in fresh if old.budget == one.same_as)
            assert one._key == old._key and one.value == old.value and old.budget < one.budget
            assert one.note == f"no better model found: same as {old.budget:g}"


def test_budgets_above_the_price_of_everything_are_not_listed(heart):
    data = load_heart()
    wide = type(heart)(replace(heart.result, budgets=[5.0, 1000.0]))
    assert [wanted.budget for wanted in round_budgets(wide)][-1] <= data.costs.total
    assert max(wanted.mean_budget for wanted in round_budgets(heart)) <= data.costs.total


def test_of_many_features_the_most_bought_are_shown_and_of_equals_the_most_expensive():
    share = np.r_[np.ones(21), 0.5, 0.0]
    made = [
        SimpleNamespace(share=np.zeros(23)),
        SimpleNamespace(share=share),
    ]
    shown = features_shown(Costs([0.5, *range(1, 23)]), made)
    assert sorted(shown) == list(range(1, 21))


# -- what is written -----------------------------------------------------------------------------------------


def test_the_page_says_what_was_asked_and_found(heart, page):
    page_text = Reader(page.read_text()).text
    line = next(
        one for one in offers(heart, round_budgets(heart, Request(mean_budget=30.0))) if one.budget == 30
    )
    assert "Both are estimates from held-out rows" in page_text
    assert line.same_as is None or "No better model was found than the one for" in page_text
    assert "Heart disease" in page_text and "For a mean budget of 30 CAD per row, buy" in page_text
    assert f"Expect an accuracy of {100 * line.value:.1f} %" in page_text
    assert "270 rows, 13 features" in page_text and "54 of the rows" in page_text
    assert f"{len(heart.points)} models of 3 learners" in page_text


def test_the_page_opens_with_what_to_buy_for_whom(heart):
    """Features of every row are those that all rows buy; of the others, their share of rows is shown."""
    costs = heart.costs
    for one in offers(heart, round_budgets(heart)):
        advice = Reader(actions(one, Words(heart))).text.replace(" ,", ",")
        first, _, others = advice.partition(" for every row.")
        every = {costs.name(f) for f in range(len(costs)) if one.share[f] == 1.0}
        if one.features == 0.0:
            assert advice == 'buy nothing and give the answer "absence" to every row.'
        elif 0 < len(every) <= 6:
            assert set(first.removeprefix("buy ").replace(" and ", ", ").split(", ")) == every
        for name in every:
            assert not re.search(rf"\b{name}\b", others)


def test_who_is_handed_over_is_still_unclear():
    """A cheap model that reads x0 for every row hands over the unsure half to one that reads x1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(np.abs(X[:, 0]) > 0.7, X[:, 0] > 0, X[:, 1] > 0).astype(int)
    costs = Costs({"cheap": 1.0, "expensive": 10.0})
    first = GreedyMiserClassifier(costs=costs, budget=1, n_rounds=30, max_depth=3).fit(X, y)
    then = GreedyMiserClassifier(costs=costs, n_rounds=30, max_depth=3).fit(X, y)
    pair = Handover.of(first, then, 0.9)
    run = pair.run(X)
    share = run.acquired[:, 1].mean()
    assert 0.05 < share < 0.95
    one = SimpleNamespace(plan=pair.plan_, run=run, share=run.acquired.mean(axis=0))
    words = SimpleNamespace(row="row", rows="rows")
    advice = actions(one, words).replace("\N{NO-BREAK SPACE}", " ")
    assert advice == (
        "buy <em>cheap</em> for every row. "
        f"Buy <em>expensive</em> for the {100 * share:.0f} % of rows still unclear."
    )


def test_features_of_which_every_row_buys_one_are_not_bought_for_every_row():
    """All rows buy a, 99 of 100 buy b and 98 of 100 buy c. Every row buys b or c."""
    from miserly.plan import Node, Plan, Raw

    acquired = np.ones((100, 3), dtype=bool)
    acquired[0, 1] = acquired[1:3, 2] = False
    nodes = [Node([k], [0], [1.0], [0.0], up=k + 1 if k < 2 else -1) for k in range(3)]
    costs = Costs({"a": 1.0, "b": 1.0, "c": 1.0})
    plan = Plan(costs=costs, terms=[Raw(k) for k in range(3)], nodes=nodes, base=[0.0])
    run = SimpleNamespace(acquired=acquired, exit=np.full(100, 2))
    one = SimpleNamespace(plan=plan, run=run, share=acquired.mean(axis=0))
    sentences = actions(one, SimpleNamespace(row="row", rows="rows")).replace("\N{NO-BREAK SPACE}", " ")
    assert sentences == ("buy <em>a</em> for every row. Buy <em>b</em> and <em>c</em> for 99 % of rows.")


def test_the_page_needs_nothing_from_outside(page):
    document = Reader(page.read_text())
    addresses = [
        value
        for _, some in document.tags
        for name, value in some.items()
        if name in ("src", "href", "action")
    ]
    assert addresses and all(address.startswith(("data:", "#")) for address in addresses)
    assert page.stat().st_size < 6e6


def test_everything_has_a_name_for_who_cannot_see_it(page):
    document = Reader(page.read_text())
    named = [some for tag, some in document.tags if tag == "img" or some.get("role") in ("img", "region")]
    assert named and all(some.get("alt") or some.get("aria-label") or tag_is_svg(some) for some in named)
    assert page.read_text().count("<table") == page.read_text().count("<caption>")


def tag_is_svg(attributes):
    return "viewbox" in attributes  # which has a title and a description of its own


def test_a_table_has_every_step_of_the_slider(page):
    steps = data_of(page)["steps"]
    table = re.search(r'<table id="budgets">.*?</table>', page.read_text(), re.DOTALL)[0]
    assert table.count("<tr>") - 1 == len(steps) > 5


def test_histograms_count_every_row_once(page):
    for step in data_of(page)["steps"]:
        assert sum(step["bills"]["y"]) == pytest.approx(100.0, abs=0.01)


def test_all_models_failures_prices_and_versions_are_in_the_appendix(heart, page):
    page_text = Reader(page.read_text()).text
    assert "Fits that failed: 0" in page_text and "scikit-learn" in page_text and str(heart.seed) in page_text
    assert "101.9" in page_text and "thallium" in page_text  # a set-up and its group
    assert page.read_text().count(" ★</td>") == len(heart.pareto())


def test_a_guarantee_is_shown(heart, tmp_path):
    page_text = Reader(heart.to_html(tmp_path / "a.html", mean_budget=200, confidence=0.9).read_text()).text
    assert "Guaranteed with 90 % confidence" in page_text and "costs 200 CAD or less on average" in page_text


def test_a_model_in_place_of_another_shows_its_own_figures(heart, tmp_path, monkeypatch):
    """As if the best model of each budget cost too much once it has all rows."""

    def second(self, wanted):
        one = self._ordered(wanted)[:2][-1]
        return one, self.refitter.fit(one, self._everything, wanted)

    monkeypatch.setattr(Chooser, "take", second)
    path = heart.to_html(tmp_path / "a.html", mean_budget=30)
    steps = data_of(path)["steps"]
    taken = [step["words"] for step in steps if "It was taken because" in step["words"]["note"]]
    assert taken and all("accuracy reached" in words["value-note"] for words in taken)
    assert all(f"The ringed model reaches {words['value']}" in words["note"] for words in taken)


def test_a_page_of_caps_says_so(heart, tmp_path):
    path = heart.to_html(tmp_path / "a.html", budget=30)
    assert "For a budget of 30 CAD per row" in Reader(path.read_text()).text
    made = offers(heart, round_budgets(heart, Request(budget=30.0)))
    assert len(made) > 4 and all(one.max_cost <= one.budget for one in made)
    most = [step["words"]["upper"] for step in data_of(path)["steps"]]
    assert most == [Words(heart).price(one.max_cost) for one in made]
    both = heart.to_html(tmp_path / "b.html", budget=200, mean_budget=30)
    assert "For a mean budget of 30 CAD per row" in Reader(both.read_text()).text
    assert all(float(step["words"]["upper"].split()[0]) <= 200 for step in data_of(both)["steps"])


def test_without_a_budget_one_is_suggested(heart, tmp_path):
    page_text = Reader(heart.to_html(tmp_path / "a.html").read_text()).text
    assert "No budget was given" in page_text


@pytest.mark.parametrize("kind", ["documents", "numbers", "several classes"])
def test_other_tasks_have_pages(kind, tmp_path):
    rng = np.random.default_rng(0)
    if kind == "documents":
        data = make_ranking(300, 25, random_state=0)
        found = search(
            ASTCRegressor(),
            data.X,
            data.y,
            costs=data.costs,
            qid=data.qid,
            max_fits=3,
            certify=0,
        )
    else:
        X = rng.normal(size=(160, 3))
        y = X[:, 2] + 0.1 * rng.normal(size=160) if kind == "numbers" else np.digitize(X[:, 2], [-0.5, 0.5])
        learner = CostLassoRegressor() if kind == "numbers" else miser()
        found = search(learner, X, y, costs=[1.0, 5.0, 20.0], max_fits=3, certify=0)
    page_text = Reader(found.to_html(tmp_path / "page.html").read_text()).text
    words = {
        "documents": ("NDCG@5", "price", "documents in"),
        "numbers": ("mean squared error", "lower is better"),
        "several classes": ("accuracy", "higher is better"),
    }
    assert all(word in page_text for word in words[kind])


def test_names_stay_names(strange):
    document = Reader(strange.read_text())
    assert sum(tag == "script" for tag, _ in document.tags) == 3  # data, plotly and the page's own
    assert not any(name.startswith("on") for _, some in document.tags for name in some)
    assert not {"b", "i", "u"} & {tag for tag, some in document.tags if "id" not in some}
    for name in STRANGE:
        assert name in document.text.replace("\N{NO-BREAK SPACE}", " ")


# -- what goes wrong -----------------------------------------------------------------------------------------


def test_a_budget_below_the_cheapest_is_reported(heart, tmp_path):
    paid = [one for one in heart.candidates if one.mean_cost > 0]
    expensive = type(heart)(replace(heart.result, candidates=paid))
    with pytest.raises(CostError, match=r"no model costs 0\.5 or less on average; the cheapest costs 1"):
        expensive.to_html(tmp_path / "a.html", mean_budget=0.5)
    with pytest.raises(CostError, match="-3"):
        heart.to_html(tmp_path / "a.html", mean_budget=-3)
    assert not (tmp_path / "a.html").exists()


def test_a_path_that_cannot_be_written_is_reported_before_anything_is_fitted(heart, tmp_path, monkeypatch):
    monkeypatch.setattr(type(heart), "chooser", None)  # so that fitting would fail
    with pytest.raises(DataError, match="is a folder"):
        heart.to_html(tmp_path)
    with pytest.raises(DataError, match="there is no folder"):
        heart.to_html(tmp_path / "nowhere" / "a.html")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DataError, match="no permission to write"):
        heart.to_html(tmp_path / "a.html")


def test_what_is_missing_is_reported(heart, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(DataError, match=r"plotly: pip install 'miserly\[report\]'"):
        heart.to_html(tmp_path / "a.html")


# -- in a browser --------------------------------------------------------------------------------------------


def drawn(opened, chart, what):
    return opened.execute_script(f"return document.querySelectorAll('#chart-{chart} {what}').length")


def words_at(opened, place):
    return opened.execute_script(f"return document.getElementById('now-{place}').textContent")


def move(opened, step):
    slide = "const slider = document.getElementById('budget'); slider.value = arguments[0];"
    opened.execute_script(slide + "slider.dispatchEvent(new Event('input'));", step)


def test_the_page_draws_itself_without_errors_or_network(page):
    with browser() as opened:
        opened.get(page.as_uri())
        assert [entry["message"] for entry in opened.get_log("browser")] == []
        assert requested(opened) == [page.as_uri()]
        assert drawn(opened, "frontier", ".scatterlayer .point") > 20
        assert drawn(opened, "bills", ".barlayer .point") > 0
        assert drawn(opened, "features", ".barlayer .point") > 5
        assert drawn(opened, "growth", ".heatmaplayer image") == 1


def test_moving_the_slider_changes_figures_charts_and_table(page):
    steps = data_of(page)["steps"]
    with browser() as opened:
        opened.get(page.as_uri())
        seen = []
        for step in (0, len(steps) - 1):
            move(opened, step)
            for place, words in steps[step]["words"].items():
                assert words_at(opened, place) == words
            current = opened.execute_script("return document.querySelector('tr[aria-current]').rowIndex")
            assert current == step + 1
            bars = opened.execute_script("return document.getElementById('chart-features').data[0].x")
            assert bars == steps[step]["share"]
            ring = opened.execute_script("return document.getElementById('chart-frontier').data.at(-1).x[0]")
            assert ring == steps[step]["x"]
            seen.append(opened.execute_script("return document.getElementById('chart-bills').innerHTML"))
        assert seen[0] != seen[1]
        opened.execute_script("document.querySelectorAll('#budgets tbody tr')[3].click()")
        assert words_at(opened, "budget") == steps[3]["words"]["budget"]


def test_a_phone_need_not_scroll_sideways_and_dark_is_dark(page):
    with browser(390, 844, dark=True) as opened:
        opened.get(page.as_uri())
        assert opened.execute_script("return document.documentElement.scrollWidth") == 390
        colour = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert sum(map(int, re.findall(r"\d+", colour))) < 150
        text = opened.execute_script("return document.getElementById('chart-frontier').layout.font.color")
        assert text == "#e6ecf1"
        assert [entry["message"] for entry in opened.get_log("browser")] == []


CUT_OFF = """
return [...document.querySelectorAll('.chart')].flatMap(chart => {
    const room = chart.getBoundingClientRect();
    return [...chart.querySelectorAll('text')].filter(one => {
        const box = one.getBoundingClientRect();
        return box.width && (box.left < room.left - 1 || box.right > room.right + 1
                             || box.top < room.top - 1 || box.bottom > room.bottom + 1);
    }).map(one => chart.id + ': ' + one.textContent);
});"""
TOUCHING = """
return [...document.querySelectorAll('.chart')].flatMap(chart => {
    const ticks = [...chart.querySelectorAll('.xtick text')];
    const labels = ticks.map(one => [one.getBoundingClientRect(), one.textContent]);
    labels.sort((one, other) => one[0].left - other[0].left);
    return labels.slice(1).filter((one, i) => one[0].left < labels[i][0].right + 2)
        .map(one => chart.id + ': ' + one[1]);
});"""
WIDTHS = "return [...document.querySelectorAll('.chart, .drawing, .scroll')].map(e => e.clientWidth)"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["phone", "long"])
def test_everything_is_inside_the_page_and_no_word_of_a_chart_is_cut_off(name, width, request):
    path = request.getfixturevalue(name)
    with browser(width, 844) as opened:
        opened.get(path.as_uri())
        opened.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert opened.execute_script("return document.documentElement.scrollWidth") <= width
        widths = opened.execute_script(WIDTHS)
        assert len(widths) >= 7 and all(0 < one <= width for one in widths)
        for step in range(len(data_of(path)["steps"])):
            move(opened, step)
            assert opened.execute_script(CUT_OFF) == []
            assert opened.execute_script(TOUCHING) == []
        assert opened.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_phone_that_is_turned_draws_its_charts_again(long):
    with browser(844, 390) as opened:
        opened.get(long.as_uri())
        size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        deadline = time.monotonic() + 10
        while opened.execute_script(CUT_OFF) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert opened.execute_script("return document.documentElement.scrollWidth") <= 390
        assert opened.execute_script(CUT_OFF) == []
        assert opened.execute_script(TOUCHING) == []


def test_on_a_phone_rows_of_tables_are_low_and_the_drawing_is_whole(phone):
    with browser(390, 844) as opened:
        opened.get(phone.as_uri())
        heights = opened.execute_script(
            "return [...document.querySelectorAll('#budgets tbody tr')]"
            ".map(e => e.getBoundingClientRect().height)"
        )
        assert len(heights) > 4 and max(heights) <= 90
        seen = "const all = document.querySelector('.drawing'); const drawn = all.querySelector('svg, img');"
        wide = f"{seen} return [drawn.clientWidth, all.clientWidth]"
        drawn, room = opened.execute_script(wide)
        assert 0 < drawn <= room
        opened.execute_script("document.querySelector('.enlarge').click()")
        assert opened.execute_script(wide)[0] >= 900
        assert opened.execute_script("return document.documentElement.scrollWidth") == 390


def test_no_line_ends_inside_a_number(phone):
    """Every number with an exponent is on one line, in the table and beside the slider."""
    with browser(390, 844) as opened:
        opened.get(phone.as_uri())
        lines = opened.execute_script(
            "return [...document.querySelectorAll('td .whole, .card .whole')]"
            ".map(e => [e.textContent, e.getClientRects().length])"
        )
        assert any("e-0" in words for words, _ in lines) and all(n == 1 for words, n in lines if n)


def test_a_feature_of_a_group_that_is_set_up_is_shown_with_its_own_price(heart):
    """So the prices beside the names add up to what all of them cost."""
    made = offers(heart, round_budgets(heart))
    shown = features_shown(heart.costs, made)
    ticks = feature_chart(heart.costs, shown, Words(heart))["layout"]["yaxis"]["ticktext"]
    prices = [float(words.split()[-1]) for words in ticks]
    names = [heart.costs.name(f) for f in shown]
    assert "thal" in names and "thalach" in names  # whose set-up is 101.90
    assert sum(prices) == pytest.approx(heart.costs.of(names), abs=0.05 * len(prices))


def test_strange_names_run_nothing_and_are_drawn_as_they_are(strange):
    with browser() as opened:
        opened.get(strange.as_uri())  # an alert would make the next command fail
        assert [entry["message"] for entry in opened.get_log("browser")] == []
        labels = opened.execute_script(
            "return [...document.querySelectorAll('#chart-features .ytick text')].map(e => e.textContent)"
        )
        assert any("naïve 名前 ✓" in label for label in labels)
        assert any(label.startswith('a "quoted" …b>bold</b>') for label in labels)
        assert any(label.startswith("</script><s…") for label in labels)


def test_a_cap_is_guaranteed_in_words_of_its_own(heart, tmp_path):
    """No rows are kept for it, so no figures of such rows are shown."""
    words = heart.to_html(tmp_path / "cap.html", budget=30).read_text(encoding="utf-8").partition("</h1>")[2]
    opening = words.partition("What would another budget buy")[0]
    assert "Guaranteed: no row ever pays more than 30 CAD." in opening
    assert "confidence" not in opening and "nan" not in opening
