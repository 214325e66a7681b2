"""The page in a real browser: a case from start to end, what goes wrong, and that it is open to all."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import httpx
import pytest

from miserly import load
from miserly.runtime import OnDemand
from tests.report.browsing import browser, requested
from tests.runtime.plans import PATIENT

pytest.importorskip("selenium")
pytest.importorskip("fastapi")
from selenium.webdriver.common.keys import Keys

from tests.serve.page_server import EVIL, Page, evil_plan, heart_plan, numbers_plan, served

LABELS = (61, "Typical angina", 200, "Above 120 mg/dl")
QUESTIONS = ("Age", "Chest pain", "Cholesterol", "Blood sugar")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    heart_plan().save(folder / "heart.miser")
    numbers_plan().save(folder / "numbers.miser")
    return folder


@pytest.fixture(scope="module")
def url(models):
    with served(models) as address:
        yield address


@pytest.fixture(scope="module")
def driver():
    with browser() as opened:
        yield opened


@pytest.fixture
def page(driver, url):
    """The page on a wide screen. At the end: no error of the page, and no request to another host."""
    look(driver)
    driver.execute_cdp_cmd("Network.enable", {})
    driver.get_log("browser")
    requested(driver)
    page = Page(driver, url)
    yield page
    expected = ("Failed to load resource", "ERR_INTERNET_DISCONNECTED")  # the browser's words for 4xx
    log = [entry["message"] for entry in driver.get_log("browser") if entry["level"] != "DEBUG"]
    assert [message for message in log if not any(one in message for one in expected)] == []
    hosts = {urlsplit(one).hostname for one in requested(driver) if not one.startswith("about:")}
    assert hosts <= {"127.0.0.1"}


def look(driver, width=1180, height=900, dark=False, calm=False):
    """Set the size of the screen and what the reader prefers."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme, motion = "dark" if dark else "light", "reduce" if calm else "no-preference"
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


# -- cases ---------------------------------------------------------------------------------------------------


def test_a_case_to_the_end_is_the_answer_of_the_runtime(page, models):
    page.open()
    page.heading("Which question do you have?")
    page.click("a[href='#/m/heart']")
    page.heading("Heart check")
    page.sees("up to 4 questions, for at most 13 CAD")
    page.click("form button")
    page.heading("Age")
    page.sees("Price: 1 CAD")
    page.sees("A whole number, usually from 29 to 77.")
    page.give(61, then="Chest pain")
    page.sees("1 CAD paid; at most 13 CAD in all")
    page.give("Typical angina", then="Cholesterol")
    page.sees("Price: 7 CAD, of which 2 CAD once for blood")
    page.give(200, "Above 120 mg/dl")
    expected = OnDemand(load(models / "heart.miser")).predict(PATIENT)
    page.heading("Answer: Ill")
    assert expected.answer == "ill" and page.one("tfoot .right").text == f"{expected.cost:g}"
    rows = [row.text.replace("\u00a0", " ").split("\n")[0] for row in page.all("tbody tr")]
    assert rows == ["1 Age 61 years", "2 Chest pain Typical angina", "3 Cholesterol 200 mg/dl",
                    "4 Blood sugar Above 120 mg/dl"]  # fmt: skip


def test_the_receipt_can_be_printed_and_kept(page, tmp_path):
    page.begin()
    page.give(*LABELS)
    page.heading("Answer: Ill")
    page.run("window.print = () => { window.__printed = true; }")
    page.click("#print")
    assert page.run("return window.__printed")
    page.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    page.click("#download")
    page.until(lambda: list(tmp_path.glob("*.json")), "the file")
    record = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert record["answer"] == "ill" and record["cost"] == 13.0
    assert record["acquired"] == ["age", "pain", "chol", "fbs"]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not any(page.one(css).is_displayed() for css in ("#print", ".top"))
    assert page.one(".receipt").is_displayed()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_budget_ends_the_case_early(page):
    page.begin(budget=9)
    page.sees("0 of 9 CAD paid")
    page.give(61, "Typical angina")
    page.sees("The budget allows no further question.")
    assert page.one("tfoot .right").text == "3"
    page.one("#higher").send_keys("9.5" + Keys.ENTER)
    page.sees("this budget does not pay for the next question.")
    page.one("#higher").clear()
    page.one("#higher").send_keys("10" + Keys.ENTER)
    page.heading("Cholesterol")
    page.sees("3 of 10 CAD paid")


def test_stopping_gives_the_answer_so_far(page):
    page.begin()
    page.give(61, then="Chest pain")
    page.fold("What if I stop now?")
    page.sees("The answer would be Healthy (100.0 %), for 1 CAD.")
    page.click("#stop")
    page.heading("Answer: Healthy")
    page.sees("It was stopped before the last question.")
    page.click("#back")
    page.heading("Chest pain")


def test_a_value_that_cannot_be_used_is_refused_with_the_reason(page):
    page.begin()
    for text, reason in (
        ("sixty", "“sixty” is not a number."),
        ("6,1", "Write decimals with a point"),
        ("0x10", "is not a number"),
        ("", "Write a number, or say that"),
    ):
        field = page.one("#value")
        field.clear()
        field.send_keys(text + Keys.ENTER)
        page.sees(reason)
        assert page.focused == "value" and field.get_attribute("aria-invalid") == "true"
    page.one("#value").send_keys("610")
    page.sees("Unusual: the plan has seen values from 29 to 77.")
    page.click("#next")  # it is a warning, no refusal
    page.heading("Chest pain")
    page.click("#next")
    page.sees("Choose one, or say that")


def test_not_having_a_value_is_an_answer_and_costs_nothing(page):
    page.begin()
    page.give(61, then="Chest pain")
    page.click("#decline")
    page.heading("Cholesterol")
    page.sees("not available")
    page.sees("1 CAD paid")


@pytest.mark.long
def test_numbers_lists_and_booleans(page):
    page.begin("numbers", first="smokes")
    assert [one.text for one in page.all(".option")] == ["No", "Yes"]
    page.give("Yes", then="town")
    page.sees("smokes\nYes")
    page.run("const list = document.querySelector('select'); list.value = '3'")
    page.click("#next")
    page.heading("x")
    page.fold("Why this question?")
    page.sees("This is the last question.")
    page.give(2.5)
    page.heading("Answer: 70")  # 5 + 10 * (1 + 3 + 2.5)


# -- what could happen ---------------------------------------------------------------------------------------


def test_why_and_what_money_would_buy(page):
    page.begin()
    page.fold("Why this question?")
    page.sees("The answer so far, Healthy, would stay. This question could make it more or less certain:")
    page.sees("Next: Chest pain")
    page.sees("At most 13 CAD more, with this question.")
    page.fold("What would more money buy?")
    field = page.one("#more")
    field.clear()
    field.send_keys("3" + Keys.ENTER)
    page.sees("For certain: Age (1 CAD) and Chest pain (2 CAD).")
    field.clear()
    field.send_keys("much" + Keys.ENTER)
    page.sees("Enter a number of at least 0.")
    page.give(61, then="Chest pain")  # what was open stays open
    page.sees("The answer so far is Healthy. This question could change it to Ill:")
    lines = [one.text.split("\n") for one in page.all(".ranges li")]
    assert lines == [["If No pain", "Healthy (100.0 %)"], ["If Typical angina", "Ill (100.0 %)"]]


def test_the_budget_can_be_tried_and_changed(page):
    page.begin()
    page.fold("Change the budget")
    field = page.one("#cap-exact")
    field.send_keys("0.5")
    page.sees("Nothing: the next question, Age, costs 1 CAD. The answer would still be Healthy")
    field.clear()
    field.send_keys("9")
    page.sees("For certain: Age (1 CAD)")
    page.sees("0 CAD paid")  # nothing has changed yet
    page.click("#apply")
    page.sees("0 of 9 CAD paid")
    assert page.one("#cap").get_attribute("max") == "13"  # more than the cap can be tried as well
    page.give(61, "Typical angina")
    page.sees("The budget allows no further question.")


def test_an_answer_that_is_too_large_for_a_number_has_words(page):
    page.begin("numbers", first="smokes")
    page.give("Yes", then="town")
    page.click("#value option[value='1']")
    page.click("#next")
    page.heading("x")
    page.one("#value").send_keys("1e308")
    page.click("#next")
    page.heading("Answer: not a number")


# -- ways back -----------------------------------------------------------------------------------------------


def test_a_reload_midway_goes_on(page):
    page.begin(budget=50)
    page.give(61, then="Chest pain")
    page.driver.refresh()
    page.heading("Chest pain")
    page.sees("1 of 50 CAD paid")
    page.give(*LABELS[1:])
    page.heading("Answer: Ill")
    page.driver.refresh()
    page.heading("Answer: Ill")


def test_both_back_buttons_take_back_an_answer(page):
    page.begin()
    page.give(61, "Typical angina", then="Cholesterol")
    page.driver.back()
    page.heading("Chest pain")
    page.sees("1 CAD paid")
    page.click("#back")
    page.heading("Age")
    page.sees("0 CAD paid")
    page.give(*LABELS)
    page.heading("Answer: Ill")
    page.click("#back")
    page.heading("Blood sugar")
    for heading in ("Cholesterol", "Chest pain", "Age", "Heart check"):
        page.driver.back()
        page.heading(heading)
    page.driver.forward()
    page.heading("Age")


def test_two_tabs_do_not_overwrite_each_other(page):
    page.begin()
    driver, address = page.driver, page.driver.current_url
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    try:
        driver.get(address)
        page.heading("Age")
        page.give(50, then="Chest pain")
        driver.switch_to.window(first)
        page.one("#value").send_keys("61" + Keys.ENTER)
        page.sees("This case has changed meanwhile, perhaps in another window. Answered meanwhile: Age.")
        page.heading("Chest pain")
        page.give("Typical angina", then="Cholesterol")
        page.sees("50 years")
    finally:
        for handle in driver.window_handles:
            if handle != first:
                driver.switch_to.window(handle)
                driver.close()
        driver.switch_to.window(first)


# -- when something goes wrong -------------------------------------------------------------------------------


def test_a_server_that_is_gone_or_slow_is_named_and_the_input_is_kept(page):
    page.begin()
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **network})
    page.one("#value").send_keys("61" + Keys.ENTER)
    page.sees("The server cannot be reached.")
    page.sees("Your answers are kept.")
    slow = {**network, "latency": 1700}
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **slow})
    page.click("#retry")
    page.sees("Waiting for the server")
    page.heading("Chest pain")
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **network})
    assert "Waiting" not in page.text


def test_an_expired_case_is_named(page, url):
    page.begin()
    httpx.delete(f"{url}/v1/sessions/{page.hash.split('/')[2]}").raise_for_status()
    page.one("#value").send_keys("61" + Keys.ENTER)
    page.heading("This case is not there any more")
    page.click("a.button")
    page.heading("Heart check")
    page.open("#/s/unknown/2")
    page.heading("This case is not there any more")
    page.open("#/m/unknown")
    page.heading("There is nothing here")


def test_an_api_key_is_asked_for_once(page, models):
    with served(models, keys=("open-sesame-1234567890",)) as locked:
        page = Page(page.driver, locked)
        page.open("#/m/heart")
        page.heading("An API key is needed")
        page.one("#key").send_keys("wrong" + Keys.ENTER)
        page.sees("The server does not know this key.")
        assert axe(page) == []
        page.one("#key").send_keys("open-sesame-1234567890" + Keys.ENTER)
        page.heading("Heart check")
        page.click("form button")
        page.heading("Age")
        page.driver.refresh()
        page.heading("Age")


# -- for all people ------------------------------------------------------------------------------------------


def test_the_keyboard_is_enough(page):
    page.open("#/m/heart")
    page.heading("Heart check")
    keys = page.driver.switch_to
    while page.focused != "budget":
        keys.active_element.send_keys(Keys.TAB)
    keys.active_element.send_keys("20" + Keys.ENTER)
    page.heading("Age")
    assert page.focused == "value"
    keys.active_element.send_keys("61" + Keys.ENTER)
    page.heading("Chest pain")
    assert page.focused == "choice-0"
    outline = page.run("return getComputedStyle(document.activeElement.closest('.option')).outlineStyle")
    assert outline == "solid"
    keys.active_element.send_keys(Keys.ARROW_DOWN)
    keys.active_element.send_keys(Keys.ENTER)
    page.heading("Cholesterol")
    page.until(lambda: "Answer so far: Ill" in page.one("#live").get_attribute("textContent"), "announcement")
    assert "3 of 20\u00a0CAD paid" in page.one("#live").get_attribute("textContent")
    for _ in range(2):
        keys.active_element.send_keys(Keys.TAB)
    assert page.focused == "decline"
    keys.active_element.send_keys(Keys.SPACE)
    page.heading("Blood sugar")
    keys.active_element.send_keys(Keys.SPACE + Keys.ENTER)
    page.heading("Answer: Ill")


def axe(page):
    """What axe-core finds wrong on a screen."""
    from axe_selenium_python import Axe

    checker = Axe(page.driver)
    checker.inject()
    return [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in checker.run()["violations"]]


def open_all(page):
    """Open all parts of the panel, with what they show on demand."""
    for summary in page.all("summary"):
        summary.click()
    page.one("#more").send_keys(Keys.ENTER)
    page.sees("For certain")
    page.one("#value").send_keys("5000")
    page.sees("Unusual")


def overflows(page):
    """How much wider the page is than the screen."""
    return page.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(1180, False, id="screen, light"),
        pytest.param(390, True, id="phone, dark"),
        pytest.param(1180, True, id="screen, dark", marks=pytest.mark.long),
        pytest.param(390, False, id="phone, light", marks=pytest.mark.long),
    ],
)
def test_every_screen_is_accessible_and_fits(page, width, dark):
    """With animations off, as axe measures colours while they move."""
    look(page.driver, width, 800, dark, calm=True)

    def check(name):
        assert axe(page) == [], name
        for size in ("", "212.5%"):  # text at 200 %
            page.run("document.documentElement.style.fontSize = arguments[0]", size)
            assert overflows(page) <= 0, (name, size)
        page.run("document.documentElement.style.fontSize = ''")

    page.open()
    page.heading("Which question do you have?")
    check("models")
    page.begin()
    check("first question")
    page.give(61, then="Chest pain")
    check("choices")
    page.give("Typical angina", then="Cholesterol")
    open_all(page)
    check("everything open")
    page.one("#value").clear()
    page.give(200, "Above 120 mg/dl")
    page.heading("Answer: Ill")
    check("result")
    page.open("#/s/unknown")
    page.heading("This case is not there any more")
    check("expired")


@pytest.mark.long
def test_bars_move_unless_the_reader_prefers_calm(page):
    page.begin()
    moves = "return getComputedStyle(document.querySelector('.bar span')).transitionDuration"
    assert page.run(moves) not in ("0s", "")
    look(page.driver, calm=True)
    assert page.run(moves) == "0s"


# -- names that are markup -----------------------------------------------------------------------------------


def test_markup_in_names_is_text(page, models):
    """Column names, categories, classes, units, help, title and guarantees: shown, and never run."""
    folder = models.parent / "evil"
    folder.mkdir(exist_ok=True)
    evil_plan().save(folder / "x' onfocus=window.__pwned=1 autofocus.miser")
    heart_plan().save(folder / "heart.miser")
    with served(folder) as address:
        page = Page(page.driver, address)

        def check():
            assert page.run("return window.__pwned") is None
            strange = "main script, main iframe, main img, main [onerror], main [onfocus], main [style*=url]"
            assert page.all(strange) == []
            page.sees(EVIL)

        page.open()
        page.heading("Which question do you have?")
        check()
        page.until(
            lambda: next(one for one in page.all("a.choice") if EVIL in one.text).click() or True, "model"
        )
        page.one("#budget")
        page.fold("Possible questions and their prices")
        check()
        page.click("form button")
        page.one("#value")
        for summary in page.all("summary"):
            summary.click()
        check()
        page.give(1)
        page.one("#choice-0")
        check()
        page.click("#choice-0")
        page.click("#next")
        page.one(".receipt")
        check()
        page.driver.refresh()
        page.one(".receipt")
        check()


@pytest.mark.long
def test_an_address_that_is_markup_is_harmless(page):
    for place in (f"#/m/{EVIL}", f"#/s/{EVIL}/1", "#/s/../../x/1", "#/%E0%A4%A", "#" + EVIL):
        page.open(place)
        page.one("h1")
        assert page.run("return window.__pwned") is None and page.all("main img, main script") == []
