"""The optimised graphs of three toys, stored as text: a refactoring shows an empty diff.

After a change that is meant to change them, look at the diff and write them anew:

    python tests/unit/engine/golden/test_kernels.py
"""

import difflib
from pathlib import Path

import pytest

from kinetree import robots
from kinetree.engine.compiler.graph import text
from kinetree.engine.kernels import trace_quantity

FOLDER = Path(__file__).parent / "kernels"
TOYS = {"planar_2r": robots.planar_2r, "rp": robots.rp, "spatial_3r": robots.spatial_3r}


def listing(toy: str) -> str:
    """The graph of a toy's inverse dynamics, with its number of operations."""
    graph = trace_quantity(TOYS[toy]().model, "inverse_dynamics")
    return f"; inverse_dynamics of {toy}: {graph.operations} operations\n{text(graph)}"


@pytest.mark.parametrize("toy", TOYS)
def test_inverse_dynamics_of_a_toy_is_as_stored(toy, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "0")
    stored = (FOLDER / f"{toy}.txt").read_text(encoding="utf-8").splitlines()
    found = listing(toy).splitlines()
    if found != stored:
        names = f"{toy}.txt, as stored", "as traced now"
        diff = "\n".join(difflib.unified_diff(stored, found, *names, lineterm=""))
        command = "python tests/unit/engine/golden/test_kernels.py"
        pytest.fail(f"{diff}\nIf this is meant: {command}", pytrace=False)


def test_only_these_toys_are_stored():
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(TOYS)


if __name__ == "__main__":
    for toy in TOYS:
        (FOLDER / f"{toy}.txt").write_text(listing(toy), encoding="utf-8", newline="\n")
