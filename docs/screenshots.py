"""Takes the pictures of the page for README and docs: python docs/screenshots.py URL, where `leaders` is served."""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURES = {
    "page-ask": ("/ask?subject=France&predicate=has+president&object=?&time=1987", "light", 640),
    "page-entity": ("/entity?key=France&time=1990", "light", 830),
}
COLOURS = 96  # of the palette: text stays sharp, the file small


def main(address: str) -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (path, scheme, height) in PICTURES.items():
            page = browser.new_page(viewport={"width": 1100, "height": height}, color_scheme=scheme)
            page.goto(address.rstrip("/") + path)
            page.wait_for_load_state("networkidle")
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS)
            picture.save(Path(__file__).parent / f"{name}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
