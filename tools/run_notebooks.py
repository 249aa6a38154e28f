"""Run the notebooks and store their results, with still pictures in place of frames.

    python tools/run_notebooks.py [NAME ...]     all notebooks, or those with NAME in their names

Stored results make a notebook readable on a website and in previews. A frame with scripts is
stored as the picture below it, which every reader shows and which is small; run a cell to get the
frame.
"""

import base64
import re
import sys
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
STILL = re.compile(r'<img alt="[^"]*" src="data:(image/[a-z+]+);base64,([^"]+)"')
MOST = 1_000_000  # characters of a stored notebook
CELL_FILE = re.compile(r"/[\w/]*ipykernel_\d+/\d+\.py")  # in warnings: a path of this machine
VOLATILE = ("execution", "signature", "widgets")


def still_output(output: Any) -> Any:
    """An output with the picture of its frame in place of the frame; others as they are."""
    data = output.get("data", {})
    html = data.get("text/html", "")
    found = STILL.search(html) if "<iframe" in html else None
    if found is None:
        return output
    del data["text/html"]
    kind, coded = found.groups()
    data[kind] = base64.b64decode(coded).decode() if kind == "image/svg+xml" else coded
    return output


def run(path: Path) -> int:
    """Run one notebook and store it; returns its number of characters."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    for k, cell in enumerate(notebook.cells):
        cell.id = f"cell-{k + 1}"  # instead of random names, which change with every run
        cell.metadata = {key: x for key, x in cell.metadata.items() if key not in VOLATILE}
        if cell.cell_type == "code":
            cell.outputs = [still_output(output) for output in cell.outputs]
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    text = CELL_FILE.sub("cell", nbformat.writes(notebook).rstrip()) + "\n"
    if len(text) > MOST:
        raise SystemExit(f"{path.name} has {len(text)} characters; expected at most {MOST}.")
    path.write_text(text, encoding="utf-8")
    return len(text)


def main() -> None:
    """Run the notebooks that are named, or all."""
    wanted = sys.argv[1:]
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not wanted or any(name in path.name for name in wanted):
            print(f"{path.name}: {run(path) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
