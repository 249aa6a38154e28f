"""Every notebook runs from top to bottom, and is stored with results that any reader can show."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import gettempdir

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_SIZE = 1_000_000  # characters of a stored notebook
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")


def kinds(cell):
    """Kinds of the outputs of a cell, frames as pictures; lines of one stream count once."""
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        picture = {"text/html": "image"} if "<iframe" in data.get("text/html", "") else {}
        kind = {picture.get(x, re.sub("^image/.*", "image", x)) for x in data}
        kind = kind or {output.output_type}
        if not found or found[-1] != kind or data:
            found.append(kind)
    return found


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """One kernel for all notebooks, which is emptied before each, and the folder it runs in."""
    manager = pytest.importorskip("jupyter_client").AsyncKernelManager(kernel_name="python3")
    yield manager, str(tmp_path_factory.mktemp("notebooks"))
    if manager.has_kernel:  # in a thread, since a browser's event loop may run in this one
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: asyncio.run(end(manager))).result()


async def end(manager):
    """End a kernel and close its sockets."""
    await manager.shutdown_kernel(now=True)
    await manager.cleanup_resources()


def test_there_are_five():
    assert len(NOTEBOOKS) == 5


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the messaging beneath Jupyter
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_and_has_the_stored_kinds_of_results(path, kernel):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    stored = [kinds(cell) for cell in cells]
    assert any({"image", "text/plain"} in kind for kind in stored)
    manager, folder = kernel
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    place = {"metadata": {"path": folder}}
    client = nbclient.NotebookClient(notebook, km=manager, timeout=300, resources=place)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    assert [kinds(cell) for cell in cells] == stored, "run python tools/run_notebooks.py"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_stored_results_are_small_and_need_no_script(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < MAX_SIZE
    assert "<iframe" not in text and "<script" not in text
    assert str(ROOT) not in text and gettempdir() not in text
