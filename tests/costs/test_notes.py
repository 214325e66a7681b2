"""Words for people in costs: kept by files and copies, without any effect on prices."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miserly import CostError, Costs

from .test_files import FORMATS, ODD, folder, refusal, texts  # noqa: F401  (a fixture)

NOTES = {
    "cp": {"label": "Chest pain", "choices": {"1": "typical angina", "2": "other pain"}},
    "chol": {"label": "Cholesterol", "unit": "mg/dl", "help": "fasting, from the\nblood sample"},
}
PRICES = {"age": 1.0, "cp": 1.0, "chol": 5.17}


@st.composite
def noted_costs(draw: st.DrawFn) -> Costs:
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    line = texts.filter(lambda text: len(text.splitlines()) == 1)
    note = st.fixed_dictionaries(
        {},
        optional={"label": line, "unit": line, "help": texts,
                  "choices": st.dictionaries(texts, texts, min_size=1, max_size=3)},
    )  # fmt: skip
    return Costs(dict.fromkeys(names, 1.5), notes={name: draw(note) for name in names})


def plain(costs):
    return costs.to_dict(notes=True)["features"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_written_is_read_back(tmp_path, suffix):
    odd = {name: {"label": name.splitlines()[0], "help": name, "choices": {name: name}} for name in ODD}
    for costs in (Costs(PRICES, notes=NOTES), Costs(dict.fromkeys(ODD, 1.0), notes=odd)):
        costs.write(tmp_path / f"costs{suffix}")
        assert plain(Costs.read(tmp_path / f"costs{suffix}")) == plain(costs)


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(costs=noted_costs())
def test_any_notes_are_read_back(folder, suffix, costs):  # noqa: F811
    costs.write(folder / f"costs{suffix}")
    again = Costs.read(folder / f"costs{suffix}")
    assert again == costs and plain(again) == plain(costs)


def test_files_without_notes_are_as_before(tmp_path):
    Costs(PRICES).write(tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text().splitlines()[2:4] == ["feature,cost,group,setup", "age,1.0,,"]
    Costs(PRICES).write(tmp_path / "c.toml")
    assert '"age" = 1.0' in (tmp_path / "c.toml").read_text()


def test_notes_count_in_no_comparison_and_follow_their_feature():
    costs, bare = Costs(PRICES, notes=NOTES), Costs(PRICES)
    assert costs == bare and hash(costs) == hash(bare) and costs.to_dict() == bare.to_dict()
    for copy in (costs.scaled(2), costs.bind(["chol", "cp", "age"]), pickle.loads(pickle.dumps(costs))):
        assert dict(copy.notes["chol"]) == NOTES["chol"] and "age" not in copy.notes
    unnamed = Costs([1, 2], notes={1: {"unit": "s"}})
    assert dict(unnamed.bind(["a", "b"]).notes) == {"b": {"unit": "s"}}


def test_notes_cannot_be_changed():
    costs = Costs(PRICES, notes=NOTES)
    for change in (lambda: costs.notes.pop("cp"), lambda: costs.notes["cp"].update(label="x")):
        with pytest.raises(AttributeError):
            change()


def test_csv_by_hand(tmp_path):
    (tmp_path / "c.csv").write_text(
        "feature, cost, label, choices, help\nage, 1\ncp, 1, Chest pain, 1 = typical angina ; 2=other,"
        '"a, b"\n'
        'x, 1, , "{""1"": ""a;b""}"\n'
    )
    notes = Costs.read(tmp_path / "c.csv").notes
    assert dict(notes["cp"]) == {
        "label": "Chest pain", "choices": {"1": "typical angina", "2": "other"}, "help": "a, b"}  # fmt: skip
    assert notes["x"]["choices"] == {"1": "a;b"} and "age" not in notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("feature,cost,lable\na,1,A\n", "line 1: unknown column 'lable'; did you mean 'label'?"),
        ("feature,cost,choices\na,1,\nb,1,red\n", "line 3: choices are written as 'value=label"),
        ("feature,cost,choices\na,1,1=\n", "line 2: choices are written as"),
        ("feature,cost,choices\na,1,1=x;1=y\n", "line 2: choice '1' appears twice"),
        ('feature,cost,choices\na,1,"{1:2}"\n', "line 2: the choices are not valid JSON"),
        ('feature,cost,choices\na,1,"{""1"": 2}"\n', "the label of choice '1' must be text, not 2"),
        ('feature,cost,unit\na,1,"m\ns"\n', "line 3: feature 'a': the unit must be one line of text"),
    ],
)  # fmt: skip
def test_mistakes_in_csv_are_reported_with_their_line(tmp_path, text, words):
    assert words in refusal(tmp_path / "costs.csv", text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"features": {"a": {"label": "A"}}}', "feature 'a' needs an entry 'cost'"),
        ('{"features": {"a": {"cost": 1, "lable": "A"}}}', "unknown entry 'lable'; did you mean 'label'?"),
        ('{"features": {"a": {"cost": 1, "label": 5}}}', "feature 'a': the label must be text, not 5"),
        ('{"features": {"a": {"cost": 1, "choices": ["x"]}}}', "choices are given as {value: label}"),
        ('{"features": {"a": {"cost": "1"}}}', "feature 'a' must be a number, not '1'"),
        ('{"features": [1, {"label": "A"}]}', "feature 1 needs an entry 'cost'"),
        ('{"features": [1], "notes": 5}', "unknown entry 'notes'"),
    ],
)
def test_mistakes_in_json_are_named(tmp_path, text, words):
    assert words in refusal(tmp_path / "costs.json", text)


def test_notes_of_unknown_features_are_refused():
    with pytest.raises(CostError, match="no feature 'cpp'; did you mean 'cp'"):
        Costs(PRICES, notes={"cpp": {"label": "x"}})
