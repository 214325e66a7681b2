"""Every option of the service can be given on the command line, arrives, and secrets are not shown."""

import dataclasses
import pickle
import sys

import pytest

from miserly.errors import ServeError
from miserly.serve import ServeSettings
from tests.cli.running import run
from tests.runtime.plans import heart

GIVEN = {
    "sources": "os:sep", "source_timeout": 1.5, "retries": 2, "source_threads": 3,
    "reload_every": 7.0, "max_model_bytes": 1000,
    "timeout": 3.0, "max_rows": 5, "max_body": 1024, "concurrency": 9, "rate": 11.0, "burst": 12.0,
    "body_timeout": 4.0, "session_ttl": 60.0, "max_sessions": 17, "max_session_bytes": 4096,
    "max_session_size": 2048, "redis": "redis://:geheim@localhost/0", "receipts": "receipts.db",
    "journal": "journal", "journal_limit": 99, "audit": "-", "host": "::1", "port": 81, "workers": 2,
}  # fmt: skip
FLAGS = ("log_values", "keep_values", "receipts_required")
OTHERWISE = {"models", "keys", "cors", "allowed_hosts", "proxies", "tls_cert", "tls_key", "tls_password",
             "journal_sync"}  # fmt: skip


@pytest.fixture
def plan(tmp_path):
    heart().save(tmp_path / "heart.miser")
    return tmp_path / "heart.miser"


@pytest.fixture
def started(monkeypatch):
    """The settings that `miserly serve` starts with."""
    found = []
    monkeypatch.setattr("miserly.serve.running.run", lambda settings, announce: found.append(settings))
    return found


def words(options):
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]


def test_every_option_can_be_given_and_arrives(plan, started, tmp_path, monkeypatch):
    (tmp_path / "keys").write_text("# ours\nfirst-key-0123456789\n\nsecond-key-0123456789\n")
    monkeypatch.setenv("MISERLY_KEYS", "third-key-0123456789,fourth-key-0123456789")
    flags = [f"--{name.replace('_', '-')}" for name in FLAGS]
    done = run(
        "serve", plan, *words(GIVEN), *flags, "--cors", "https://a.example", "--key-file", tmp_path / "keys",
        "--key", "fifth-key-0123456789",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    settings = started[0]
    assert {name: getattr(settings, name) for name in GIVEN} == GIVEN
    assert all(getattr(settings, name) is True for name in FLAGS)
    assert settings.cors == ("https://a.example",) and len(settings.keys) == 5
    named = {one.name for one in dataclasses.fields(ServeSettings)}
    assert named == {*GIVEN, *FLAGS, *OTHERWISE}, "an option without a test"
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_secrets_are_not_shown(plan, started):
    done = run(
        "serve",
        plan,
        "--key",
        "fifth-key-0123456789",
        "--redis",
        GIVEN["redis"],
        "--receipts",
        "x:geheim@y/z",
    )
    for text in (done.output, done.stderr, repr(started[0])):
        assert "fifth" not in text and "geheim" not in text


def test_defaults_of_the_command_are_those_of_the_settings(plan, started):
    assert run("serve", plan).exit_code == 0
    assert started[0] == ServeSettings(models=str(plan))


def test_without_the_extra_it_says_what_to_install(plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "miserly.serve.running", raising=False)
    done = run("serve", plan)
    assert done.exit_code == 1
    assert done.stderr == (
        "error: the service needs uvicorn, which is not installed: pip install 'miserly[serve]'\n"
    )


def test_a_certificate_without_its_key_is_refused():
    with pytest.raises(ServeError, match="TLS needs both"):
        ServeSettings(models="x", tls_cert="cert.pem")
