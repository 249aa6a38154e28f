"""Run the snippets of the documentation with another Python, page by page.

    python tools/run_snippets.py --python PATH [PAGE ...] [--limit SECONDS]

PATH is the Python of an environment in which kinetree is installed, for example one without
llvmlite (docs/install.md). Every page is run in a process of its own in an empty folder. A page
passes if all its snippets run and print the text below them. It is left out if it needs a package
that the environment does not have (so is a page that shows machine code, without llvmlite); the
reason is shown.
Exit code: 0 if no page failed, otherwise 1.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SNIPPET = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
LEFT_OUT = "left out: "

# runs in the other Python: reads a page from standard input, prints the verdict as the last line
RUNNER = """
import contextlib, io, json, sys, traceback, warnings
page = json.load(sys.stdin)
verdict = "passed"
names = {"__name__": "page"}
warned = []
warnings.showwarning = lambda message, kind, *_: warned.append(kind.__name__)
for number, (code, expected) in enumerate(page, 1):
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"snippet {number}", "exec"), names)
    except BaseException as problem:
        if isinstance(problem, ImportError) or "install llvmlite" in str(problem):
            verdict = f"left out: snippet {number}: {str(problem)}"
            break
        verdict = f"snippet {number}: {traceback.format_exc(limit=-3)}"
        break
    if expected and printed.getvalue() != expected:
        verdict = f"snippet {number} prints\\n{printed.getvalue()}\\nand not\\n{expected}"
        break
print(json.dumps([verdict, sorted(set(warned))]))
"""


def snippets(page: Path) -> list[tuple[str, str]]:
    """The snippets of a page, each with the text that it has to print, or an empty one."""
    return SNIPPET.findall(page.read_text("utf8"))


def run_page(python: str, page: Path, limit: float) -> tuple[str, list[str]]:
    """Run a page; return the verdict and the kinds of warnings."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = subprocess.run(
                [python, "-c", RUNNER],
                input=json.dumps(snippets(page)),
                capture_output=True,
                text=True,
                cwd=folder,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"takes more than {limit:g} s", []
    try:
        verdict, warned = json.loads(found.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return f"ended with exit code {found.returncode}\n{found.stderr}", []
    return verdict, warned


def main() -> int:
    """Run the pages and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the Python that runs them")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one page")
    parser.add_argument("pages", nargs="*", help="names such as symbolic.md; all pages without")
    given = parser.parse_args()
    pages = [p for p in sorted(DOCS.rglob("*.md")) if snippets(p)]
    if given.pages:
        pages = [p for p in pages if str(p.relative_to(DOCS)) in given.pages]
    python = str(Path(given.python).absolute())  # not resolved: it names its environment
    counts = {"passed": 0, "left out": 0, "failed": 0}
    for page in pages:
        begun = time.perf_counter()
        verdict, warned = run_page(python, page, given.limit)
        kind = "passed" if verdict == "passed" else "failed"
        kind = "left out" if verdict.startswith(LEFT_OUT) else kind
        counts[kind] += 1
        seconds = time.perf_counter() - begun
        note = f" ({', '.join(warned)})" if warned else ""
        print(f"{kind:9} {seconds:6.1f} s  {page.relative_to(DOCS)}{note}", flush=True)
        if kind != "passed":
            print("    " + verdict.removeprefix(LEFT_OUT).strip().replace("\n", "\n    "))
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
