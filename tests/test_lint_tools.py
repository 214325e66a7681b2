"""The tools of `make lint` find what they are there to find."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests import docstrings, sizes, words
from tests.docstrings import Public, problems_of, public_objects
from tests.rooms import Finding, report


def sound(rows, weight=1.0):
    """Sum of weights.

    Parameters
    ----------
    rows : list
        Rows to count.
    weight : float, default=1.0
        Weight of each row.

    Returns
    -------
    float
        The sum.
    """
    return len(rows) * weight


def joined():
    """Sum of weights.

    Notes ----- The underline belongs on the next line.
    """


def unsound(rows, weight):
    """Sum of weights

    Parameters
    ----------
    weights : float
    """
    return len(rows) * weight


@dataclass
class Result:
    """A result of a search.

    Attributes
    ----------
    cost : float
        Mean cost of a row.
    """

    cost: float


class Estimator:
    """An estimator.

    Parameters
    ----------
    step : float
        Size of a step.

    Attributes
    ----------
    trees_ : list
        Fitted trees.
    """

    def __init__(self, step):
        self.step = step

    def fit(self, X, y):
        self.trees_ = []
        self.order_: list[int] = []
        return self


@pytest.fixture
def codes(monkeypatch):
    pytest.importorskip("numpydoc")
    monkeypatch.setattr(docstrings, "PROJECT", __name__.split(".")[0])
    return lambda thing, **options: {
        problem.code for problem in problems_of(Public(__name__, "name", thing, **options))
    }


def test_a_complete_docstring_has_no_problems(codes):
    assert codes(sound) == set()
    assert codes(sound, top_level=True) == {"EX01"}


def test_missing_unknown_and_undescribed_parameters_are_found(codes):
    assert codes(unsound) == {"SS03", "PR01", "PR02", "PR07", "RT01"}


def test_fields_of_a_dataclass_may_be_documented_as_attributes(codes):
    assert codes(Result) == set()


def test_attributes_that_fit_sets_must_be_documented(codes):
    found = codes(Estimator)
    assert found == {"ES01", "EX01", "AT01"}
    texts = [text for _, text in docstrings._undocumented_attributes(Estimator)]
    assert texts == ["Attributes order_ not documented"]


def test_public_objects_include_inherited_methods_once():
    names = [f"{public.module}.{public.name}" for public in public_objects()]
    assert len(names) == len(set(names))
    assert any(name.endswith(".Costs") for name in names)
    assert any(name.endswith(".PlanEstimator.run") for name in names)
    rooms = {public.room for public in public_objects()}
    assert {".", "costs", "plan", "learners.boosting", "selection"} <= rooms


def test_words_are_found_in_names_and_sentences(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    path = tmp_path / "example.py"
    path.write_text("# rows aside judge it\nclass JudgedRow: ...\nbenchmark = dialog  # make bench\n")
    found = [(use.line, use.word) for use in words.uses_in(path)]
    assert found == [(1, "aside"), (1, "judge"), (2, "judged")]


def test_long_modules_long_functions_and_repeated_class_names_are_found(tmp_path):
    (tmp_path / "plan").mkdir()
    body = "".join(f"    x = {i}\n" for i in range(sizes.FUNCTION_LINES))
    code = f'def long():\n    """Docstring."""\n{body}class Twice: ...\n'
    (tmp_path / "plan" / "long.py").write_text(code)
    (tmp_path / "other.py").write_text("class Twice: ...\n" + "\n" * sizes.MODULE_LINES)
    assert {(finding.room, finding.text.split(":")[-1].strip()) for finding in sizes.findings(tmp_path)} == {
        ("plan", "long has 61 lines without its docstring"),
        (".", "401 lines"),
        ("plan", "class Twice is in other.py, plan/long.py"),
        (".", "class Twice is in other.py, plan/long.py"),
    }


def test_a_section_that_is_lost_in_its_paragraph_is_found():
    assert [one.code for one in problems_of(Public(__name__, "joined", joined))] == ["ST01"]


@pytest.mark.parametrize("tool", [docstrings, sizes, words])
def test_unfinished_rooms_exist(tool):
    there = {room for room, _ in words.files()}
    assert set(tool.UNFINISHED) <= there


def test_findings_of_unfinished_rooms_are_no_errors_until_they_are_asked_for(capsys):
    found = [Finding("plan.store", "too long")]
    assert report(found, ["plan", "costs"], []) == 0
    assert capsys.readouterr().out.splitlines() == [
        "not finished yet: plan, costs",
        "costs has no findings: remove it from UNFINISHED",
    ]
    assert (
        report(found, ["plan"], ["plan"]) == report(found, ["plan"], ["--all"]) == report(found, [], []) == 1
    )
    assert report(found, [], ["costs"]) == 0
