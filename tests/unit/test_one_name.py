"""One mass, one letter, one name and one number for each thing, wherever Panda is shown."""

import base64
import json
import re
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from cli_program import Program
from kinetree.parallel.sampling import argument_columns
from kinetree.views import report_page
from kinetree.views.workbench.api import API
from kinetree.views.workbench.shelf import Shelf

NOTATION = Path(__file__).parents[2] / "docs" / "notation.md"
BASE = '<link name="panda_link0"><inertial><mass value="{}"/>{}</inertial></link>'
INERTIA = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>'
WRENCH = ["nx", "ny", "nz", "fx", "fy", "fz"]
Q, DQ, DDQ = [0.1, 0.2, 0.3, -1.5, 0.4, 1.0, 0.5], [0.1] * 7, [0.2] * 7
RATES = f"--q {' '.join(map(str, Q))} --dq {' '.join(map(str, DQ))}"
MOTION = f"{RATES} --ddq {' '.join(map(str, DDQ))}"
INFO, ID, TERMS, EXPLAIN = "info", f"id {MOTION}", f"terms {RATES}", f"explain {MOTION}"
JSON = " --json"
LINES = (INFO, INFO + JSON, ID, ID + JSON, TERMS, TERMS + JSON, EXPLAIN)


@pytest.fixture(scope="module")
def panda(tmp_path_factory):
    """Panda on a base with mass, as files have it: its text, path, robot and workbench."""
    text = kt.robots.panda().to_urdf()
    text = text.replace('<link name="panda_link0"/>', BASE.format(0.63, INERTIA))
    path = tmp_path_factory.mktemp("panda") / "panda.urdf"
    path.write_text(text, encoding="utf-8")
    robot = kt.load(path)
    shelf = Shelf()
    upload = {"name": "panda.urdf", "base64": base64.b64encode(text.encode()).decode()}
    opened = API["open"](shelf, {"files": [upload], "main": "panda.urdf"})
    page = report_page(robot, samples=20)
    yield SimpleNamespace(path=path, robot=robot, shelf=shelf, opened=opened, page=page)
    shelf.close()


@pytest.fixture(scope="module")
def texts(panda, server):
    """The outputs of the command lines for Panda."""
    program = Program(panda.path.parent, server)
    words = {line: line.split() for line in LINES}
    lines = {line: [x, str(panda.path), *more] for line, (x, *more) in words.items()}
    outputs = {line: program(x, COLUMNS="200").stdout for line, x in lines.items()}
    return {line: " ".join(text.split()) for line, text in outputs.items()}


def state(panda):
    return {"robot": panda.opened["id"], "q": Q, "dq": DQ, "ddq": DDQ, "push": None}


def test_the_total_mass_has_the_base_and_the_moving_mass_has_not(panda, texts):
    moving = float(np.sum(panda.robot.model.m))
    total = moving + 0.63
    for digits, text in {6: texts[INFO], 5: panda.page}.items():
        words = f"total mass {total:.{digits}g} kg, moving mass {moving:.{digits}g} kg"
        assert words in text.replace("−", "-")
    assert f"total mass {total:.6g} kg, moving mass {moving:.6g} kg" in str(panda.robot.report)
    shown = json.loads(texts[INFO + JSON])
    assert [shown["mass"], shown["moving_mass"]] == pytest.approx([total, moving], rel=1e-14)
    listed = [shown["base_link"]["mass"], *(link["mass"] for link in shown["links"])]
    assert sum(listed) == pytest.approx(total, rel=1e-14)
    assert panda.opened["mass"] == pytest.approx({"total": total, "moving": moving}, rel=1e-14)
    app = files("kinetree.views.workbench").joinpath("app", "panels.js").read_text("utf-8")
    assert '"total mass"' in app and '"moving mass"' in app


def test_moments_are_n_and_forces_are_f(panda, texts):
    model = panda.robot.model
    explained = panda.robot.explain(Q, DQ, DDQ)
    header = re.compile(r"F\W.*?nx\W+ny\W+nz\W+fx\W+fy\W+fz", re.DOTALL)
    assert header.search(texts[EXPLAIN]) and header.search(explained.markdown())
    assert "nx" in explained.html() and "n_x" in explained.latex()
    steps = API["recursion"](panda.shelf, state(panda))["steps"]
    wrenches = [x for step in steps for x in step["quantities"] if x["symbol"] == "F"]
    assert wrenches and all(list(x["columns"]) == WRENCH for x in wrenches)
    columns = argument_columns(model, "F_ext")[:6]
    assert [re.split("[.:]", name)[1] for name in columns] == WRENCH
    for text in (texts[EXPLAIN], explained.html(), panda.page, str(columns)):
        assert not re.search(r"\bm[xyz]\b", text)


def test_joint_forces_are_the_same_numbers_everywhere(panda, texts):
    tau = panda.robot.inverse_dynamics(Q, DQ, DDQ)
    same = {
        "id": json.loads(texts[ID + JSON])["tau"],
        "explain": panda.robot.explain(Q, DQ, DDQ).tau,
        "workbench": API["readings"](panda.shelf, state(panda))["tau"],
    }
    for place, found in same.items():
        np.testing.assert_allclose(np.asarray(found, float), tau, rtol=1e-12, err_msg=place)
    terms = json.loads(texts[TERMS + JSON])
    parts = API["readings"](panda.shelf, state(panda))["parts"]
    np.testing.assert_allclose(parts["Coriolis"], terms["c"], atol=1e-12)
    np.testing.assert_allclose(parts["gravity"], terms["g"], atol=1e-12)
    np.testing.assert_allclose(parts["inertia"], np.array(terms["M"]) @ DDQ, atol=1e-12)
    shares = panda.robot.explain(Q, DQ, DDQ).torque
    np.testing.assert_allclose(shares["inertia"], parts["inertia"], atol=1e-12)
    velocity = shares["Coriolis"] + shares["centrifugal"]
    np.testing.assert_allclose(velocity, parts["Coriolis"], atol=1e-12)
    np.testing.assert_allclose(shares["gravity"], parts["gravity"], atol=1e-12)


def test_things_have_the_names_of_the_notation(panda, texts):
    words = NOTATION.read_text("utf-8").partition("## Names")[2].partition("\n## ")[0]
    names = re.findall(r"^\| ([^|]+) \|", words, re.MULTILINE)
    for name in ("joint forces", "effort", "total mass", "moving mass", "tool"):
        assert name in names
    app = files("kinetree.views.workbench").joinpath("app")
    scripts = "".join(x.read_text("utf-8") for x in app.iterdir() if x.name.endswith(".js"))
    html = panda.robot.explain(Q, DQ, DDQ).html()
    for text in (html, panda.page, scripts, texts[TERMS]):
        assert "joint forces" in text.lower()
    for text in (texts[INFO], panda.page, panda.robot.model._repr_html_()):
        assert "effort" in text and "speed" in text
    for text in (texts[INFO], panda.page):
        assert re.search(r"tool '?panda_link7|tool '?\w+", text)
    for text in (texts[INFO], html, panda.page, scripts):
        assert not re.search(r"end[- ]effector|\bof the hand\b", text, re.IGNORECASE)


def test_units_of_joint_forces_are_the_same(panda, texts):
    assert {dof["torque_unit"] for dof in panda.opened["dofs"]} == {"N m"}
    assert set(json.loads(texts[ID + JSON])["units"]["tau"]) == {"N m"}
    for text in (texts[INFO], texts[ID], panda.page):
        assert "N m" in text and "Nm" not in text and "N·m" not in text
