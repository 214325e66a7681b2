"""The files of the page: their types, ETags and headers, and nothing from elsewhere."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

pytest.importorskip("fastapi")
import httpx

from tests.runtime.plans import heart
from tests.serve.page_server import served

FOLDER = files("miserly.serve").joinpath("page")
FILES = sorted(one.name for one in FOLDER.iterdir() if not one.name.startswith("_"))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("m") / "heart.miser"
    heart().save(path)
    with served(path, keys=("a-key-of-some-length-1",)) as url, httpx.Client(base_url=url) as client:
        yield client


@pytest.mark.parametrize("name", FILES)
def test_files_have_their_type_and_are_sent_once(client, name):
    found = client.get(f"/static/{name}")
    types = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
             "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}  # fmt: skip
    assert found.status_code == 200 and found.headers["content-type"] == types[name.rpartition(".")[2]]
    assert found.content == FOLDER.joinpath(name).read_bytes()
    again = client.get(f"/static/{name}", headers={"If-None-Match": found.headers["etag"]})
    assert (
        again.status_code == 304 and again.content == b"" and again.headers["etag"] == found.headers["etag"]
    )


def test_the_page_needs_no_key_and_has_a_strict_policy(client):
    found = client.get("/")
    assert found.status_code == 200 and found.content == FOLDER.joinpath("index.html").read_bytes()
    assert "default-src 'self'" in found.headers["content-security-policy"]
    assert "unsafe" not in found.headers["content-security-policy"]
    assert client.get("/favicon.ico").headers["content-type"] == "image/svg+xml"
    assert client.get("/v1/models").status_code == 401


@pytest.mark.parametrize(
    "name", ["", "nothing.js", "..%2fapp.py", "../app.py", "__init__.py", "index.html/x", "%00"]
)
def test_nothing_else_can_be_read(client, name):
    found = client.get(f"/static/{name}")
    assert found.status_code in (401, 404) and "error" in found.json()


def test_the_page_is_not_part_of_the_api(client):
    described = client.get("/openapi.json", headers={"X-API-Key": "a-key-of-some-length-1"}).json()
    assert not [path for path in described["paths"] if path == "/" or path.startswith("/static")]


@pytest.mark.parametrize("name", FILES)
def test_files_name_no_other_host_and_build_no_markup(name):
    text = FOLDER.joinpath(name).read_text()
    text = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]+\.", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)
    assert len(text.splitlines()) <= 400
    if name.endswith(".html"):
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script>", text)
