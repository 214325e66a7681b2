"""Gates: one class each. A gate that is written here, and nowhere else, does all that a gate does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from miserly import Costs
from miserly.errors import PlanError, PlanFormatError
from miserly.plan import Node, Plan, Raw, Threshold
from miserly.plan.engine.compiled_rules import GATE_RULES
from miserly.plan.gates import GATES, Gate, ListwiseGate, register
from miserly.plan.show.phrases import number
from miserly.plan.show.wording import Wording
from miserly.plan.store.format import dumps, loads

ROWS = np.array([[0.2, 1.0], [-0.9, 1.0], [3.0, 1.0], [-7.0, 1.0], [np.nan, 1.0]])
NAMES = ["age", "chol"]


@dataclass(frozen=True)
class Doubt(Gate):
    """Up where the score in `channel` is no further than `width` from zero."""

    kind: ClassVar[str] = "doubt"
    code: ClassVar[int] = 77
    real_field: ClassVar[str | None] = "width"
    whole_field: ClassVar[str | None] = "channel"
    width: float = 1.0
    channel: int = 0

    def check(self):
        if not self.width > 0:
            raise PlanError(f"a doubt gate needs a width above 0, not {self.width}")

    def problem_in(self, n_scores, link):
        return "a doubt gate where nothing is scored" if self.channel >= n_scores else None

    def values(self, scores, link, n_outputs):
        return np.abs(scores[:, self.channel])

    def sends_up(self, values):
        return values <= self.width

    def up_words(self, words):
        return f"{words.score(self.channel)} is within {number(self.width)} of zero"

    def low_words(self, words):
        return f"{words.score(self.channel)} is further than {number(self.width)} from zero"

    def question(self, words):
        return f"within {number(self.width)}?"

    @property
    def low_label(self):
        return "far"


@dataclass(frozen=True)
class Half(ListwiseGate):
    """Up for the better half of each query."""

    kind: ClassVar[str] = "half"
    code: ClassVar[int] = 78

    def check(self):
        pass

    def n_kept(self, n_query):
        return -(-n_query // 2)

    def up_words(self, words):
        return "it is in the better half"

    def low_words(self, words):
        return "it is in the worse half"

    def question(self, words):
        return "better half?"


@pytest.fixture(autouse=True)
def new_gates():
    known = dict(GATES)
    register(Doubt)
    register(Half)
    yield
    GATES.clear()
    GATES.update(known)


def chain(gate):
    nodes = [Node([0], [0], [1.0], [0.0], gate=gate, up=1), Node([1], [0], [10.0], [0.0])]
    terms = [Raw(0, fill=9.0), Raw(1)]
    return Plan(costs=Costs({"age": 1.0, "chol": 5.0}), terms=terms, nodes=nodes, base=[0.0])


def fork(gate):
    leaves = [Node([], [], [], [100.0]), Node([], [], [], [200.0])]
    first = Node([0], [0], [1.0], [0.0], gate=gate, up=1, low=2)
    return chain(gate).replace(nodes=[first, *leaves], terms=[Raw(0, fill=9.0)])


def values(row, need):
    return {name: row[NAMES.index(name)] for name in need}


def test_a_new_gate_runs():
    run = chain(Doubt(1.0)).run(ROWS)
    assert run.scores.tolist() == [10.2, 9.1, 3.0, -7.0, 9.0]
    assert run.cost.tolist() == [6.0, 6.0, 1.0, 1.0, 1.0]
    assert fork(Doubt(1.0)).run(ROWS).exit.tolist() == [1, 1, 2, 2, 2]


def test_a_new_list_wise_gate_runs():
    run = chain(Half()).run(ROWS, qid=[0, 0, 0, 0, 1])
    assert run.exit.tolist() == [1, 0, 1, 0, 1]
    query = chain(Half()).start_query(4)
    while needs := query.next():
        query.tell({i: values(ROWS[i], need) for i, need in needs.items()})
    assert [float(answer.scores) for answer in query.answer()] == run.scores[:4].tolist()


def test_compiled_code_refuses_a_gate_without_a_rule():
    refusal = "compiled code has no rule for gates of kind doubt; run with compiled=False"
    with pytest.raises(PlanError, match=refusal):
        chain(Doubt(1.0)).run(ROWS, compiled=True)


def test_a_new_gate_is_stepped_through():
    for row, cost in zip(ROWS, [6.0, 6.0, 1.0, 1.0, 1.0], strict=True):
        trail = chain(Doubt(1.0)).start()
        while need := trail.next():
            trail.tell(values(row, need))
        assert trail.cost == cost


def test_a_new_gate_is_saved_and_loaded():
    plan = chain(Doubt(0.25))
    again = loads(dumps(plan))
    assert again.nodes[0].gate == Doubt(0.25) and again.digest == plan.digest
    assert plan.digest != chain(Doubt(0.5)).digest
    data = dumps(chain(Half()))
    assert loads(data).nodes[0].gate == Half()
    del GATES["half"]
    with pytest.raises(PlanFormatError, match="'node_gate' holds a kind that is not among onward"):
        loads(data)


def test_a_new_gate_is_described_and_drawn():
    assert "after step 1, if the score is further than 0.25 from zero" in chain(Doubt(0.25)).describe()
    assert "if the score is within 0.25 of zero:" in fork(Doubt(0.25)).describe()
    svg = fork(Doubt(0.25)).draw().svg
    assert "within 0.25?" in svg and ">far<" in svg and ">yes<" in svg
    leaves = "leaves after step 1, if the score is further than 0.25 from zero"
    assert leaves in chain(Doubt(0.25)).draw().svg


def test_a_new_gate_is_checked():
    with pytest.raises(PlanError, match="width above 0"):
        chain(Doubt(-1.0))
    with pytest.raises(PlanError, match="node 0 has a doubt gate where nothing is scored"):
        chain(Doubt(1.0, channel=3))


def test_gates_have_codes_of_their_own():
    with pytest.raises(PlanError, match="exists: Doubt"):
        register(Doubt)
    assert [gate.code for gate in GATE_RULES] == list(range(len(GATE_RULES)))


def test_a_gate_is_a_gate():
    with pytest.raises(PlanError, match="must be a Gate, not str"):
        Node([], [], [], [0.0], gate="threshold")


@pytest.mark.parametrize("gate", [Threshold(0.5, 2), *(kind() for kind in GATES.values())], ids=str)
def test_numbers_come_back_as_the_gate_they_were(gate):
    assert type(gate).from_numbers(*gate.numbers()) == gate


def test_every_gate_has_words():
    words = Wording(chain(Doubt(1.0)))
    for kind in GATES.values():
        gate = kind()
        texts = [gate.up_words(words), gate.low_words(words), gate.question(words)]
        assert all(texts) and texts[0] != texts[1] and gate.up_label != gate.low_label


@pytest.mark.parametrize("gate", [Threshold(np.nan), Threshold(0.5, channel=-1)], ids=str)
def test_a_threshold_needs_a_number_and_a_channel(gate):
    with pytest.raises(PlanError, match="needs a number and a channel"):
        Node([], [], [], [0.0], gate=gate)


@pytest.mark.parametrize("gate", [Threshold(0.5, 1), *(kind() for kind in GATES.values())], ids=str)
def test_a_gate_lets_the_same_rows_leave_when_scores_are_shifted_or_refuses(gate):
    scores, offset = np.array([[0.0, 1.0], [2.0, 0.25], [-3.0, 0.5]]), np.array([8.0, -4.0])
    scale = np.array([0.5, 4.0])
    if gate.kind in ("confidence", "settled"):
        with pytest.raises(PlanError, match=f"a {gate.kind} gate cannot be shifted"):
            gate.shifted(offset, scale)
    elif gate.needs_rest:
        assert gate.shifted(offset, scale) == gate
    else:
        before = gate.goes_up(scores, "identity", 2)
        moved = gate.shifted(offset, scale)
        assert moved.goes_up(scale * scores + offset, "identity", 2).tolist() == before.tolist()
