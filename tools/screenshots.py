"""Screenshots of the workbench, documentation, notebooks and pages, with measurements of each.

    python tools/screenshots.py [--only NAME] [--size 1280x800] [--theme light] [--into FOLDER]

Draws with an installed Chromium into build/screenshots/FAMILY/NAME_SIZE_THEME.png, with a contact
sheet per family, size and theme. Every shot is measured: text that is cut or overlaps, contrast
below 4.5, requests to the network, errors of the console. A table of these faults ends the run,
and the exit status is 1 if there are any. Pages of the documentation are those of `make docs`.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.present.mathml import from_latex

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tools")]

from coloured_robot import write_coloured_robot  # noqa: E402
from measure import FLAGS, clipped, low_contrast, overlapping, program, until  # noqa: E402

MATH_STYLE = ROOT / "src" / "kinetree" / "present" / "math.css"
SIZES = ("1280x800", "1920x1080")
THEMES = ("light", "dark")
MOST_PIXELS = 7000  # height of a screenshot
ROBOTS = ("planar_2r", "panda", "quadruped", "humanoid")
READY = "!!(window.kinetree && window.kinetree.ready && window.kinetree.settled())"
DOCS = (
    "index gallery tutorial/2_inverse_dynamics notation simulation explain identification "
    "constraints dynamics workbench command_line api/robot api/methods"
).split()
HOME = [0, -0.3, 0, -2, 0, 1.8, 0.5]
MOVING = {
    "q": HOME,
    "dq": [1, 0.6, -0.8, 0.5, 1, 1.2, 2],
    "ddq": [2, 1, 0, 2, 1, 0, 1],
}


State = tuple[str, str, Callable[[Any], None]]  # name, robot, what to do


@dataclass
class Shot:
    """A page to look at: its address, and a function that brings it into the wanted state."""

    name: str
    address: str
    act: Callable[[Any], None] = lambda page: None
    whole: bool = True  # the whole page, not the window
    faults: list[str] = field(default_factory=list)


def panels(*right: str, bottom: tuple[str, ...] = (), **entries: object) -> dict[str, Any]:
    """Entries of a scene of the workbench that open these panels."""
    docks = {"left": [], "right": list(right), "bottom": list(bottom)}
    return {"docks": docks, "folded": [], **entries}


def change(page: Any, **entries: object) -> None:
    """Change the scene of the workbench and wait for its readings."""
    page.evaluate("(x) => window.kinetree.bench.store.change(x)", entries)
    until(page, READY, 60)


def unfold(page: Any) -> None:
    """Unfold a torque of a moving robot, and open its first terms."""
    change(page, **panels("joints", "torque", **MOVING))
    page.locator("[data-tau='1']").click()
    until(page, "!!document.querySelector('.unfold-head')")
    page.locator(".unfold-parts summary").first.click()
    until(page, READY)


def step(page: Any) -> None:
    """Show a step of the recursion with its vectors."""
    change(page, **panels("recursion", **MOVING))
    until(page, "!!window.kinetree.bench.recursion")
    change(page, step=9)
    page.locator("[data-symbol] tr[data-term]").first.focus()


def run(page: Any, **entries: object) -> None:
    """Simulate from here, and show the middle of the run."""
    before = page.evaluate("window.kinetree.bench.scene.run")
    change(page, **panels("joints", "run", bottom=("plots",), duration=2, **entries))
    page.locator("#run").click()
    until(page, f"window.kinetree.bench.scene.run !== {json.dumps(before)}", 60)
    page.locator("#play").evaluate("x => { if (x.innerText === 'Pause') x.click(); }")
    page.locator("#time").evaluate(
        "x => { x.value = 0.4 * x.max; x.dispatchEvent(new Event('input')); }"
    )
    until(page, READY, 60)


def compare(page: Any) -> None:
    """Keep a run and simulate again with other gains."""
    push = {"link": 1, "point": [0.8, 0, 0], "force": [0, -100, 0], "moment": [0, 0, 0]}
    start = {"q": [0.6, 1.2], "preset": "hold", "push": push}
    run(page, **start)
    page.locator("#keep-run").click()
    gains = page.evaluate("window.kinetree.bench.scene.gains")
    run(page, **start, gains={name: 0.3 * x for name, x in gains.items()})


def upload(folder: Path) -> Callable[[Any], None]:
    """Open a robot with coloured meshes by its files."""

    def act(page: Any) -> None:
        files = write_coloured_robot(folder)
        page.set_input_files("#robot-files", [str(path) for path in files])
        until(page, "window.kinetree.bench.robot.name === 'coloured arm'", 30)
        change(page, **panels("joints", "robot"))

    return act


def push(page: Any) -> None:
    """Push the robot, and show where a force comes from."""
    change(page, **panels("push", "torque"))
    page.locator("#push-on").click()
    until(page, READY)
    page.locator("[data-tau='1']").click()
    until(page, "!!document.querySelector('.unfold-head')")


def classroom(page: Any) -> None:
    """Show the robot in large letters, with arrows of forces."""
    marks = {"gravity": True, "com": True, "mass": True, "force": True}
    state = {"q": [0.5, 1.2], "dq": [1, -1]}
    change(page, **panels("joints", "torque", classroom=True, marks=marks, **state))
    page.keyboard.press("h")


def workbench(into: Path, stack: ExitStack, only: tuple[str, ...] = ()) -> Iterator[Shot]:
    """States of the workbench, or only some; servers run until the end of the stack."""
    from kinetree.views.workbench import view

    states: tuple[State, ...] = (
        ("rest", "panda", lambda page: None),
        ("unfold", "panda", unfold),
        ("mass_matrix", "panda", lambda page: change(page, **panels("matrix", "joints"))),
        ("recursion", "panda", step),
        ("run", "panda", lambda page: run(page, preset="follow", q=HOME)),
        ("compare", "planar_2r", compare),
        ("planar", "planar_2r", lambda page: change(page, **panels("joints", "torque", "matrix"))),
        ("quadruped", "quadruped", lambda page: change(page, **panels("joints", "torque"))),
        ("fall", "quadruped", lambda page: run(page, preset="release", gains={})),
        ("push", "ur5e", push),
        ("humanoid", "humanoid", lambda page: change(page, **panels("matrix", "joints"))),
        ("loops", "delta", lambda page: change(page, **panels("joints", "torque", "drawing"))),
        ("upload", "planar_2r", upload(into / "coloured")),
        ("classroom", "planar_2r", classroom),
    )
    states = tuple(state for state in states if not only or state[0] in only)
    benches = {
        name: stack.enter_context(view(name, browser=False))
        for name in sorted({robot for _, robot, _ in states})
    }

    def ready(act: Callable[[Any], None]) -> Callable[[Any], None]:
        def start(page: Any) -> None:
            until(page, READY, 60)
            act(page)

        return start

    for name, robot, act in states:
        yield Shot(name, benches[robot].address, ready(act), whole=False)


def docs(into: Path, stack: ExitStack) -> Iterator[Shot]:
    """Twelve pages of the documentation, as `make docs` built them."""
    built = ROOT / "build" / "docs"
    if not (built / "index.html").exists():
        raise SystemExit(f"{built} has no index.html: run `make docs` first.")
    for name in DOCS:
        yield Shot(name.replace("/", "_"), (built / f"{name}.html").as_uri())


def notebooks(into: Path, stack: ExitStack) -> Iterator[Shot]:
    """The five notebooks: run, and written as pages of their texts, code and outputs."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        page = into / f"{path.stem}.html"
        if not page.exists() or page.stat().st_mtime < path.stat().st_mtime:
            page.write_text(notebook_page(path), encoding="utf-8")
        yield Shot(path.stem, page.as_uri())


def notebook_page(path: Path) -> str:
    """A notebook with fresh outputs as one page, in the layout of a notebook."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    cells = [
        f'<div class="code"><pre>{escape(cell.source)}</pre>'
        + "".join(f'<div class="output">{output_html(x)}</div>' for x in cell.outputs)
        + "</div>"
        if cell.cell_type == "code"
        else markdown_html(cell.source)
        for cell in notebook.cells
    ]
    font = MATH_STYLE.with_name("math.woff2").as_uri()
    math = MATH_STYLE.read_text("utf8").replace("math.woff2", font)
    style = (
        ":root { color-scheme: light dark; } body { width: 960px; margin: 2em auto;"
        " font: 15px/1.5 sans-serif; background: Canvas; color: CanvasText; }"
        " .code > pre { background: light-dark(#f4f4f4, #242424); padding: 0.6em; overflow: auto; }"
        " .output { overflow: auto; } img { max-width: 100%; } " + math
    )
    return f"<!DOCTYPE html><meta charset='utf-8'><style>{style}</style><body>{''.join(cells)}"


def markdown_html(source: str) -> str:
    """Markdown with formulas between dollars, which a notebook's reader sets by itself."""
    from markdown_it import MarkdownIt

    formulas: list[str] = []

    def place(found: re.Match[str]) -> str:
        formulas.append(from_latex(found[1] or found[2], display=found[1] is not None))
        return f"FORMULA{len(formulas) - 1}END"

    source = re.sub(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", place, source, flags=re.DOTALL)
    text = MarkdownIt().enable("table").render(source)
    return re.sub(r"FORMULA(\d+)END", lambda found: formulas[int(found[1])], text)


def output_html(output: Any) -> str:
    """The richest form of an output that a browser shows."""
    data = output.get("data", {})
    if "text/html" in data:
        return data["text/html"]
    if "text/markdown" in data:
        return markdown_html(data["text/markdown"])
    if "image/svg+xml" in data:
        return data["image/svg+xml"]
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"]}">'
    return f"<pre>{escape(data.get('text/plain', output.get('text', '')))}</pre>"


def pages(into: Path, stack: ExitStack) -> Iterator[Shot]:
    """Report and explain pages of four robots, and of one with coloured meshes."""
    from kinetree.views.page.explain import explain_page
    from kinetree.views.page.report import report_page

    made = {name: (getattr(kt.robots, name)(), None) for name in ROBOTS}
    urdf = write_coloured_robot(into / "coloured")[0]
    made["meshes"] = (kt.load(urdf), urdf)
    for name, (robot, source) in made.items():
        rng = np.random.default_rng(1)
        state = kt.dynamics.random(robot.model, rng), *rng.normal(size=(2, robot.n))
        for kind in ("report", "explain"):
            path = into / f"{kind}_{name}.html"
            text = (
                report_page(robot, source=source)
                if kind == "report"
                else explain_page(robot.explain(*state))
            )
            path.write_text(text, encoding="utf-8")
            yield Shot(path.stem, path.as_uri(), open_term if kind == "explain" else wait_scene)


def wait_scene(page: Any) -> None:
    """Wait until the scene of a report was drawn."""
    until(page, "!!window.kinetree")


def open_term(page: Any) -> None:
    """Unfold a torque of the page of explain."""
    page.locator(".unfold > details > summary").first.click()


FAMILIES = {"workbench": workbench, "docs": docs, "notebooks": notebooks, "pages": pages}


def shown_frames(page: Any) -> None:
    """Bring every frame into view once, so that those which load late are there."""
    for frame in page.locator("iframe").element_handles():
        frame.scroll_into_view_if_needed()
        inside = frame.content_frame()
        if inside is not None:
            inside.wait_for_load_state()
    page.evaluate("scrollTo(0, 0)")


def faults_of(page: Any) -> list[str]:
    """Text that is cut, overlaps or has little contrast, in the page and its frames."""
    found = []
    for frame in page.frames:
        where = "" if frame is page.main_frame else "in a frame: "
        for measured in (clipped, overlapping, low_contrast):
            found += [where + fault for fault in measured(frame)]
    return found


@contextmanager
def opened(browser: Any, shot: Shot, size: str, theme: str) -> Iterator[Any]:
    """The page of a shot in its state; faults of network and console are noted in the shot."""
    width, height = map(int, size.split("x"))
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, offline=False
    )
    page = context.new_page()
    page.on("pageerror", lambda error: shot.faults.append(f"error: {error}"))
    page.on("console", lambda x: note_message(shot, x))
    page.on("request", lambda x: note_request(shot, x.url))
    page.goto(shot.address)
    shot.act(page)
    yield page
    context.close()


def note_message(shot: Shot, message: Any) -> None:
    """Note an error of the console, or a refusal of the policy of the page."""
    if message.type == "error" or "Content Security Policy" in message.text:
        shot.faults.append(f"console: {message.text}")


def note_request(shot: Shot, url: str) -> None:
    """Note a request to anything but the page's own place."""
    own = shot.address.rsplit("/", 1)[0] if shot.address.startswith("http") else "file:"
    if not url.startswith((own, "data:", "blob:", "about:")):
        shot.faults.append(f"request: {url}")


def shoot(page: Any, shot: Shot, path: Path, size: str) -> None:
    """Store a screenshot of a page, of its whole height if the shot asks for it."""
    width, height = map(int, size.split("x"))
    tall = page.evaluate("document.documentElement.scrollHeight") if shot.whole else height
    tall = min(max(tall, height), MOST_PIXELS)
    framed = len(page.frames) > 1  # frames outside of the window are not drawn
    if framed:
        page.set_viewport_size({"width": width, "height": tall})
        page.wait_for_timeout(600)
    page.wait_for_timeout(150)
    box = {"x": 0, "y": 0, "width": width, "height": tall}
    page.screenshot(path=path, full_page=shot.whole and not framed, clip=box)


def contact_sheet(paths: list[Path], into: Path) -> None:
    """Small pictures of all screenshots in rows of four, with their names."""
    from PIL import Image, ImageDraw

    wide, high, gap = 640, 420, 24
    rows = -(-len(paths) // 4)
    sheet = Image.new("RGB", (4 * (wide + 8), rows * (high + gap)), "#808080")
    draw = ImageDraw.Draw(sheet)
    for k, path in enumerate(paths):
        x, y = k % 4 * (wide + 8), k // 4 * (high + gap)
        with Image.open(path) as picture:
            small = picture.crop((0, 0, picture.width, min(picture.height, picture.width)))
            small.thumbnail((wide, high))
            sheet.paste(small, (x, y + gap))
        draw.text((x + 4, y + 4), path.stem, fill="white")
    sheet.save(into)


def main() -> int:
    """Draw the wanted screenshots and print their faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="name of a family or of a shot")
    parser.add_argument("--size", choices=SIZES)
    parser.add_argument("--theme", choices=THEMES)
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "screenshots")
    wanted = parser.parse_args()
    variants = [
        (size, theme)
        for size in SIZES
        for theme in THEMES
        if wanted.size in (None, size) and wanted.theme in (None, theme)
    ]
    found: list[tuple[str, str]] = []
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, ExitStack() as stack:
        browser = driver.chromium.launch(executable_path=program(), args=list(FLAGS))
        chosen = [name for name in FAMILIES if wanted.only == name]
        for family in chosen or FAMILIES:
            found += family_shots(browser, family, wanted, variants, stack)
        browser.close()
    for place, fault in found:
        print(f"{place:45} {fault}")
    print(f"{len(found)} faults")
    return 1 if found else 0


def family_shots(
    browser: Any,
    family: str,
    wanted: argparse.Namespace,
    variants: list[tuple[str, str]],
    stack: ExitStack,
) -> Iterator[tuple[str, str]]:
    """Draw the shots of a family; gives (place, fault)."""
    into = wanted.into / family
    into.mkdir(parents=True, exist_ok=True)
    sheets: dict[tuple[str, str], list[Path]] = {variant: [] for variant in variants}
    for shot in FAMILIES[family](into, stack):
        if wanted.only not in (None, family, shot.name):
            continue
        for size, theme in variants:
            began, path = time.perf_counter(), into / f"{shot.name}_{size}_{theme}.png"
            shot.faults.clear()
            with opened(browser, shot, size, theme) as page:
                shown_frames(page)
                shoot(page, shot, path, size)
                faults = [*shot.faults, *faults_of(page)]
            sheets[size, theme].append(path)
            print(
                f"{family}/{path.stem}  {len(faults)} faults  {time.perf_counter() - began:.1f} s"
            )
            yield from ((f"{family}/{path.stem}", fault) for fault in faults)
    for (size, theme), paths in sheets.items():
        if len(paths) > 1:
            contact_sheet(paths, into / f"sheet_{size}_{theme}.png")


if __name__ == "__main__":
    sys.exit(main())
