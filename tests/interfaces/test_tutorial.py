"""The tutorial: its notebooks have the text of the chapters, run, and print what the pages show."""

import ast
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
NOTEBOOKS = ROOT / "notebooks" / "tutorial"
SNIPPET = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
IDS = [chapter.stem for chapter in CHAPTERS]


@pytest.fixture(scope="module")
def tool():
    """The module tools/tutorial_notebooks.py."""
    path = ROOT / "tools" / "tutorial_notebooks.py"
    spec = importlib.util.spec_from_file_location("tutorial_notebooks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells_of(name):
    return json.loads((NOTEBOOKS / f"{name}.ipynb").read_text("utf8"))["cells"]


def run(code, names):
    """The value of the last expression, as a notebook shows it; None without one."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_there_are_six_chapters_in_the_order_of_the_course():
    topics = ("twists", "inverse_dynamics", "closed_form", "forward_dynamics_and_simulation")
    topics = (*topics, "task_space", "optimal_control")
    assert IDS == [f"{k}_{topic}" for k, topic in enumerate(topics, 1)]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=IDS)
def test_a_chapter_ends_with_solved_exercises(chapter):
    text = chapter.read_text("utf8")
    number = chapter.stem[0]
    assert text.startswith(f"# {number}. ")
    exercises = re.findall(rf"^\*\*{number}\.(\d) [^*]+[.?]\*\* ", text, re.MULTILINE)
    assert exercises == [str(k) for k in range(1, len(exercises) + 1)]
    assert 1 <= len(exercises) <= 6
    solutions = re.split(rf"^\*\*{number}\.\d ", text, flags=re.MULTILINE)[1:]
    assert all(part.count("````{solution}") == 1 for part in solutions)
    assert all("```python" in part for part in solutions)


def test_the_notebooks_have_the_text_of_the_chapters(tool):
    assert tool.outdated() == [], "run python tools/tutorial_notebooks.py"


def test_a_change_of_a_chapter_is_noticed(tool, monkeypatch, tmp_path):
    monkeypatch.setattr(tool, "CHAPTERS", tmp_path)
    for chapter in CHAPTERS:
        text = chapter.read_text("utf8").replace("20, 70", "20, 71")
        (tmp_path / chapter.name).write_text(text, "utf8")
    monkeypatch.setattr(tool, "relinked", lambda text: text)
    monkeypatch.setattr(tool, "NOTEBOOKS", tmp_path)
    for chapter in CHAPTERS:
        stored = tool.Notebook(chapter, pictures=False).text()
        (tmp_path / f"{chapter.stem}.ipynb").write_text(stored, "utf8")
    assert tool.outdated() == ["5_task_space"]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=IDS)
def test_a_chapter_runs_as_notebook_and_prints_what_the_page_shows(
    chapter, tmp_path, monkeypatch, capsys
):
    """Snippets of the chapters run here only; test_docs.py leaves them out."""
    pytest.importorskip("sympy")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    snippets = SNIPPET.findall(chapter.read_text("utf8"))
    cells = [cell for cell in cells_of(chapter.stem) if cell["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    names, shown, left = {"__name__": "__main__"}, 0, list(snippets)
    for cell in cells:
        code = "".join(cell["source"])
        capsys.readouterr()
        value = run(code, names)
        printed = capsys.readouterr().out
        if left and code == left[0][0].rstrip("\n"):
            assert printed == left.pop(0)[1]
        elif code.isidentifier() or (code.endswith(")") and "kt.robots." in code):
            assert hasattr(value, "_repr_html_") or hasattr(value, "_repr_mimebundle_")
            shown += 1
        else:
            assert plt.gcf().axes[0].lines
            shown += 1
            plt.close("all")
    assert not left
    assert shown == len(re.findall(r"```\{(?:plot|scene)\}", chapter.read_text("utf8")))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=IDS)
def test_a_notebook_is_small_valid_and_has_its_drawings_and_folded_solutions(chapter):
    nbformat = pytest.importorskip("nbformat")
    path = NOTEBOOKS / f"{chapter.stem}.ipynb"
    assert path.stat().st_size < 200_000
    nbformat.validate(nbformat.read(path, as_version=4))
    text, page = path.read_text("utf8"), chapter.read_text("utf8")
    assert text.count("data:image/svg+xml;base64,PHN2Zy") == page.count("```{drawing}")
    folded = [cell for cell in cells_of(chapter.stem) if "hide-input" in str(cell["metadata"])]
    inside = "".join(re.findall(r"````\{solution\}.*?\n````\n", page, re.DOTALL))
    assert len(folded) == inside.count("```python")
