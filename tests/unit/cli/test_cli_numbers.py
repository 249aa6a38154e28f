"""What commands compute: JSON equals the library's numbers bit by bit, degrees are undone."""

import dataclasses
import json

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import read_csv
from kinetree.symbols.robot import SYMBOLIC

STATE = "--q 0.1 -0.3 0.2 -1.5 -1e-3 1.2 0.4 --dq 0.5 -0.2 0 1 0 0.3 -0.7"
Q = np.array([0.1, -0.3, 0.2, -1.5, -1e-3, 1.2, 0.4])
DQ = np.array([0.5, -0.2, 0, 1, 0, 0.3, -0.7])
DDQ = np.array([1, 0, -1, 0.5, 0.25, 0, -3.0])


def words(x):
    return " ".join(map(repr, np.asarray(x, float).tolist()))


@pytest.fixture(scope="module")
def panda():
    return kt.robots.panda()


def test_inverse_dynamics(program, panda):
    found = program.json(f"id panda {STATE} --ddq {words(DDQ)}")
    assert found["tau"] == panda.inverse_dynamics(Q, DQ, DDQ).tolist()
    assert (found["q"], found["dq"], found["ddq"]) == (Q.tolist(), DQ.tolist(), DDQ.tolist())
    assert found["robot"] == "Franka Panda" and found["joints"] == list(panda.model.dof_names)
    assert set(found["units"]["tau"]) == {"N m"} and set(found["units"]["q"]) == {"rad"}


def test_forward_dynamics(program, panda):
    found = program.json(f"fd panda {STATE} --tau {words(DDQ)}")
    assert found["ddq"] == panda.forward_dynamics(Q, DQ, DDQ).tolist()


def test_terms(program, panda):
    found = program.json(f"terms panda {STATE}")
    assert found["M"] == panda.mass_matrix(Q).tolist()
    assert found["C"] == panda.coriolis_matrix(Q, DQ).tolist()
    assert found["c"] == panda.coriolis_forces(Q, DQ).tolist()
    assert found["g"] == panda.gravity_forces(Q).tolist()
    assert found["friction"] == [0.0] * 7


def test_explain(program, panda):
    found = program.json(f"explain panda {STATE} --formulation link")
    expected = panda.explain(Q, DQ, np.zeros(7), formulation="link")
    assert found["torque"]["tau"] == expected.tau.tolist()
    for name, x in expected.torque.shares.items():
        assert found["torque"]["shares"][name] == np.asarray(x, float).tolist()
    for link, steps in zip(found["links"], expected.links, strict=True):
        assert link["link"] == steps.name and list(link["terms"]) == list(steps.terms)
        for symbol, term in steps.terms.items():
            parts = link["terms"][symbol]["parts"]
            assert [x["name"] for x in parts] == list(term.names)
            assert link["terms"][symbol]["value"] == np.asarray(term.value).tolist()


def test_explain_writes_the_format_that_the_ending_of_the_file_names(program):
    beginnings = {"x.html": "<!DOCTYPE html>", "x.md": "# planar 2R", "x.tex": r"\section*"}
    for name, beginning in beginnings.items():
        program(f"explain planar_2r --q 0.3 0.7 --dq 1 2 -o {name}")
        assert program.folder.joinpath(name).read_text("utf8").startswith(beginning)
    page = program.folder.joinpath("x.html").read_text("utf8")
    assert "https://" not in page and "createUnfolding" in page


def test_simulate_and_check(program, panda):
    found = program.json(
        f"simulate panda {STATE} --duration 0.3 --limits record --tau {words(DDQ)}"
    )
    motion = panda.simulate(Q, DQ, duration=0.3, tau=DDQ, limits="record")
    for name in ("t", "q", "dq", "ddq", "tau"):
        assert found[name] == getattr(motion, name).tolist()
    assert [x["joint"] for x in found["violations"]] == [x.joint for x in motion.meta["violations"]]
    text = program(
        f"simulate panda {STATE} --duration 0.3 --limits record --tau {words(DDQ)} -o -"
    ).stdout
    (program.folder / "motion.csv").write_text(text, encoding="utf-8")
    read = read_csv(program.folder / "motion.csv", panda)
    report = panda.check(read)
    verdict = program.json("check panda motion.csv", code=0 if report.ok else 1)
    assert verdict["ok"] is report.ok and verdict["slower"] == report.slower
    assert len(verdict["violations"]) == len(report.violations) > 0
    for own, theirs in zip(verdict["violations"], report.violations, strict=True):
        assert own == dataclasses.asdict(theirs) | {"unit": theirs.unit}
    for own, theirs in zip(verdict["joints"], report.joints, strict=True):
        plain = {k: x if x not in (np.inf, -np.inf) else None for k, x in vars(theirs).items()}
        assert own == plain
    worst = min(x["margin"] for x in verdict["margins"] if x["quantity"] == "speed")
    assert worst == pytest.approx(
        min(x.speed_limit - abs(x.peak_speed) for x in report.joints), rel=1e-12
    )
    assert all(x["ok"] == (x["margin"] >= 0) for x in verdict["margins"])


def test_info(program, panda):
    found = program.json("info panda")
    assert found["n"] == 7 and [x["mass"] for x in found["links"]] == panda.model.m.tolist()
    assert [x["com"] for x in found["links"]] == panda.model.com.tolist()
    assert [x["lower"] for x in found["joints"]] == [x.limits.lower for x in panda.model.joints]
    assert program.json("info cart_pole")["joints"][1]["upper"] is None  # no limit, no Infinity
    turned = program.json("info scara --degrees")["joints"]
    scara = kt.robots.scara().model.joints
    for own, joint in zip(turned, scara, strict=True):
        if joint.type == "prismatic":
            assert own["upper"] == joint.limits.upper and own["unit"] == "m"
        else:
            assert own["upper"] == pytest.approx(np.rad2deg(joint.limits.upper), rel=1e-15)


@pytest.mark.parametrize("format", ["text", "latex", "mathml"])
def test_equations(program, format):
    pytest.importorskip("sympy")
    wanted = [x for x in SYMBOLIC if x != "Lambda"]
    line = f"equations rp --symbols inertial gravity --format {format} --digits 0"
    found = program.json(f"{line} --quantity {' '.join(wanted)}")
    forms = kt.symbolic(kt.robots.rp(), ["inertial", "gravity"])
    for name in wanted:
        assert found["equations"][name] == getattr(getattr(forms, name), format)()
    assert found["values"] == {str(k): float(x) for k, x in forms.values.items()}


def test_equations_of_a_mechanism_are_those_of_its_independent_coordinates(program):
    pytest.importorskip("sympy")
    forms = kt.symbolic(kt.robots.slider_crank(), "lengths")
    found = program.json("equations slider_crank --symbols lengths --digits 0")["equations"]
    assert found == {name: getattr(forms, name).text() for name in ("M_r", "h_r", "Phi")}


def test_constrained_dynamics_are_exported(program):
    expected = kt.export(kt.robots.four_bar(), "constrained_forward_dynamics")
    assert program("export four_bar constrained_forward_dynamics").stdout == expected


@pytest.mark.parametrize("language", ["c", "cpp", "numpy", "matlab", "julia", "casadi"])
def test_export(program, language):
    robot = kt.robots.planar_2r()
    expected = kt.export(robot, "inverse_dynamics", language)
    if language == "c":
        assert program("export planar_2r").stdout == expected
    else:
        found = program.json(f"export planar_2r inverse_dynamics --language {language}")
        assert found["code"] == expected and found["language"] == language


def test_demo(program):
    found = program.json("demo --degrees")
    assert [x["q"] for x in found["exercises"]][1] == pytest.approx([90, 45], rel=1e-15)
    for x in found["exercises"]:
        for computed, printed in (("tau", "printed"), ("tau_no_gravity", "printed_no_gravity")):
            if x[printed] is not None:
                assert [f"{y:.4f}" for y in x[computed]] == x[printed]
    assert found["disagreement"] < 1e-14


# ----- degrees: angles of hinges only, there and back


@pytest.mark.parametrize("robot", ["panda", "scara", "cart_pole", "quadruped"])
def test_degrees_come_back(program, robot):
    model = getattr(kt.robots, robot)()
    rng = np.random.default_rng(5)
    q, dq, ddq = model.random(rng=rng), rng.normal(size=model.n), rng.normal(size=model.n)
    plain = program.json(f"id {robot} --q {words(q)} --dq {words(dq)} --ddq {words(ddq)}")
    tau = plain["tau"]
    back = program.json(f"fd {robot} --q {words(q)} --dq {words(dq)} --tau {words(tau)}")
    np.testing.assert_allclose(back["ddq"], ddq, rtol=1e-9, atol=1e-9)
    turned = in_degrees(model, q, "q"), in_degrees(model, dq, "dq")
    line = f"fd {robot} --q {words(turned[0])} --dq {words(turned[1])} --tau {words(tau)}"
    found = program.json(f"{line} --degrees")
    expected = in_degrees(model, np.array(back["ddq"]), "ddq")
    np.testing.assert_allclose(found["ddq"], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["q"], turned[0], rtol=1e-15)
    np.testing.assert_allclose(found["dq"], turned[1], rtol=1e-15)


def in_degrees(robot, x, name):
    """By the names of the entries alone, unlike the program."""
    names = robot.model.coordinate_names if name == "q" else robot.model.dof_names
    types = dict(zip(robot.model.joint_names, robot.model.joint_types, strict=True))
    turns = [
        n.rpartition(".")[2].startswith("w") if "." in n else types[n] == "revolute" for n in names
    ]
    return np.where(turns, np.rad2deg(x), x)


def test_units_say_what_is_what(program):
    found = program.json("id scara --degrees")["units"]
    sliding = kt.robots.scara().model.joint_types.index("prismatic")
    assert found["q"][sliding] == "m" and found["dq"][sliding] == "m/s"
    assert found["q"][0] == "deg" and found["ddq"][0] == "deg/s^2"
    assert found["tau"][sliding] == "N" and found["tau"][0] == "N m"
    free = program.json("id quadruped --degrees")["units"]
    assert free["q"][:8] == ["1"] * 4 + ["m"] * 3 + ["deg"]
    assert free["dq"][:7] == ["deg/s"] * 3 + ["m/s"] * 3 + ["deg/s"]


def test_degrees_of_a_trajectory(program, panda):
    program("simulate panda --duration 0.1 --limits record --degrees -o turned.csv")
    program("simulate panda --duration 0.1 --limits record -o plain.csv")
    turned, plain = (read_csv(program.folder / f"{x}.csv") for x in ("turned", "plain"))
    for name in ("q", "dq", "ddq"):
        np.testing.assert_allclose(
            getattr(turned, name), getattr(plain, name), rtol=1e-14, atol=1e-300
        )
    np.testing.assert_array_equal(turned.tau, plain.tau)
    one = program.json("check panda turned.csv --degrees", code=1)
    two = program.json("check panda plain.csv", code=1)
    assert len(one["violations"]) == len(two["violations"])
    for a, b in zip(one["margins"], two["margins"], strict=True):
        scale = 1 if a["quantity"] == "torque" else 180 / np.pi
        assert a["margin"] == pytest.approx(b["margin"] * scale, rel=1e-9)
        assert a["unit"] == b["unit"].replace("rad", "deg")


def test_a_speed_limit_in_degrees_leaves_slides_in_metres(program):
    program("simulate cart_pole --q hinge=10 --duration 0.2 --degrees -o swing.csv")
    found = program.json("check cart_pole swing.csv --degrees --velocity 10", code=1)
    margins = {m["joint"]: (m["upper"], m["unit"]) for m in found["margins"]}
    assert margins["slide"] == (10, "m/s")
    assert margins["hinge"] == (pytest.approx(10), "deg/s")


# ----- how numbers may be typed


@pytest.mark.parametrize(
    "typed",
    ["--q 0.25 -0.5", "--q=0.25,-0.5", "--q 0.25,-0.5", "--q joint1=0.25 joint2=-0.5",
     "--q joint2=-5e-1,joint1=0.25", "--q [0.25,-0.5]", "--q +.25 -5e-1"],
)  # fmt: skip
def test_vectors_may_be_typed_in_many_ways(program, typed):
    assert program.json(f"id planar_2r {typed}")["q"] == [0.25, -0.5]


@pytest.mark.parametrize("typed", ["--q -0.25,0.5", "--q -.25 0.5", "--q -2.5e-1 .5"])
def test_vectors_may_begin_with_a_minus(program, typed):
    assert program.json(f"id planar_2r {typed} --dq -1 -1e-3")["q"] == [-0.25, 0.5]


def test_built_in_names_are_forgiving(program):
    assert program.json("info UR5e")["robot"] == program.json("info ur5e")["robot"]
    assert program.json("info puma-560")["n"] == 6


def test_output_goes_into_a_file(program):
    program("id planar_2r --q 0.1 0.2 -o one.csv")
    tau = kt.robots.planar_2r().inverse_dynamics([0.1, 0.2], np.zeros(2), np.zeros(2))
    lines = (program.folder / "one.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["tau:joint1,tau:joint2", ",".join(map(repr, tau.tolist()))]
    program("id planar_2r --q 0.1 0.2 --json -o one.json")
    assert json.loads((program.folder / "one.json").read_text())["tau"] == tau.tolist()


ARM = """<robot name="arm"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
  <joint name="lift" type="TYPE"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    MORE</joint></robot>"""


def test_positions_beyond_the_limits_are_reported(program):
    (program.folder / "free.urdf").write_text(ARM.replace("TYPE", "continuous").replace("MORE", ""))
    assert not program("id free.urdf --q 30").stderr
    limited = ARM.replace("MORE", '<limit lower="-2" upper="2" velocity="1" effort="1"/>')
    (program.folder / "limited.urdf").write_text(limited.replace("TYPE", "revolute"))
    for command in ("id", "fd", "terms", "explain"):
        note = program(f"{command} limited.urdf --q 30").stderr
        assert "beyond the limits: lift = 30 rad (-2 to 2). Are these degrees?" in note
    note = program("id limited.urdf --q 2.1").stderr
    assert "beyond" in note and "degrees" not in note
    assert not program("id limited.urdf --q 30 --degrees").stderr
    assert "lift = 150 deg" in program("id limited.urdf --q 150 --degrees").stderr


def test_equations_name_the_forces_that_they_leave_out(program):
    pytest.importorskip("sympy")
    dry = ARM.replace("TYPE", "continuous")
    (program.folder / "dry.urdf").write_text(dry.replace("MORE", ""))
    assert not program("equations dry.urdf").stderr
    damped = dry.replace("MORE", '<dynamics damping="7" friction="3"/>')
    (program.folder / "damped.urdf").write_text(damped)
    note = program("equations damped.urdf").stderr
    assert "has friction, which M, C and g leave out" in note
    assert "--quantity M C g friction" in note
    assert not program("equations damped.urdf --quantity M C g friction").stderr
