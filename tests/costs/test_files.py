"""Cost files: what is written is what is read, and every mistake is reported with its place."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miserly import CostError, Costs

FORMATS = (".csv", ".json", ".toml")
ODD = [
    *("a,b", 'say "x"', "it's", "a=b", "[x]", "a; b", "#hash", "back\\slash", "true", "1e5", "features"),
    *(
        "naïve",
        "体重",
        "😀",
        "a\nb",
        "a\r\nb",
        "a\rb",
        "tab\there",
        "x\u2028y",
        "mid\x85dle",
        "v\x0bt",
        "del\x7f",
    ),
]

prices = st.floats(0, 1e12, allow_nan=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda text: text == text.strip()
)


@st.composite
def named_costs(draw: st.DrawFn) -> Costs:
    names = draw(st.lists(texts, min_size=1, max_size=6, unique=True))
    members = draw(st.lists(st.sampled_from(names), max_size=4, unique=True))
    labels = draw(st.lists(texts, min_size=2, max_size=2, unique=True))
    groups = {
        label: {"features": some, "setup": draw(prices)}
        for label, some in zip(labels, (members[:2], members[2:]), strict=True)
        if some
    }
    unit = draw(
        st.sampled_from(
            ["", "CAD", "ms", "µs per call", '"'],
        )
    )
    features = {name: draw(prices) for name in names}
    return Costs(features, groups=groups, evaluation=draw(prices), unit=unit)


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("costs")


def refusal(path, text: str | bytes) -> str:
    """What `Costs.read` says about a file with this text."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CostError) as caught:
        Costs.read(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# -- round trips -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_written_is_read_back(tmp_path, suffix):
    costs = Costs(
        {name: i / 3 for i, name in enumerate(ODD)},
        groups={name: {"features": [name], "setup": 0.1} for name in ODD},
        evaluation=1e-7,
        unit="CAD",
    )
    costs.write(tmp_path / f"costs{suffix}")
    again = Costs.read(tmp_path / f"costs{suffix}")
    assert again == costs
    assert again.names == tuple(ODD)


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(costs=named_costs())
def test_any_costs_are_read_back(folder, suffix, costs):
    costs.write(folder / f"costs{suffix}")
    assert Costs.read(folder / f"costs{suffix}") == costs


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_features_without_names_are_read_back(tmp_path, suffix):
    costs = Costs([1, 2.5, 1e300], groups={"g": {"features": [0, 2], "setup": 3}})
    costs.write(tmp_path / f"costs{suffix}")
    assert Costs.read(tmp_path / f"costs{suffix}") == costs


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_blanks_around_names_are_kept(tmp_path, suffix):
    costs = Costs({" a ": 1, "": 2})
    costs.write(tmp_path / f"costs{suffix}")
    assert Costs.read(tmp_path / f"costs{suffix}") == costs


def test_what_csv_cannot_keep_is_not_written(tmp_path):
    path = tmp_path / "costs.csv"
    with pytest.raises(CostError, match="needs feature names"):
        Costs([1, 2]).write(path)
    for costs in (Costs({" a": 1}), Costs({"": 1}), Costs({"a": 1}, groups={"g ": {"features": ["a"]}})):
        with pytest.raises(CostError, match=r"write \.json or \.toml"):
            costs.write(path)
    assert not path.exists()


def test_other_formats_are_refused(tmp_path):
    for name in ("costs.xlsx", "costs"):
        with pytest.raises(CostError, match=r"\.csv, \.json or \.toml"):
            Costs([1]).write(tmp_path / name)
        with pytest.raises(CostError, match=r"\.csv, \.json or \.toml"):
            Costs.read(tmp_path / name)


def test_the_suffix_may_be_in_capitals(tmp_path):
    Costs([1]).write(tmp_path / "COSTS.JSON")
    assert Costs.read(tmp_path / "COSTS.JSON") == Costs([1])


def test_a_missing_file_is_the_systems_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Costs.read(tmp_path / "nowhere.csv")


# -- CSV as people write it --------------------------------------------------------------------------------


def test_csv_by_hand(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text(
        "# Prices of 1995\n# Unit: CAD\n# evaluation: 0.01\n\n"
        "feature , cost, group, setup\n"
        "age     , 1\n"
        "chol, 5.17, blood, 2.10\n\n"
        '"fbs", 3.10, blood,\n'
        "#note, 4\n"
    )
    assert Costs.read(path) == Costs(
        {"age": 1, "chol": 5.17, "fbs": 3.10, "#note": 4},
        groups={"blood": {"features": ["chol", "fbs"], "setup": 2.10}},
        evaluation=0.01,
        unit="CAD",
    )


@pytest.mark.parametrize(
    "text", ["cost,feature\r\n1,a\r\n", "cost,feature\r1,a\r", "\ufeffcost,feature\n1,a"]
)
def test_csv_of_other_systems(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_bytes(text.encode())
    assert Costs.read(path) == Costs({"a": 1})


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path, suffix):
    path = tmp_path / f"costs{suffix}"
    Costs({"a": 1}).write(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Costs.read(path) == Costs({"a": 1})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the columns must be feature,cost"),
        ("# unit: s\n\n", "line 3: the columns must be feature,cost"),
        ("a;b\n", "line 1: the columns must be feature,cost"),
        ("feature,price\na,1\n", "line 1: the columns must be"),
        ("feature,cost,grp\na,1,g\n", "line 1: unknown column 'grp'; did you mean 'group'?"),
        ("feature,cost,cost\na,1,2\n", "line 1: column 'cost' appears twice"),
        (
            "# evaluation: high\nfeature,cost\na,1\n",
            "line 1: the cost of evaluation must be a number, not 'high'",
        ),
        ("# evaluation: -1\nfeature,cost\na,1\n", "line 1: the cost of evaluation is negative"),
        ("feature,cost\na,1\nb,\n", "line 3: the cost of feature 'b' must be a number, not ''"),
        ("feature,cost\na,1\nb\n", "line 3: the cost of feature 'b' must be a number"),
        ("# x\nfeature,cost\n\na,1\nb,two\n", "line 5: the cost of feature 'b' must be a number, not 'two'"),
        ("feature,cost\na,-2\n", "line 2: the cost of feature 'a' is negative"),
        ("feature,cost\na,nan\n", "line 2: the cost of feature 'a' is missing"),
        ("feature,cost\na,1e999\n", "line 2: the cost of feature 'a' is infinite"),
        ("feature,cost\na,5,17\n", "line 2: 3 values for the 2 columns"),
        ("feature,cost\n,1\n", "line 2: a row without a feature"),
        ("feature,cost\na,1\nb,2\na,3\n", "line 4: feature 'a' appears twice"),
        ("feature,cost,group,setup\na,1,,2\n", "line 2: feature 'a' has a setup but no group"),
        ("feature,cost,group,setup\na,1,g,2\nb,1,g,3\n", "line 3: group 'g' has two set-ups, 2 and 3"),
        ("feature,cost,group,setup\na,1,g,-2\n", "line 2: the cost of setting up group 'g' is negative"),
        ("feature,cost,group\na,1,g\n", "group 'g' has no setup"),
        ('feature,cost\n"a,1\nb,2\n', "line 3: not a valid CSV file"),
        ('feature,cost\n"a"b,1\n', "line 2: not a valid CSV file"),
        ('feature,cost\n"a\nb",1\nc,x\n', "line 4: the cost of feature 'c'"),
    ],
)
def test_mistakes_in_csv_are_reported_with_their_line(tmp_path, text, words):
    assert words in refusal(tmp_path / "costs.csv", text)


def test_binary_files_are_no_costs(tmp_path):
    for suffix in FORMATS:
        assert "UTF-8" in refusal(tmp_path / f"costs{suffix}", b"\xff\xfe\x00\x81")


# -- JSON and TOML -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: not valid JSON"),
        ('{"features": {\n"a": 1,\n}}', "not valid JSON"),
        ("[1, 2]", "a table with the entry 'features'"),
        ("{}", "need an entry 'features'"),
        ('{"features": null}', "feature 0 must be a number, not None"),
        ('{"features": "a"}', "not a list of costs"),
        ('{"features": {"a": 1, "b": 2, "a": 3}}', "entry 'a' appears twice"),
        ('{"features": {"a": true}}', "feature 'a' must be a number, not True"),
        ('{"features": {"a": "1"}}', "feature 'a' must be a number, not '1'"),
        ('{"features": {"a": null}}', "feature 'a' must be a number, not None"),
        ('{"features": {"a": {}}}', "feature 'a' must be a number"),
        ('{"features": {"a": NaN}}', "feature 'a' is missing"),
        ('{"features": {"a": -Infinity}}', "feature 'a' is negative"),
        ('{"features": {"a": 1e400}}', "feature 'a' is infinite"),
        ('{"features": {"a": 1' + "0" * 400 + "}}", "feature 'a' is infinite"),
        ('{"features": [1, true]}', "feature 1 must be a number, not True"),
        ('{"features": [[1], [2, 3]]}', "feature 0 must be a number"),
        ('{"features": [1], "groups": []}', "groups are given as"),
        ('{"features": [1], "groups": {"g": [0]}}', "group 'g' must be"),
        ('{"features": [1], "groups": {"g": {"features": [0], "setup": "2"}}}', "group 'g' must be a number"),
        ('{"features": {"chol": 1}, "groups": {"g": {"features": ["chl"]}}}', "did you mean 'chol'?"),
        ('{"features": [1], "unit": 5}', "the unit must be one line of text, not 5"),
        ('{"features": [1], "evaluation": "x"}', "evaluation must be a number"),
        ('{"features": [1], "units": "s"}', "unknown entry 'units' in costs; did you mean 'unit'?"),
    ],
)
def test_mistakes_in_json_are_named(tmp_path, text, words):
    assert words in refusal(tmp_path / "costs.json", text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "need an entry 'features'"),
        ("features = ", "not valid TOML"),
        ("[features]\na = 1\na = 2\n", "line 3, column 6): a = 2"),
        ("[features]\na = true\n", "feature 'a' must be a number, not True"),
        ('[features]\na = "1"\n', "feature 'a' must be a number, not '1'"),
        ("[features]\na = nan\n", "feature 'a' is missing"),
        ("[features]\na = -inf\n", "feature 'a' is negative"),
        ("[features]\na = 1979-05-27\n", "feature 'a' must be a number"),
        ("features = [1, [2]]\n", "feature 1 must be a number"),
        ("features = [1]\ngroups = 5\n", "groups are given as"),
        ("[features]\na = 1\n[groups.g]\nfeatures = 'a'\n", "group 'g' must list its features"),
        ("[feature]\na = 1\n", "unknown entry 'feature' in costs; did you mean 'features'?"),
    ],
)
def test_mistakes_in_toml_are_named(tmp_path, text, words):
    assert words in refusal(tmp_path / "costs.toml", text)
