"""The frame of `adopt`: models that are read already, their plans and estimators."""

import pickle

import pytest
from sklearn.base import clone

import miserly
from miserly import CostError, Costs, DataError, adopt
from miserly.learners.wrap.adopt import Addend, AdoptedModel, Origin, Reader, register, registry
from miserly.plan.terms import Raw


def line(**changes):
    """2 * age + 10 * chol + 1, in two steps."""
    parts = {
        "task": "numbers",
        "terms": [Raw(0), Raw(1)],
        "steps": [[Addend(0, weight=2.0)], [Addend(1, weight=10.0)]],
        "base": [1.0],
        "n_features": 2,
    }
    return AdoptedModel(**{**parts, **changes})


def test_each_step_is_a_node_of_a_chain():
    model = adopt(line(), costs=[1.0, 5.0])
    run = model.run([[3.0, 4.0]])
    assert run.scores.tolist() == [47.0] and run.cost.tolist() == [6.0]
    assert [stage.scores[0, 0] for stage in model.staged_run([[3.0, 4.0]])] == [7.0, 47.0]
    assert model.predict([[3.0, 4.0]], budget=2.0).tolist() == [7.0]


def test_names_classes_and_costs_are_those_given():
    model = adopt(line(task="classes", link="logistic"), {"a": 1, "b": 2}, ["a", "b"], classes=["no", "yes"])
    assert model.feature_names_in_.tolist() == ["a", "b"] and model.cost_ == 3.0
    assert model.plan_.predict([[1.0, -1.0], [1.0, 1.0]]).tolist() == ["no", "yes"]
    assert model.plan_.costs == Costs({"a": 1, "b": 2})


def test_evaluations_cost_what_costs_say():
    model = adopt(line(), costs=Costs([1.0, 5.0], evaluation=0.5))
    assert model.run([[3.0, 4.0]]).cost.tolist() == [7.0]


def test_estimators_are_fitted_and_stay_so():
    model = adopt(line(), costs=[1.0, 5.0], n_jobs=1)
    for copy in (clone(model), pickle.loads(pickle.dumps(model)), clone(model).fit([[1.0]], [2.0])):
        assert copy.plan_.digest == model.plan_.digest and copy.get_params()["n_jobs"] == 1
    assert clone(model).set_params(costs=[2.0, 2.0]).cost_ == 4.0


def test_the_task_chooses_the_estimator():
    kinds = {
        "numbers": miserly.AdoptedRegressor,
        "ranking": miserly.AdoptedRanker,
        "classes": miserly.AdoptedClassifier,
    }
    for task, kind in kinds.items():
        link = "logistic" if task == "classes" else "identity"
        assert type(adopt(line(task=task, link=link))) is kind
    with pytest.raises(DataError, match="needs an AdoptedModel of classes"):
        miserly.AdoptedClassifier(line())


def test_the_plan_says_where_it_came_from():
    info = adopt(line(origin=Origin("lib", "1.2", "l2"))).plan_.info
    assert (info["library"], info["version"], info["objective"]) == ("lib", "1.2", "l2")


def test_a_model_without_steps_answers_its_base():
    model = adopt(line(terms=[], steps=[]))
    assert model.predict([[1.0, 2.0]]).tolist() == [1.0] and model.cost_ == 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feature_names": ["a"]}, "2 columns; 1 names"),
        ({"feature_names": ["a", "a"]}, "two columns are named 'a'"),
        ({"feature_names": "ab"}, "must be a list of names"),
        ({"classes": [0, 1]}, "answers with numbers"),
        ({"categories": {"age": ["x"]}}, "no column 'age'"),
        ({"iterations": 0}, "select no round"),
        ({"iterations": (3, 2)}, "select no round"),
        ({"iterations": "all"}, "iterations must be a number"),
        ({"iterations": (0, 1, 2)}, "iterations must be a number"),
        ({"iterations": True}, "iterations must be a number"),
    ],
)
def test_wrong_arguments_are_refused(given, message):
    with pytest.raises(DataError, match=message):
        adopt(line(), **given)


def test_costs_must_match_the_columns():
    with pytest.raises(CostError):
        adopt(line(), costs=[1.0])


@pytest.mark.parametrize("link", ["logistic", "softmax"])
def test_a_link_must_suit_the_task(link):
    with pytest.raises(DataError, match="does not suit"):
        line(link=link)


def test_what_no_reader_accepts_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"cannot read a builtins list; it reads"):
        adopt([1, 2])
    strange = tmp_path / "model.bin"
    strange.write_bytes(b"\x00\x01\x02")
    with pytest.raises(DataError, match=r"cannot read the file .*model.bin"):
        adopt(strange)
    plan = tmp_path / "plan.miser"
    adopt(line()).plan_.save(plan)
    for path, message in (
        (tmp_path / "none.txt", "the model file .* does not exist"),
        (tmp_path, "is no regular file"),
        ("a\0b", "model file"),
        ("tree\nversion=v4\n" * 10_000, "takes the path of a model file, not the text in it"),
        (plan, "plan.miser' is a plan of miserly: read it with miserly.load"),
    ):
        with pytest.raises(DataError, match=message) as caught:
            adopt(path)
        assert len(str(caught.value)) < 300


def test_classes_that_are_given_must_differ():
    two = AdoptedModel("classes", [Raw(0)], [[Addend(0)]], [0.0], n_features=1, link="logistic")
    assert adopt(two, classes=["no", "yes"]).classes_.tolist() == ["no", "yes"]
    with pytest.raises(DataError, match=r"classes must differ, got \['a', 'a'\]"):
        adopt(two, classes=["a", "a"])


def test_readers_can_be_added(monkeypatch):
    monkeypatch.setattr(registry, "_READERS", list(registry._READERS))

    @register
    class Words(Reader):
        reads = "the word line"

        @staticmethod
        def accepts(source):
            return source == ("line",)

        @staticmethod
        def read(source, *, iterations=None):
            return line()

    assert adopt(("line",)).predict([[0.0, 0.0]]).tolist() == [1.0]
