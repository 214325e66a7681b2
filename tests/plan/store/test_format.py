"""A plan comes back from its file as it went in; whatever is wrong with a file is a PlanFormatError."""

from __future__ import annotations

import dataclasses
import io
import os
import stat
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import miserly
from miserly.costs import Costs
from miserly.errors import PlanError, PlanFormatError
from miserly.plan import MixtureAcquisition, Node, Plan, Rank, Threshold, Tree
from miserly.plan.gates import GATES
from miserly.plan.store.format import dumps, load, load_file, loads, save
from miserly.plan.store.packing import SCHEMAS
from miserly.plan.terms import KERNELS, TERMS

from ..mutations import assemble, signed, take_apart
from ..sample_plans import SAMPLES, chain, empty, heart, random_tree, stump, three_classes, two_steps


def with_header(plan, change):
    header, payload = take_apart(dumps(plan))
    change(header)
    return assemble(header, payload)


def with_array(plan, name, position, value):
    """The file of a plan with one number of one array overwritten."""
    header, payload = take_apart(dumps(plan))
    dtype = np.dtype(SCHEMAS[1][name][0])
    at = header["arrays"][name]["offset"] + position * dtype.itemsize
    return assemble(header, payload[:at] + dtype.type(value).tobytes() + payload[at + dtype.itemsize :])


def refused(data, match):
    with pytest.raises(PlanFormatError, match=match):
        loads(data)


def same(a, b):
    """Equal values of equal types, through tuples, arrays and terms."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(
            same(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__
        )
    return type(a) is type(b) and a == b


# -- coming back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_everything_comes_back(name):
    plan = SAMPLES[name]()
    back = loads(dumps(plan))
    for part in ("costs", "terms", "nodes", "base", "link", "n_outputs", "classes", "categories", "info"):
        assert same(getattr(plan, part), getattr(back, part)), part


@pytest.mark.parametrize("name", SAMPLES)
def test_saving_what_was_loaded_gives_the_same_bytes(name):
    data = dumps(SAMPLES[name]())
    assert dumps(loads(data)) == data


def test_files_file_objects_and_bytes(tmp_path):
    plan = heart()
    path = tmp_path / "heart.miser"
    plan.save(path)
    buffer = io.BytesIO()
    save(plan, buffer)
    assert path.read_bytes() == buffer.getvalue() == dumps(plan)
    assert dumps(miserly.load(str(path))) == dumps(plan)
    assert dumps(load(io.BytesIO(path.read_bytes()))) == dumps(plan)
    assert dumps(load(path.read_bytes())) == dumps(plan)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([-3, 7], dtype=np.int8),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([0.1, 2.5]),
        np.array([0.1, 2.5], dtype=np.float32),
        np.array([False, True]),
        np.array(["no", "søylehøyde"]),
    ],
    ids=lambda labels: labels.dtype.name,
)
def test_classes_keep_their_type(labels):
    back = loads(dumps(two_steps().replace(classes=labels))).classes
    assert back.dtype == labels.dtype
    assert back.tolist() == labels.tolist()


def test_classes_of_python_strings_become_text():
    back = loads(dumps(two_steps().replace(classes=np.array(["no", "yes"], dtype=object)))).classes
    assert back.dtype.kind == "U"
    assert back.tolist() == ["no", "yes"]


def test_infinite_thresholds_come_back():
    tree = Tree([0, -1, -1], [np.inf, 0, 0], [1, 0, 0], [2, 0, 0], [False] * 3, [0, 1, 2])
    plan = chain([tree, tree], {0: Threshold(-np.inf)}, costs=Costs([1.0]))
    back = loads(dumps(plan))
    assert back.terms[0].threshold[0] == np.inf
    assert back.nodes[0].gate == Threshold(-np.inf)


def test_three_thousand_trees_are_saved_and_loaded_within_a_second(tmp_path):
    rng = np.random.default_rng(0)
    plan = chain([random_tree(rng, np.arange(100), 4) for _ in range(3000)], costs=Costs(np.ones(100)))
    seconds = []
    for _ in range(2):  # the better of two: the machine may be busy
        start = time.process_time()
        save(plan, tmp_path / "big.miser")
        back = load(tmp_path / "big.miser")
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1.0
    assert len(back.terms) == 3000


def test_the_numbers_of_a_file_have_a_meaning_for_every_kind_there_is():
    assert KERNELS == ("linear", "rbf", "poly", "sigmoid")
    assert {term.code: kind for kind, term in TERMS.items()} == {0: "raw", 1: "tree", 2: "kernel"}
    kinds = ["onward", "threshold", "confidence", "proximity", "rank", "capacity", "settled", "settled top"]
    assert {gate.code: kind for kind, gate in GATES.items()} == dict(enumerate(kinds))
    for gate in GATES.values():
        packed = {name for name in (gate.real_field, gate.whole_field) if name}
        assert packed == {field.name for field in dataclasses.fields(gate)}


def test_files_of_the_first_version_are_read_for_ever():
    data = (Path(__file__).parent / "golden" / "version1.miser").read_bytes()
    assert dumps(three_classes()) == data
    assert dumps(loads(data)) == data


def test_a_plan_with_a_budget_is_of_the_version_that_knows_budgets():
    """An older miserly must refuse the file: it would run the plan and not keep to the budget."""
    for name, maker in SAMPLES.items():
        plan = maker().replace(budget=2.5)
        data = dumps(plan)
        assert struct.unpack("<Q", data[8:16]) == (3,), name
        back = loads(data)
        assert back.budget == 2.5 and dumps(back) == data
        assert same(plan.nodes, back.nodes) and same(plan.base, back.base)


@pytest.mark.parametrize("budget", [None, "much", -1.0, True, 1e300])
def test_a_budget_in_a_file_is_a_cost(budget):
    header, payload = take_apart(dumps(two_steps().replace(budget=2.5)))
    header["budget"] = budget
    refused(assemble(header, payload, version=3), "a cost in the file|budget")


def test_single_precision_and_large_sets_of_categories_are_of_the_fifth_version():
    plan = chain([stump(0, 0.5, 1.0, 2.0), stump(0, 1.5, 1.0, 2.0)], costs=Costs([1.0]))
    rounded = plan.replace(nodes=[dataclasses.replace(plan.nodes[0], single=True), *plan.nodes[1:]])
    sets = np.zeros((1, 16), np.uint32)
    sets[0, 9] = 1 << 12  # code 300
    wide = Tree([0, -1, -1], [0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 0, 0], [0, 1.0, 2.0], [0, -1, -1], sets)
    larger = plan.replace(terms=[wide, *plan.terms[1:]], budget=3.0)
    for one in (rounded, larger):
        data = dumps(one)
        assert take_apart(data)[0].keys() >= {"budget", "decision"} and data[8] == 5
        found = loads(data)
        assert found.digest == one.digest != plan.digest and dumps(found) == data
    assert loads(dumps(rounded)).nodes[0].single and loads(dumps(larger)).budget == 3.0
    assert [loads(dumps(larger)).terms[0].evaluate_one({0: code}) for code in (300.0, 12.0, 600.0)] == [
        1,
        2,
        2,
    ]
    header, payload = take_apart(dumps(larger))
    at = header["arrays"]["tree_span"]["offset"]
    for span in (0, 3, 257):
        spoilt = payload[:at] + np.int32(span).tobytes() + payload[at + 4 :]
        refused(assemble(header, spoilt, version=5), "tree_span|whole sets")


def test_a_budget_belongs_to_the_third_version():
    header, payload = take_apart(dumps(two_steps().replace(budget=2.5)))
    refused(assemble(header, payload, version=2), "and nothing else")
    del header["budget"]
    refused(assemble(header, payload, version=3), "and nothing else")


# -- saving ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({"model": {1, 2}}, r"info\['model'\] is a set"),
        ({"a": [1, {"b": np.int64(3)}]}, r"info\['a'\]\[1\]\['b'\] is a int64"),
        ({"a": float("nan")}, r"info\['a'\] is nan"),
        ({3: "x"}, "info has the key 3, but keys must be text"),
        ({"a": "\ud800"}, "not valid Unicode"),
        ({"a": 10**5000}, "too many digits"),
    ],
)
def test_info_that_json_cannot_hold_is_named(info, message):
    with pytest.raises(PlanError, match=message):
        dumps(empty().replace(info=info))


def test_info_that_contains_itself_is_refused():
    info = {}
    info["again"] = info
    with pytest.raises(PlanError, match="nested more than 64"):
        dumps(empty().replace(info=info))


@pytest.mark.parametrize(
    "labels",
    [np.array([1, "a"], dtype=object), np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), [1j, 2j]],
)
def test_classes_that_are_neither_text_nor_numbers_are_refused(labels):
    with pytest.raises(PlanError, match="cannot be saved: they must be text"):
        dumps(two_steps().replace(classes=labels))


def test_categories_of_other_types_are_refused():
    with pytest.raises(PlanError, match=r"column 0 has the category \(1, 2\)"):
        dumps(empty().replace(categories={0: [(1, 2)]}))


def test_categories_may_be_numpy_numbers():
    plan = empty().replace(categories={0: [np.int64(3), np.float64(0.5), np.str_("a"), np.bool_(True)]})
    assert same(loads(dumps(plan)).categories[0], (3, 0.5, "a", True))  # and come back as plain ones


@pytest.mark.parametrize("k", [2.5, 2**64, np.inf])
def test_gates_that_count_in_fractions_are_refused(k):
    nodes = [Node([], [], [], [0.0], gate=Rank(k))]
    with pytest.raises(PlanError, match="needs a whole number"):
        dumps(empty().replace(nodes=nodes))


def test_saving_over_a_file_replaces_it_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "plan.miser"
    save(heart(), path)
    before = path.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        save(empty(), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["plan.miser"]


def test_a_plan_that_cannot_be_saved_leaves_no_file(tmp_path):
    with pytest.raises(PlanError):
        save(empty().replace(info={"a": object()}), tmp_path / "plan.miser")
    assert os.listdir(tmp_path) == []


def test_a_saved_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "other").write_bytes(b"")
    save(empty(), tmp_path / "plan.miser")
    assert stat.S_IMODE(os.stat(tmp_path / "plan.miser").st_mode) == stat.S_IMODE(
        os.stat(tmp_path / "other").st_mode
    )


def fifo(path):
    os.mkfifo(path)


def device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # as /dev/null
    except PermissionError:
        pytest.skip("devices are made by root alone")


def link(path):
    (path.parent / "one.miser").write_bytes(b"the file behind the link")
    path.symlink_to("one.miser")


def dangling(path):
    path.symlink_to("nowhere")


def link_to_a_folder(path):
    (path.parent / "folder").mkdir()
    path.symlink_to("folder")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs and links")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (fifo, "a named pipe"),
        (device, "a device"),
        (link, "a link to one.miser"),
        (dangling, "a link to nowhere"),
        (link_to_a_folder, "a link to folder"),
        (os.mkdir, "a folder"),
    ],
)
def test_only_a_regular_file_is_replaced(tmp_path, make, words):
    path = tmp_path / "plan.miser"
    make(path)
    before = os.lstat(path), sorted(os.listdir(tmp_path))
    with pytest.raises(PlanError, match=words):
        save(heart(), path)
    after = os.lstat(path), sorted(os.listdir(tmp_path))
    assert (before[0].st_mode, before[0].st_ino, before[1]) == (after[0].st_mode, after[0].st_ino, after[1])
    if make is link:
        assert (tmp_path / "one.miser").read_bytes() == b"the file behind the link"


def test_a_plan_may_be_saved_in_a_folder_behind_a_link(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "current").symlink_to("models")
    save(empty(), tmp_path / "current" / "one.miser")
    assert load(tmp_path / "models" / "one.miser").n_features == 1


def test_a_plan_is_loaded_through_a_link_but_not_from_a_pipe(tmp_path):
    save(empty(), tmp_path / "one.miser")
    (tmp_path / "current").symlink_to("one.miser")
    assert load(tmp_path / "current").n_features == 1
    with pytest.raises(PlanFormatError, match="this is a link"):
        load_file(tmp_path / "current", follow_links=False)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlanFormatError, match="not a regular file"):
        load(tmp_path / "pipe")


# -- loading what is not a plan ----------------------------------------------------------------------------


def test_a_missing_file_is_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.miser")


def test_a_directory_is_a_clear_error(tmp_path):
    with pytest.raises(PlanFormatError, match="this is a directory"):
        load(tmp_path)


def test_a_device_is_not_read_for_ever():
    with pytest.raises(PlanFormatError, match="not a regular file"):
        load("/dev/zero")


def test_errors_name_the_file(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(PlanFormatError, match=r"notes\.txt: this is not a saved plan"):
        load(tmp_path / "notes.txt")


def test_text_is_not_a_plan():
    with pytest.raises(PlanFormatError, match="binary mode"):
        load(io.StringIO("hello"))
    with pytest.raises(PlanFormatError, match="is bytes, not int"):
        loads(10**12)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04" + b"\0" * 100, b"\x80\x04." + b"\0" * 100])
def test_other_files_are_not_plans(data):
    refused(data, "not a saved plan")


def test_every_truncation_is_noticed(tmp_path):
    data = dumps(two_steps())
    path = tmp_path / "cut.miser"
    for length in range(len(data)):
        with pytest.raises(PlanFormatError, match=r"truncated|not a saved plan"):
            loads(data[:length])
    path.write_bytes(data[:-1])
    with pytest.raises(PlanFormatError, match=f"truncated: {len(data) - 1} bytes where {len(data)}"):
        load(path)
    refused(data + b"\0", "followed by bytes that are not its own")


def test_every_flipped_bit_is_noticed():
    data = dumps(two_steps())
    for i in range(0, 8 * len(data), 7):  # 7 and 8 share no factor: every byte, another bit each time
        flipped = bytearray(data)
        flipped[i // 8] ^= 1 << (i % 8)
        with pytest.raises(PlanFormatError):
            loads(flipped)


def test_a_later_version_says_to_upgrade():
    header, payload = take_apart(dumps(empty()))
    refused(assemble(header, payload, version=10), "format version 10, .* up to version 9: upgrade miserly")
    refused(assemble(header, payload, version=0), "no format version 0")


# -- loading hostile content, signed -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "match"),
    [
        (b"[" * 200_000, "header cannot be read"),
        (b'{"info":' + b'{"a":' * 70 + b"1" + b"}" * 70 + b"}", "nested more than 64"),
        (b"\xff\xfe{}", "header cannot be read"),
        (b'{"a":1,"a":2}', "key appears twice"),
        (b'{"a":' + b"9" * 10_000 + b"}", "header cannot be read"),
        (b'{"a":' + b"9" * 4000 + b"}", "too many digits"),
        (b'{"a":NaN}', "holds NaN"),
        (b'{"a":1e999}', "1e999.*, which no float can hold"),
        (b'{"a":"\\ud800"}', "not valid Unicode"),
        (b"[]", "not a JSON object"),
        (b"{}", "does not list the arrays"),
        (b"", "header cannot be read"),
    ],
)
def test_hostile_headers(header, match):
    refused(assemble(header, b""), match)


def test_a_header_longer_than_the_file():
    data = bytearray(dumps(empty())[:-32])
    for length in (2**64 - 8, 2**63, len(data) + 8, 12):
        data[24:32] = struct.pack("<Q", length)
        refused(signed(bytes(data)), "a header of")


@pytest.mark.parametrize(
    ("entry", "value", "match"),
    [
        ("shape", [2**62], "in a file of this size"),
        ("shape", [-1], "in a file of this size"),
        ("shape", [True], "in a file of this size"),
        ("shape", [1, 1], "must have 1 dimensions"),
        ("shape", 1, "must have 1 dimensions"),
        ("shape", [20], "goes past the end|in a file of this size"),
        ("offset", 8, "must begin at 0"),
        ("offset", -8, "must begin at 0"),
        ("offset", 0.0, "must begin at 0"),
        ("dtype", "|O", "must have dtype"),
        ("dtype", "<f4", "must have dtype"),
        ("dtype", ["<f8"], "must have dtype"),
        ("extra", 1, "and nothing else"),
    ],
)
def test_hostile_array_entries(entry, value, match):
    def change(header):
        header["arrays"]["base"][entry] = value

    refused(with_header(empty(), change), match)


def test_arrays_cannot_overlap():
    def change(header):
        header["arrays"]["node_up"]["offset"] = header["arrays"]["node_low"]["offset"]

    refused(with_header(two_steps(), change), "'node_up' must begin at")


def test_unknown_and_missing_arrays():
    def add(header):
        header["arrays"]["extra"] = header["arrays"]["base"]

    def remove(header):
        del header["arrays"]["node_bias"]

    refused(with_header(two_steps(), add), "does not list the arrays")
    refused(with_header(two_steps(), remove), "does not list the arrays")


def test_bytes_between_and_after_the_arrays():
    header, payload = take_apart(dumps(two_steps()))
    refused(assemble(header, payload + b"\0" * 8), "8 bytes after the last array belong to nothing")
    gap = header["arrays"]["term_kind"]["offset"] + 2  # two terms, one byte each, six bytes of padding
    refused(
        assemble(header, payload[:gap] + b"x" + payload[gap + 1 :]),
        "followed by bytes that belong to nothing",
    )


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("link", "exec", "unknown link"),
        ("link", None, "'link' must be text"),
        ("info", [], "'info' an object"),
        ("extra", 1, "and nothing else"),
        ("n_outputs", 0, "'n_outputs'"),
        ("n_outputs", 10**30, "'n_outputs'"),
        ("n_outputs", True, "'n_outputs'"),
        ("classes", {"dtype": "object", "values": ["a", "b"]}, "the classes must be a list"),
        ("classes", {"dtype": "<U1000000000", "values": ["a", "b"]}, "the classes must be a list"),
        ("classes", {"dtype": ["int8"], "values": []}, "the classes must be a list"),
        ("classes", {"dtype": "str", "values": [1, 2]}, "the classes must be a list"),
        ("classes", {"dtype": "int8", "values": [True, False]}, "the classes must be a list"),
        ("classes", {"dtype": "int8", "values": [1, 1000]}, "do not fit dtype 'int8'"),
        ("classes", {"dtype": "float32", "values": [1e300, 0.0]}, "do not fit dtype 'float32'"),
        ("classes", {"dtype": "str", "values": ["a\0", "b"]}, "do not fit dtype 'str'"),
        ("classes", {"dtype": "str", "values": ["a", "b", "c"]}, "need 2 classes"),
        ("classes", {"dtype": "str"}, "the classes must hold"),
        ("classes", {"dtype": "str", "values": ["x" * 9000] + [""] * 9000}, "too much text"),
        ("categories", 3, r"list of \[column, values\]"),
        ("categories", [[0]], r"list of \[column, values\]"),
        ("categories", [["0", []]], r"list of \[column, values\]"),
        ("categories", [[0, ["a", ["b"]]]], "plain values"),
        ("categories", [[0, ["a"]], [0, ["b"]]], "given twice"),
        ("categories", [[0, ["a", "a"]]], "repeated"),
        ("categories", [[10**30, ["a"]]], "belong to no column"),
    ],
)
def test_hostile_header_entries(key, value, match):
    refused(with_header(two_steps(), lambda header: header.update({key: value})), match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"features": {"age": -1.0, "chol": 1, "cp": 1}}, "not a number from 0"),
        ({"features": {"age": "1", "chol": 1, "cp": 1}}, "not a number from 0"),
        ({"features": {"age": True, "chol": 1, "cp": 1}}, "not a number from 0"),
        ({"features": {"age": 10**300, "chol": 1, "cp": 1}}, "not a number from 0"),
        ({"features": [[1.0], [2.0], [3.0]], "groups": {}}, "not a number from 0"),
        ({"features": None}, "an object or a list of features"),
        ({"evaluation": None}, "not a number from 0"),
        ({"unit": 3}, "unit of the costs"),
        ({"extra": 3}, "and nothing else"),
        ({"groups": {"g": {"features": ["chl"], "setup": 1}}}, "must be among those of the costs"),
        ({"groups": {"g": {"features": [0], "setup": 1}}}, "must be among those of the costs"),
        ({"groups": {"g": {"features": "age", "setup": 1}}}, "must list its features"),
        ({"groups": {"g": {"features": ["age", "age"], "setup": 1}}}, "twice"),
        ({"groups": {"g": {"features": ["age"]}}}, "a group must hold"),
        ({"groups": []}, "an object of groups"),
    ],
)
def test_hostile_costs(change, match):
    refused(with_header(two_steps(), lambda header: header["costs"].update(change)), match)


@pytest.mark.parametrize(
    ("name", "position", "value", "match"),
    [
        ("base", 0, np.nan, "base must be"),
        ("term_kind", 0, 3, "a kind that is not among"),
        ("term_kind", 1, 0, "do not match the list of terms"),
        ("term_evaluation", 0, -1.0, "not a number from 0"),
        ("term_evaluation", 0, np.nan, "not a number from 0"),
        ("tree_start", 0, 1, "must rise from 0"),
        ("tree_start", 1, -1, "must rise from 0"),
        ("tree_start", 1, 2**62, "must rise from 0"),
        ("tree_start", 2, 7, "must rise from 0"),
        ("tree_start", 1, 6, "inside the tree"),
        ("tree_feature", 0, 3, "reads a feature that is not among 3"),
        ("tree_left", 0, 0, "children must come after their parent"),
        ("tree_left", 0, 2, "exactly one parent"),
        ("tree_right", 0, 9, "inside the tree"),
        ("tree_right", 0, -1, "children must come after their parent"),
        ("tree_missing_left", 0, 2, "zeros and ones"),
        ("tree_value", 1, np.inf, "leaf values must be finite"),
        ("tree_threshold", 0, np.nan, "thresholds numbers"),
        ("tree_category", 0, 0, "outside its category words"),
        ("node_start", 1, 3, "must rise from 0"),
        ("node_term", 0, 2, "a term that is not among 2"),
        ("node_term", 0, -1, "a term that is not among 2"),
        ("node_channel", 0, 1, "a score that is not among 1"),
        ("node_weight", 0, np.nan, "weights and bias must be finite"),
        ("node_bias", 0, np.inf, "weights and bias must be finite"),
        ("node_inherits", 0, 255, "zeros and ones"),
        ("node_gate", 0, 99, "a kind that is not among"),
        ("node_gate_number", 0, np.nan, "confidence gate needs"),
        ("node_gate_number", 0, -0.1, "confidence gate needs"),
        ("node_gate_number", 1, 1.0, "numbers that it does not use"),
        ("node_gate_count", 0, 1, "numbers that it does not use"),
        ("node_up", 0, 0, "children come after their parent"),
        ("node_up", 1, 0, "children come after their parent"),
        ("node_up", 0, 2, "children come after their parent"),
        ("node_up", 0, -2, "children come after their parent"),
        ("node_up", 0, -1, "child of exactly one node"),
        ("node_low", 0, 1, "child of exactly one node"),
    ],
)
def test_hostile_numbers(name, position, value, match):
    refused(with_array(two_steps(), name, position, value), match)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("raw_feature", 3, "reads a feature that is not among 3"),
        ("raw_feature", -1, "reads a feature that is not among 3"),
        ("raw_fill", np.nan, "must be finite"),
        ("kernel_kind", 4, "a kind that is not among"),
        ("kernel_gamma", np.nan, "must be finite"),
        ("kernel_coef0", np.inf, "must be finite"),
        ("kernel_degree", 10**9, "degree"),
        ("kernel_degree", -1, "degree"),
        ("kernel_vector", np.nan, "must be finite"),
        ("kernel_fill", np.nan, "must be finite"),
    ],
)
def test_hostile_numbers_of_raw_and_kernel_terms(name, value, match):
    refused(with_array(three_classes(), name, 0, value), match)


def test_a_gate_on_a_score_that_does_not_exist():
    plan = chain([stump(0, 0.5, 0, 1)] * 2, {0: Threshold(0.5)}, costs=Costs([1.0]))
    refused(with_array(plan, "node_gate_count", 0, 1), "gate on score 1 of 1")
    refused(with_array(plan, "node_gate_count", 0, -1), "a threshold gate needs")


def test_dimensions_of_one_name_must_agree():
    header, payload = take_apart(dumps(empty()))
    bias = header["arrays"]["node_bias"]
    assert bias["shape"] == [0, 1]
    bias["shape"] = [0, 9]
    refused(assemble(header, payload), "'node_bias' has 9 scores")


# -- loading where there is only NumPy ---------------------------------------------------------------------


def test_loading_needs_numpy_alone(tmp_path):
    three_classes().save(tmp_path / "plan.miser")
    program = """
        import sys

        class Blocked:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in {"sklearn", "numba", "scipy", "pandas", "narwhals", "joblib"}:
                    raise ImportError(f"{name} is not installed here")

        sys.meta_path.insert(0, Blocked())
        from miserly import load
        from miserly.plan.store.format import dumps

        data = open(sys.argv[1], "rb").read()
        plan = load(sys.argv[1])
        assert dumps(plan) == data
        print(len(plan.nodes), sorted({"sklearn", "numba", "scipy", "pickle"} & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "plan.miser")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("5 ")
    assert "sklearn" not in done.stdout


def acquirer(covariance):
    """A plan that chooses by a mixture of two classes over two features."""
    mixture = MixtureAcquisition(
        feature=[0, 1], category=[-1, -1], centre=[0.0, 0.0], scale=[1.0, 1.0],
        mean=[[-1.0, -2.0], [1.0, 2.0]], covariance=[covariance] * 2, weight=[0.5, 0.5], label=[0, 1],
    )  # fmt: skip
    none = np.zeros(0)
    node = Node(none.astype(int), none.astype(int), none, [0.0], inherits=False, acquisition=mixture)
    return Plan(costs=Costs([1.0, 2.0]), terms=[], nodes=[node], base=[0.0], link="logistic", classes=[0, 1])


@pytest.mark.parametrize(("number", "version"), [(0.5, 9), (0.1, 6), (np.float64(np.float16(0.1)), 9)])
def test_covariances_are_kept_in_as_few_bytes_as_hold_them(number, version):
    plan = acquirer([[1.0, number], [number, 1.0]])
    data = dumps(plan)
    again = loads(data)
    assert data[8] == version and dumps(again) == data
    found = again.nodes[0].acquisition.covariance
    assert found.dtype == np.float32 and found[0, 0, 1] == np.float32(number)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_a_covariance_in_half_precision_must_make_sense(value):
    header, payload = take_apart(dumps(acquirer([[1.0, 0.5], [0.5, 1.0]])))
    at = header["arrays"]["mixture_covariance"]["offset"]
    changed = payload[:at] + np.float16(value).tobytes() + payload[at + 2 :]
    refused(assemble(header, changed, version=9), "not sound: .*covariances")
