"""The reference is complete: every public name has a place on one of its pages."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import kinetree as kt

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "api"
PAGES = {page.stem: page.read_text("utf8") for page in sorted(REFERENCE.glob("*.md"))}
NAMED = set(re.findall(r"auto(?:class|function):: (\S+)", "\n".join(PAGES.values())))
MODULES = set(re.findall(r"automodule:: (\S+)", "\n".join(PAGES.values())))


@pytest.mark.parametrize("name", sorted(set(kt.__all__) - {"__version__"}))
def test_a_public_name_is_in_the_reference(name):
    thing = getattr(kt, name)
    if inspect.ismodule(thing):
        assert thing.__name__ in MODULES
        return
    modules = [importlib.import_module(module) for module in MODULES]
    homes = [module for module in modules if getattr(module, name, None) is thing]
    assert f"kinetree.{name}" in NAMED or homes


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_of_the_reference_lists_what_it_offers(module):
    """`:imported-members:` shows what `__all__` lists, or else the page names its members."""
    found = importlib.import_module(module)
    assert inspect.getdoc(found)
    assert hasattr(found, "__all__") or f"{module}\n   :members:" in "\n".join(PAGES.values())


def test_every_page_of_the_reference_is_in_the_contents():
    contents = (REFERENCE.parent / "index.md").read_text("utf8")
    assert all(f"api/{stem}\n" in contents for stem in PAGES)


def test_the_page_of_all_methods_links_every_callable_to_its_docstring(built_docs):
    sys.path.insert(0, str(REFERENCE.parents[1] / "tools"))
    public = pytest.importorskip("method_table").public
    folder, _ = built_docs
    page = (folder / "api" / "methods.html").read_text("utf8")
    row = r'data-path="([^"]+)"><td><code><a href="([^"#]*)#([^"]+)"'
    links = {path: (file, anchor) for path, file, anchor in re.findall(row, page)}
    assert links.keys() == public().keys()
    texts = {file: (folder / "api" / file).read_text("utf8") for file, _ in links.values()}
    assert [x for x, (file, anchor) in links.items() if f'id="{anchor}"' not in texts[file]] == []
