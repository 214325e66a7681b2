"""A page opened in a real browser: Debian's chromium, driven by its chromedriver."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager

import pytest

SWITCHES = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
)


@contextmanager
def browser(width=1280, height=900, dark=False):
    """A browser without a window; skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no browser: chromium and chromedriver are needed (Debian: chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in SWITCHES:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        if dark:
            scheme = [{"name": "prefers-color-scheme", "value": "dark"}]
            opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        yield opened
    finally:
        opened.quit()


def requested(opened):
    """Every address that the page has asked for since it was last asked, except data in the page itself."""
    messages = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith(("data:", "blob:"))]
