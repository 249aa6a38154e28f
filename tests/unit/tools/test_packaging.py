"""The conda recipe and the container file agree with pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

import kinetree

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RECIPE = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
CONTAINER = (ROOT / "packaging" / "Containerfile").read_text("utf-8")


def rendered() -> dict:
    """The recipe with the values of its context."""
    text = RECIPE
    for name, value in yaml.safe_load(RECIPE)["context"].items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    return yaml.safe_load(text)


def test_the_recipe_has_the_fields_of_the_project():
    recipe = rendered()
    assert recipe["package"] == {"name": PROJECT["name"], "version": kinetree.__version__}
    about = recipe["about"]
    assert about["summary"] == PROJECT["description"]
    assert about["license"] == PROJECT["license"]
    assert about["license_file"] == PROJECT["license-files"]
    entry_points = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == entry_points
    assert recipe["build"]["noarch"] == "python"


def test_the_recipe_asks_for_the_packages_of_the_project():
    wanted = {f"python {PROJECT['requires-python']}"}
    for line in PROJECT["dependencies"]:
        name, bound = re.match(r"([\w-]+)(\S+?);?(?: |$)", line).groups()
        wanted.add(f"{name} {bound}")
    assert set(rendered()["requirements"]["run"]) == wanted
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    assert {x.replace(">", " >", 1) for x in build} <= set(rendered()["requirements"]["host"])


def test_the_container_copies_files_that_exist_for_a_python_of_the_project():
    copied = re.findall(r"(?m)^COPY (?!--)(.+) \S+$", CONTAINER)
    assert all((ROOT / name).exists() for line in copied for name in line.split())
    pythons = {x.rpartition(" ")[2] for x in PROJECT["classifiers"] if "Python :: 3." in x}
    assert set(re.findall(r"(?m)^FROM python:([\d.]+)-slim", CONTAINER)) <= pythons
    (extra,) = re.findall(r"(?m)^ARG EXTRAS=(\w+)$", CONTAINER)
    assert extra in PROJECT["optional-dependencies"]
