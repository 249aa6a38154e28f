"""Where the given MJCF files lie, and small models written for a test."""

import csv
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

SHARED = Path(__file__).resolve().parents[6] / "shared"
MODELS, BAD_INPUTS = SHARED / "models", SHARED / "bad_inputs"


def given_models() -> list:
    """(folder, meta) of every MJCF model, one skipped entry when the folder is absent."""
    found = sorted((MODELS / "mjcf").glob("*/meta.json"))
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason="../shared/models is absent"))]
    return [pytest.param(path.parent, id=path.parent.name) for path in found]


def meta_of(folder: Path) -> dict:
    return json.loads((folder / "meta.json").read_text(encoding="utf8"))


def bad_inputs() -> list:
    """Rows of the manifest of malformed files, one skipped entry when the folder is absent."""
    manifest = BAD_INPUTS / "manifest.csv"
    if not manifest.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="../shared/bad_inputs is absent"))]
    with manifest.open(newline="", encoding="utf8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["format"] == "mjcf"]
    return [pytest.param(row, id=row["id"]) for row in rows]


def reference_module() -> ModuleType:
    """The reader of the reference values that lies beside them."""
    spec = importlib.util.spec_from_file_location("given_refdata", MODELS / "refdata.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BODY = (
    '<body name="b1"><joint name="j1" axis="0 0 1"/>'
    '<inertial pos="0 0 .1" mass="1" diaginertia="1 1 1"/>{}</body>'
)


def model(inside: str = "", *, top: str = "", body: str = BODY) -> str:
    """An MJCF text: one hinged body that holds `inside`, and `top` beside the world."""
    return f"<mujoco model='toy'>{top}<worldbody>{body.format(inside)}</worldbody></mujoco>"
