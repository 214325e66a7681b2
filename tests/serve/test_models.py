"""Models come from files, are swapped when files change, and bad files change nothing."""

import asyncio
import os
import time

import pytest

from miserly.serve import ServeSettings
from miserly.serve.models import ModelFolder
from miserly.serve.problems import Problem
from tests.runtime.plans import PATIENT, heart
from tests.serve.apps import serving


@pytest.fixture
def folder(tmp_path):
    heart().save(tmp_path / "heart.miser")
    return tmp_path


def models_in(folder, **options):
    models = ModelFolder(ServeSettings(models=str(folder), **options))
    models.refresh()
    return models


def plan_with(base):
    return heart(base=[base])


def test_models_are_listed_and_described(folder):
    async def run():
        async with serving(folder) as client:
            return [(await client.get(path)).json() for path in ("/v1/models", "/v1/models/heart", "/readyz")]

    listed, shown, ready = asyncio.run(run())
    assert [one["name"] for one in listed["models"]] == ["heart"]
    kinds = {one["name"]: one["kind"] for one in shown["features"]}
    assert kinds == {"age": "number", "pain": "category", "chol": "number", "fbs": "number"}
    assert shown["groups"] == [{"name": "blood", "setup": 2.0, "features": ["chol", "fbs"]}]
    assert shown["max_cost"] == 13.0 and shown["budgets"] == [] and shown["guarantees"] == []
    assert ready == {"status": "ready", "models": 1}


def test_new_changed_and_removed_files(folder):
    models = models_in(folder)
    first = models.get("heart")
    plan_with(-5.0).save(folder / "other one.miser")
    plan_with(-7.0).save(folder / "heart.miser")
    models.refresh()
    assert models.names == ["heart", "other-one"]
    assert models.get("heart").digest == plan_with(-7.0).digest
    assert models.at("heart", first.digest) is first  # sessions under way go on
    (folder / "heart.miser").unlink()
    models.refresh()
    assert models.names == ["other-one"]
    with pytest.raises(Problem, match="no model of this name"):
        models.get("heart")
    assert models.at("heart", first.digest) is first


def test_four_versions_are_kept(folder):
    models = models_in(folder)
    for base in range(5):
        plan_with(float(base)).save(folder / "heart.miser")
        models.refresh()
    with pytest.raises(Problem) as caught:
        models.at("heart", heart().digest)
    assert (caught.value.status, caught.value.code) == (410, "model_changed")
    assert all(models.at("heart", plan_with(float(base)).digest) for base in (1, 2, 3, 4))


def test_an_unchanged_file_is_not_read_again(folder):
    os.utime(folder / "heart.miser", (1.0, 1.0))
    models = models_in(folder)
    for _ in range(3):
        models.refresh()
    assert models.n_reloads == 1


def test_a_file_that_changes_again_within_the_same_tick_is_seen(folder):
    """Two writes may have the same time of change and the same size: what is fresh is read again."""
    now = time.time()
    os.utime(folder / "heart.miser", (now, now))
    models = models_in(folder)
    whole = plan_with(-5.0)
    whole.save(folder / "new")
    with open(folder / "heart.miser", "r+b") as file:  # the same inode, size and time
        file.write((folder / "new").read_bytes())
    os.utime(folder / "heart.miser", (now, now))
    models.refresh()
    assert models.get("heart").digest == whole.digest


def bad_files(folder):
    """Files that no plan can be loaded from, each with words of its problem."""
    good = (folder / "heart.miser").read_bytes()
    (folder / "half.miser").write_bytes(good[: len(good) // 2])
    (folder / "empty.miser").write_bytes(b"")
    (folder / "text.miser").write_text("not a plan")
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    (folder / "flipped.miser").write_bytes(flipped)
    (folder / "folder.miser").mkdir()
    os.mkfifo(folder / "fifo.miser")
    (folder / "nowhere.miser").symlink_to(folder / "nothing")
    (folder / "loop.miser").symlink_to(folder / "loop.miser")
    (folder / "out.miser").symlink_to("/etc/passwd")
    with open(folder / "huge.miser", "wb") as file:
        file.truncate(2**40)  # takes no room on disk
    return {
        "half": "truncated", "empty": "not a saved plan", "text": "not a saved plan", "flipped": "altered",
        "folder": "not a regular file", "fifo": "not a regular file", "nowhere": "cannot be loaded",
        "loop": "cannot be loaded", "out": "outside the folder", "huge": "more than the 268435456 allowed",
    }  # fmt: skip


def test_bad_files_neither_hang_nor_crash_and_are_reported_without_paths(folder):
    expected = bad_files(folder)

    async def run():
        async with serving(folder) as client:
            answer = await client.post("/v1/models/heart/predict", json={"features": PATIENT})
            missing = await client.post("/v1/models/half/predict", json={"features": PATIENT})
            return answer, missing, (await client.get("/v1/models")).json()

    begun = time.monotonic()
    answer, missing, listed = asyncio.run(run())
    assert time.monotonic() - begun < 5.0
    assert answer.status_code == 200 and missing.status_code == 404
    problems = {one["name"]: one["problem"] for one in listed["problems"]}
    assert problems.keys() == expected.keys()
    for name, words in expected.items():
        assert words in problems[name], (name, problems[name])
        assert str(folder) not in problems[name] and "/etc" not in problems[name]
    assert [one["name"] for one in listed["models"]] == ["heart"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_must_not_be_read_is_reported(folder):
    (folder / "heart.miser").chmod(0)
    assert "ermission" in models_in(folder).problems["heart"]


def test_a_bad_file_leaves_the_old_model_and_a_good_one_clears_the_problem(folder):
    models = models_in(folder)
    (folder / "heart.miser").write_bytes(b"\x89MISER\r\nhalf")
    models.refresh()
    models.refresh()
    assert models.get("heart").digest == heart().digest
    assert "truncated" in models.problems["heart"] and models.n_failures == 1
    plan_with(-5.0).save(folder / "heart.miser")
    models.refresh()
    assert models.get("heart").digest == plan_with(-5.0).digest and not models.problems


def test_links_within_the_folder_work_as_volumes_of_containers_make_them(folder):
    (folder / "..v1").mkdir()
    plan_with(-5.0).save(folder / "..v1" / "linked.miser")
    (folder / "..data").symlink_to("..v1")
    (folder / "linked.miser").symlink_to("..data/linked.miser")
    assert models_in(folder).get("linked").digest == plan_with(-5.0).digest


def test_two_files_of_one_name_are_reported(folder):
    heart().save(folder / "a b.miser")
    plan_with(-5.0).save(folder / "a-b.miser")
    models = models_in(folder)
    assert models.get("a-b").digest == heart().digest  # the first in order
    assert "another file" in models.problems["a-b"]
    models.refresh()
    assert models.n_failures == 1  # reported once
    (folder / "a-b.miser").unlink()
    models.refresh()
    assert models.problems == {}


def test_a_file_that_can_be_read_again_has_no_problem(folder, tmp_path_factory):
    path, elsewhere = folder / "heart.miser", tmp_path_factory.mktemp("elsewhere") / "heart.miser"
    os.utime(path, (1.0, 1.0))
    models = models_in(folder)
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    models.refresh()
    assert "outside the folder" in models.problems["heart"]
    path.unlink()
    elsewhere.rename(path)  # the same file as before
    models.refresh()
    assert models.problems == {} and models.names == ["heart"]


def test_the_name_of_a_file_cannot_forge_a_line_of_the_log(folder, caplog):
    (folder / "new\n2026 ERROR forged.miser").write_text("no plan")
    models_in(folder)
    assert len(caplog.messages) >= 1 and not any("\n" in one for one in caplog.messages)


def test_a_folder_that_cannot_be_listed_changes_nothing(folder, tmp_path):
    models = models_in(folder)
    moved = tmp_path.parent / f"{tmp_path.name}-moved"
    folder.rename(moved)
    models.refresh()
    assert models.names == ["heart"]
    moved.rename(folder)


def test_sources_that_do_not_fit_a_model_are_a_problem_of_the_model(folder):
    models = ModelFolder(ServeSettings(models=str(folder)), lambda name: {"no_feature": len})
    models.refresh()
    assert "no_feature" in models.problems["heart"]


def test_without_a_model_the_service_is_not_ready(tmp_path):
    async def run():
        async with serving(tmp_path) as client:
            return await client.get("/readyz"), await client.get("/healthz")

    ready, alive = asyncio.run(run())
    assert ready.status_code == 503 and ready.json()["error"]["code"] == "not_ready"
    assert alive.status_code == 200


def test_the_folder_is_watched_while_the_service_runs(folder):
    async def run():
        async with serving(folder, reload_every=0.02) as client:
            plan_with(-5.0).save(folder / "heart.miser")
            for _ in range(500):
                await asyncio.sleep(0.01)
                record = (await client.get("/v1/models/heart")).json()
                if record["digest"] == plan_with(-5.0).digest:
                    return True
            return False

    assert asyncio.run(run())
