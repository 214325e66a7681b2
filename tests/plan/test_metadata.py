"""Words for people in a plan: from its costs, from `with_metadata`, and without any effect on answers."""

from __future__ import annotations

import pytest

from miserly import Costs, GreedyMiserClassifier, PlanError
from miserly.datasets import load_heart
from miserly.plan import Node, Plan, Raw
from miserly.plan.facts import FeatureFacts, feature_facts
from miserly.plan.metadata import class_names
from miserly.plan.store.format import dumps, loads

from ..runtime.plans import heart

WORDS = {
    "age": {"label": "Age", "unit": "years", "help": "at the visit"},
    "pain": {"label": "Pain", "choices": {"typical": "like pressure"}},
    "fbs": {"choices": {"0": "no", 1: "yes"}},
}


def test_words_change_neither_answers_nor_digest_nor_guarantees():
    plan = heart().with_guarantees(["no row costs more than 13"])
    named = plan.with_metadata(WORDS, title="Heart", classes={"ill": "disease"})
    assert named.digest == plan.digest and named.guarantees == plan.guarantees
    again = loads(dumps(named))
    assert again.info == named.info and again.info["title"] == "Heart"
    assert class_names(again) == {"well": "well", "ill": "disease"}
    assert feature_facts(again, 0).label == "Age" and feature_facts(again, 0).help == "at the visit"


def test_choices_are_values_of_the_plan():
    plan = heart().with_metadata(WORDS)
    assert feature_facts(plan, 1).choices == (("none", "none"), ("typical", "like pressure"))
    assert feature_facts(plan, 3).choices == ((0.0, "no"), (1.0, "yes"))
    assert feature_facts(plan, 3).examples == (0.0, 1.0)
    yes = Plan(costs=Costs({"x": 1.0}), terms=[Raw(0)], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0],
               categories={0: (False, True)})  # fmt: skip
    yes = yes.with_metadata({"x": {"choices": {"no": "off", "yes": "on"}}})
    assert feature_facts(yes, 0).choices == ((False, "off"), (True, "on"))


def test_later_words_replace_earlier_ones_and_keep_the_rest():
    plan = heart(info={"features": {"age": {"low": 29, "high": 77}}}).with_metadata(WORDS, title="Heart")
    plan = plan.with_metadata({"age": {"unit": "", "label": "Age in years"}}, title="")
    assert plan.info["features"]["age"] == {
        "low": 29, "high": 77, "label": "Age in years", "help": "at the visit"}  # fmt: skip
    assert "title" not in plan.info


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"features": {"aeg": {}}}, "no feature 'aeg'; did you mean 'age'?"),
        ({"features": {"age": {"lable": "x"}}}, "unknown entry 'lable'; did you mean 'label'?"),
        ({"features": {"pain": {"choices": {"tipical": "x"}}}}, "'tipical' is not one of its categories"),
        ({"features": {"age": {"choices": {"old": "x"}}}}, "feature 'age': the choice 'old' is not a number"),
        ({"features": ["age"]}, "the words of features are given as"),
        ({"classes": {"sick": "x"}}, "the plan has no class 'sick'"),
        ({"classes": {"ill": 5}}, "the name of class 'ill' must be text, not 5"),
        ({"title": 5}, "the title must be text, not 5"),
    ],
)  # fmt: skip
def test_words_that_fit_nothing_are_refused(given, words):
    with pytest.raises(PlanError) as caught:
        heart().with_metadata(**given)
    assert words in str(caught.value)


def test_words_of_the_costs_are_in_the_fitted_plan():
    data = load_heart()
    plan = GreedyMiserClassifier(costs=data.costs, n_rounds=2, max_depth=1).fit(data.frame(), data.y).plan_
    bare = Costs.from_dict(data.costs.to_dict())
    assert plan.digest == plan.replace(costs=bare, info={}).digest
    facts = feature_facts(loads(dumps(plan)), 2)
    assert facts.label == "Chest pain" and facts.choices[3] == (4.0, "no pain")
    assert plan.replace(info={**plan.info, "features": {}}).info["features"] == {}


def test_files_of_earlier_versions_have_their_label_under_about():
    facts = feature_facts(heart(info={"features": {"age": {"about": "age at the visit"}}}), 0)
    assert facts.label == facts.about == "age at the visit"


@pytest.mark.parametrize("note", [5, {"choices": 5}, {"choices": {"old": "x"}}, {"label": 5, "help": []}])
def test_notes_that_make_no_sense_are_left_out(note):
    facts = feature_facts(heart(info={"features": {"age": note}}), 0)
    assert (facts.label, facts.help, facts.choices) == ("", "", ())
    assert class_names(heart(info={"class_names": note})) == {"well": "well", "ill": "ill"}
    assert FeatureFacts().label_of(1) == ""
