"""The pictures of the page in the guide.

After `make demo`: `python benchmarks/page_pictures.py out/demo/heart.miser`. It needs
Chromium, its driver, Selenium and Pillow.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.serve.page_server import Page, served
from tests.serve.test_page import browser, look

DOCS = Path(__file__).parents[1] / "docs"


def picture(driver, path: Path, width: int, height: int | None = None) -> None:
    """Save what the page shows, down to a height or to its end."""
    time.sleep(0.5)
    end = driver.execute_script("return document.querySelector('footer').getBoundingClientRect().top")
    clip = {"x": 0, "y": 0, "width": width, "height": height or end, "scale": 1}
    found = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    image = Image.open(io.BytesIO(base64.b64decode(found["data"]))).convert("RGB")
    image.quantize(128).save(path, optimize=True)


def main(plan: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "heart.miser").write_bytes(plan.read_bytes())
        with served(Path(folder)) as url, browser() as driver:
            page = Page(driver, url)
            look(driver, 1180, 900, calm=True)
            page.begin("heart", first="Thallium scan")
            page.give("normal", "no pain", then="Vessels seen in fluoroscopy")
            page.fold("Why this question?")
            page.choose("none")
            picture(driver, DOCS / "page.png", 1180)
            look(driver, 390, 844, dark=True, calm=True)
            picture(driver, DOCS / "page_phone.png", 390, 844)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
