"""A real server in a thread, and a real browser that looks at its page."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import uvicorn

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw
from miserly.serve import ServeSettings, create_app
from tests.runtime.plans import heart

__all__ = ["EVIL", "WORDS", "Page", "evil_plan", "heart_plan", "numbers_plan", "served"]

EVIL = (
    '<img src=x onerror="window.__pwned=1"><script>window.__pwned=1</script>\'"`javascript:window.__pwned=1'
)
WORDS = {
    "age": {"label": "Age", "unit": "years", "help": "At the visit."},
    "pain": {"label": "Chest pain", "choices": {"none": "No pain", "typical": "Typical angina"}},
    "chol": {"label": "Cholesterol", "unit": "mg/dl"},
    "fbs": {"label": "Blood sugar", "choices": {"0": "At most 120 mg/dl", "1": "Above 120 mg/dl"}},
}
RANGES = {"age": {"low": 29, "high": 77, "whole": True}, "chol": {"low": 126, "high": 564, "whole": True}}


def heart_plan():
    """Age, chest pain, and two features of one blood sample; at most 13 CAD."""
    return heart(info={"features": RANGES}).with_metadata(
        WORDS, title="Heart check", about="For the ward.", classes={"ill": "Ill", "well": "Healthy"}
    )


def numbers_plan():
    """A number as answer; a boolean, a long list of categories, and a feature without any words."""
    costs = Costs({"smokes": 1.0, "town": 2.0, "x": 0.25}, unit="min")
    nodes = [Node([t], [0], [10.0], [0.0], up=t + 1 if t < 2 else -1) for t in range(3)]
    categories = {0: (False, True), 1: tuple(f"Town {i}" for i in range(12))}
    return Plan(costs=costs, terms=[Raw(0), Raw(1), Raw(2)], nodes=nodes, base=[5.0], categories=categories)


def evil_plan():
    """Markup in every word that a plan can hold."""
    groups = {f"g{EVIL}": {"features": [f"a{EVIL}"], "setup": 3.0}}
    costs = Costs({f"a{EVIL}": 1.0, f"b{EVIL}": 2.0}, groups=groups, unit=EVIL[:60])
    nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
    plan = Plan(
        costs=costs, terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0], link="logistic",
        classes=[f"no{EVIL}", f"yes{EVIL}"], categories={1: (f"c{EVIL}", f"d{EVIL}")},
    )  # fmt: skip
    words = {"label": f"l{EVIL}", "help": f"h{EVIL}", "unit": f"u{EVIL}"}
    return plan.with_guarantees([EVIL]).with_metadata(
        {f"a{EVIL}": words, f"b{EVIL}": {**words, "choices": {f"c{EVIL}": f"x{EVIL}"}}},
        title=EVIL, about=EVIL, target=EVIL, classes={f"yes{EVIL}": f"n{EVIL}"},
    )  # fmt: skip


@contextmanager
def served(models, **options):
    """The address of a service for a folder of plans."""
    app = create_app(ServeSettings(str(models), **options))
    config = uvicorn.Config(app, ws="none", lifespan="on", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


class Page:
    """What a person does with the page."""

    def __init__(self, driver, url):
        self.driver, self.url = driver, url

    # -- looking -------------------------------------------------------------------------------------

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def until(self, found, what, seconds=20.0):
        """Wait until `found` gives something, and give it."""
        end = time.monotonic() + seconds
        while True:
            try:
                result = found()
            except Exception:  # the page was drawn again meanwhile
                result = None
            if result:
                return result
            assert time.monotonic() < end, f"{what} is not there: {self.text}"
            time.sleep(0.01)

    def one(self, css):
        return self.until(lambda: next(iter(self.all(css)), None), css)

    @property
    def text(self):
        return self.driver.execute_script("return document.body.innerText")

    def sees(self, words):
        """Wait until the page shows some words."""
        self.until(lambda: words in self.text.replace("\u00a0", " "), repr(words))

    def heading(self, words):
        self.until(lambda: self.one("h1").text == words, f"heading {words!r}")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    @property
    def hash(self):
        return self.run("return location.hash")

    @property
    def focused(self):
        """The id of the element that has the focus; else its tag."""
        return self.run("return document.activeElement.id || document.activeElement.tagName")

    # -- doing ---------------------------------------------------------------------------------------

    def click(self, css):
        self.until(lambda: self.one(css).click() or True, css)

    def open(self, place=""):
        """Open the page as a new visitor of this tab."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}/{place}")

    def begin(self, model="heart", budget=None, first="Age"):
        """Start a case."""
        self.open(f"#/m/{model}")
        field = self.one("#budget")
        if budget is not None:
            field.send_keys(str(budget))
        self.click("form button")
        self.heading(first)

    def give(self, *values, then=None):
        """Answer questions: numbers are typed, texts are labels of choices."""
        for value in values:
            before = self.hash
            if isinstance(value, str):
                self.choose(value)
            else:
                self.one("#value").send_keys(str(value))
            self.click("#next")
            self.until(lambda before=before: self.hash != before, f"what follows {value!r}")
        if then:
            self.heading(then)

    def choose(self, label):
        for option in self.all(".option"):
            if option.text == label:
                option.click()
                return
        raise AssertionError(f"no option {label!r}")

    def fold(self, title):
        """Open a part of the panel."""
        for summary in self.all("summary"):
            if summary.text == title:
                summary.click()
                return
        raise AssertionError(f"no part {title!r}")
