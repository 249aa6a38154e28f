"""Draw two pictures of README.md into docs/pictures, for light and for dark screens.

    python tools/draw_readme.py

It needs SymPy, Pillow, Playwright and an installed Chromium. README.md has the commands that make
the third picture, and pages like these.
"""

import sys
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import kinetree as kt
from kinetree.present.mathml import from_latex

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from measure import FLAGS, program  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
WIDTH_PX = 600
COLOURS = 256  # of a picture: a third of the bytes
STYLE = f"""
@import url("{(ROOT / "src" / "kinetree" / "present" / "math.css").as_uri()}");
:root {{ color-scheme: light dark; font: 14px system-ui, sans-serif; }}
body {{ width: {WIDTH_PX}px; margin: 0; background: light-dark(#fff, #14181e);
        color: light-dark(#1c2430, #e4e9f0); }}
#picture {{ padding: 6px 8px; }} #picture .kinetree {{ max-width: none; }}
#picture svg {{ display: block; max-width: 100%; height: auto; }}
.closed div {{ display: flex; align-items: center; gap: 0.4em; margin: 8px 0; }}
.closed math {{ font-size: 0.95em; }}
"""
# leaves one torque of an explanation, opened to its second level
UNFOLD = """() => {
  const unfolded = document.querySelector('details.unfold');
  unfolded.open = true;
  const torque = unfolded.querySelectorAll(':scope > details')[1];
  torque.open = torque.querySelector('details').open = true;
  torque.querySelectorAll(':scope > table, :scope > p').forEach((x) => x.remove());
  const kept = (x) => [torque, unfolded].includes(x) || x.tagName === 'STYLE';
  for (const parent of [unfolded, unfolded.parentElement])
    [...parent.children].filter((x) => !kept(x)).forEach((x) => x.remove());
  unfolded.style.cssText = 'border: 0; padding: 0; margin: 0';
  unfolded.prepend(Object.assign(document.createElement('summary'), {hidden: true}));
}"""


def unfolded_torque() -> str:
    """A torque of a moving Panda and its parts."""
    rates, accelerations = [1, 0.6, -0.8, 0.5, 1, 1.2, 2], [2, 1, 0, 2, 1, 0, 1]
    steps = kt.robots.panda().explain([0, -0.3, 0, -2, 0, 1.8, 0.5], rates, accelerations)
    return steps.html()


def closed_form() -> str:
    """M and g of a planar arm with symbols for all its numbers."""
    equations = kt.symbolic(kt.robots.planar_2r(), parameters="all")
    parts = [("M(q) =", equations.M), ("g(q) =", equations.g)]
    rows = "".join(f"<div>{from_latex(name)}{value.mathml()}</div>" for name, value in parts)
    return f'<div class="closed">{rows}</div>'


def shots(browser: Browser, markup: str, script: str) -> Iterator[tuple[str, bytes]]:
    """The picture of some markup in each theme: the end of its name, and a PNG."""
    for theme, end in (("light", ""), ("dark", "_dark")):
        context = browser.new_context(color_scheme=theme, device_scale_factor=2)  # type: ignore[arg-type]
        page = context.new_page()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            text = f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"
            path.write_text(f'{text}<div id="picture">{markup}</div>', encoding="utf-8")
            page.goto(path.as_uri())
            page.evaluate(script)
            yield end, page.locator("#picture").screenshot()
        context.close()


def main() -> int:
    """Write the pictures and print their sizes."""
    pictures = {
        "unfolded_torque": (unfolded_torque(), UNFOLD),
        "closed_form": (closed_form(), "() => {}"),
    }
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), args=list(FLAGS))
        for name, (markup, script) in pictures.items():
            for end, data in shots(browser, markup, script):
                path = FOLDER / f"{name}{end}.png"
                Image.open(BytesIO(data)).convert("RGB").quantize(COLOURS).save(path, optimize=True)
                print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} kB")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
