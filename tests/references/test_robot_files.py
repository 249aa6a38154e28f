"""Given robot files and built-in robots: the numbers of Pinocchio, MuJoCo and Drake.

The numbers of the given files were stored with them by Pinocchio 4.1 (URDF) and MuJoCo 4.0 (MJCF),
without friction, springs and rotors of transmissions; robot_values.py stored those of the built-in
robots. Tolerances are those that the given set states: 1e-10, and for accelerations 1e-14 times the
condition of M where that is larger.
"""

import csv
import json
from functools import cache

import numpy as np
import pytest
from robot_files import (
    HERE,
    SHARED,
    bare,
    joint_axis,
    limits_of,
    load_quietly,
    parse,
    relative,
)

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import KinetreeError, SingularityError
from kinetree.spatial import rpy

ROOT = SHARED / "models"
STATES = (0, 5, 9)  # wrenches act from state 5 on
# our order of the coordinates and rates of a joint, in the names of the given numbers
COORDINATES = {
    "free": (".qw", ".qx", ".qy", ".qz", ".px", ".py", ".pz"),
    "planar": (".theta", ".px", ".py"),
    "spherical": (".qw", ".qx", ".qy", ".qz"),
}
RATES = {
    "free": (".wx", ".wy", ".wz", ".vx", ".vy", ".vz"),
    "planar": (".wz", ".vx", ".vy"),
    "spherical": (".wx", ".wy", ".wz"),
}


def entries():
    """The meta data of every given file, with its path and what is expected of it."""
    if not (ROOT / "manifest.csv").exists():
        return []
    found = []
    with open(ROOT / "manifest.csv", encoding="utf8") as table:
        for row in csv.DictReader(table):
            folder = ROOT / row["format"] / row["name"]
            meta = json.loads((folder / "meta.json").read_text("utf8"))
            found.append(meta | {"path": folder / meta["file"], "expected": row["expected"]})
    return found


def name_of(entry):
    return entry["name"]


ALL = entries()
LOADABLE = [entry for entry in ALL if entry["expected"] in ("load", "load_warn")]
CASES = [(entry, mode) for entry in LOADABLE for mode in entry["modes"]]
given_files = pytest.mark.skipif(not ALL, reason=f"no robot files at {ROOT}")


class Reference:
    """The stored numbers of one mode, in the order of a model's coordinates and rates."""

    def __init__(self, entry, mode, model):
        self.info = entry["modes"][mode]
        self.z = dict(np.load(entry["path"].parent / self.info["file"], allow_pickle=False))
        own = [joint for joint in model.joints if joint.follows is None]
        q = [joint.name + part for joint in own for part in COORDINATES.get(joint.type, ("",))]
        dq = [joint.name + part for joint in own for part in RATES.get(joint.type, ("",))]
        assert set(dq) == set(self.names("dof_names"))
        self._q = [self.names("q_names").index(name) for name in q]
        self._dq = [self.names("dof_names").index(name) for name in dq]

    def names(self, key):
        return [str(x) for x in self.z[key]]

    def q(self, s):
        return self.z["q"][s][self._q]

    def vector(self, key, s):
        return self.z[key][s][self._dq]

    def matrix(self, key, s):
        return self.z[key][s][np.ix_(self._dq, self._dq)]

    def wrenches(self, s):
        """What links exert on the world, by name: the opposite of the stored wrenches."""
        pairs = zip(self.names("fext_links"), self.z["fext"][s], strict=True)
        return {name: -np.roll(wrench, 3) for name, wrench in pairs}


@cache
def rigid(path, floating, mimic):
    """The robot of a file as a tree without friction, springs and rotors."""
    robot = load_quietly(path, floating=floating, mimic=mimic, constraints="none")
    return bare(robot).with_gravity((0, 0, -9.81)).model.replace(rotors=())


@given_files
@pytest.mark.parametrize(("entry", "mode"), CASES, ids=[f"{e['name']}-{m}" for e, m in CASES])
def test_a_given_robot_has_the_stored_dynamics(entry, mode):
    model = rigid(entry["path"], mode == "floating", mode == "fixed_mimic")
    ref = Reference(entry, mode, model)
    for s in STATES:
        assert_dynamics(model, ref, s)
    assert_places(model, ref, STATES[1])


def assert_dynamics(model, ref, s):
    q, v, a, F_tip = ref.q(s), ref.vector("v", s), ref.vector("a", s), ref.wrenches(s)
    tau = ref.vector("tau_rnea_fext", s)
    scale = np.abs(ref.vector("tau_rnea", s)).max(initial=0)
    assert relative(dynamics.inverse_dynamics(model, q, v, a, F_tip=F_tip), tau, scale) < 1e-10
    g, M = dynamics.gravity_forces(model, q), dynamics.mass_matrix(model, q)
    assert relative(g, ref.vector("tau_gravity", s), scale) < 1e-10
    assert relative(M, ref.matrix("M", s)) < 1e-10
    given = q, v, ref.vector("tau_in", s)
    if ref.info["M_singular"]:
        with pytest.raises(SingularityError, match="joint"):
            dynamics.forward_dynamics(model, *given)
        return
    ddq = dynamics.forward_dynamics(model, *given, F_tip=F_tip)
    tolerance = max(1e-10, 1e-14 * float(ref.z["M_cond"][s]))
    assert relative(ddq, ref.vector("qdd_aba_fext", s)) < tolerance


def assert_places(model, ref, s):
    """Poses of all links, masses, and the Jacobian of a tip in the axes of the world."""
    q = ref.q(s)
    for k, name in enumerate(ref.names("link_names")):
        T = dynamics.pose(model, q, name)
        assert relative(T[:3, 3], ref.z["link_pos"][s, k], 1) < 1e-10, name
        assert relative(T[:3, :3], rotation(ref.z["link_quat"][s, k])) < 1e-10, name
    for k, name in enumerate(ref.names("tip_links")):
        R = dynamics.pose(model, q, name)[:3, :3]
        J = np.kron(np.eye(2), R) @ dynamics.body_jacobian(model, q, name)
        assert relative(J, np.roll(ref.z["tip_J"][s, k], 3, 0)[:, ref._dq], 1) < 1e-10, name
    if np.isfinite(ref.z["potential_energy"][s]):
        assert relative(dynamics.total_mass(model), ref.z["total_mass"]) < 1e-10
        U = dynamics.potential_energy(model, q)
        assert relative(U, ref.z["potential_energy"][s], 1) < 1e-10


def rotation(quaternion):
    x, y, z, w = quaternion
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(rows)


@given_files
@pytest.mark.parametrize("entry", ALL, ids=name_of)
def test_a_given_file_loads_warns_or_is_refused_as_stated(entry):
    expected = entry["expected"]
    if expected.startswith("error") and expected != "error_or_warn":
        with pytest.raises(KinetreeError):
            load_quietly(entry["path"])
        return
    try:
        robot = load_quietly(entry["path"])
    except KinetreeError:
        assert expected in ("error_or_warn", "load_or_error")
        return
    warned = robot.report.warnings or robot.model.constraints is not None
    assert expected in ("load", "load_or_error") or warned


URDFS = [entry for entry in LOADABLE if entry["format"] == "urdf"]
MJCFS = [entry for entry in LOADABLE if entry["format"] == "mjcf"]


@given_files
@pytest.mark.parametrize("entry", URDFS, ids=name_of)
def test_a_given_urdf_has_the_names_axes_limits_and_friction_of_its_table(entry):
    floats = list(entry["modes"]) == ["floating"]
    robot = load_quietly(entry["path"], mimic=False, floating=floats)
    model = robot.model
    assert robot.name == entry["robot_name"]
    assert {link["name"] for link in entry["links"]} <= set(model.frames)
    moving = [x for x in entry["joints"] if x["type"] != "fixed"]
    assert {x["name"] for x in moving} == set(model.joint_names) - ({"base"} if floats else set())
    for table in moving:
        joint = model.joint(table["name"])
        if joint.type in ("free", "planar"):
            continue
        axis = np.array(table["axis"], float)
        assert relative(joint_axis(joint), axis / np.linalg.norm(axis)) < 1e-15
        assert joint.friction.viscous == (table.get("damping", 0),) * 2
        assert joint.friction.coulomb == (table.get("friction", 0),) * 2
        ends = table.get("lower", 0), table.get("upper", 0)
        if table["type"] != "continuous" and ends[0] < ends[1]:
            assert (joint.limits.lower, joint.limits.upper) == ends


@given_files
@pytest.mark.parametrize("entry", MJCFS, ids=name_of)
def test_a_given_mjcf_has_the_limits_and_friction_of_its_table(entry):
    model = load_quietly(entry["path"]).model
    for table in entry["joints"]:
        if table["type"] not in ("hinge", "slide"):
            continue
        joint = model.joint(table["name"])
        lower, upper = table["range"] or (-np.inf, np.inf)
        assert [joint.limits.lower, joint.limits.upper] == pytest.approx([lower, upper], rel=1e-15)
        assert joint.friction.viscous == (table["damping"],) * 2
        assert joint.friction.coulomb == (table["frictionloss"],) * 2


@given_files
@pytest.mark.parametrize("name", ["panda_gepetto", "mj_panda"])
def test_kernels_of_a_given_robot_give_the_stored_numbers(name):
    entry = next(x for x in LOADABLE if x["name"] == name)
    mode = next(iter(entry["modes"]))
    model = rigid(entry["path"], False, mode == "fixed_mimic")
    robot, ref = kt.Robot(model), Reference(entry, mode, model)
    q, v, a, tau_in = (
        np.array([ref.q(s) if key == "q" else ref.vector(key, s) for s in range(10)])
        for key in ("q", "v", "a", "tau_in")
    )
    tau, ddq = robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, tau_in)
    for s in range(10):
        assert relative(tau[s], ref.vector("tau_rnea", s)) < 1e-10
        assert relative(ddq[s], ref.vector("qdd_aba", s)) < 1e-10


VALUES = json.loads((HERE / "robot_values.json").read_text("utf8"))


@pytest.mark.parametrize("case", VALUES["robots"], ids=lambda case: case["name"])
def test_a_built_in_robot_has_the_stored_numbers_of_pinocchio(case):
    robot = getattr(kt.robots, case["name"])()
    assert list(robot.coordinate_names) == case["coordinates"]
    assert list(robot.dof_names) == case["dofs"]
    model = bare(robot).model
    q, dq, ddq = (np.array(case[x]) for x in ("q", "dq", "ddq"))
    tau = dynamics.inverse_dynamics(model, q, dq, ddq)
    assert relative(tau, case["tau"]) < 1e-11
    assert relative(dynamics.gravity_forces(model, q), case["g"]) < 1e-11
    M, armature = dynamics.mass_matrix(model, q), np.diag(case["armature"])
    assert relative(M - armature, case["M"]) < 1e-11
    for name, T in case["poses"].items():
        assert relative(dynamics.pose(model, q, name), T) < 1e-11, name
    limits = {x: [*map(float, vars(y).values())] for x, y in limits_of(robot).items()}
    assert limits == {x: [*map(float, y)] for x, y in case["limits"].items()}


@pytest.mark.parametrize("name", kt.robots.MECHANISMS)
def test_a_built_in_mechanism_is_closed_and_moves_as_its_stored_mobility(name):
    robot = getattr(kt.robots, name)()
    assert kt.constraints.mobility(robot).degrees_of_freedom == VALUES["mobility"][name]
    q = kt.constraints.project(robot, kt.dynamics.start_position(robot))
    assert np.abs(dynamics.constraint_errors(robot.model, q)).max() < 1e-9


def test_names_of_built_in_robots_are_read_in_any_spelling():
    assert kt.load("Puma-560").name == kt.robots.puma_560().name
    assert kt.load("panda", floating=True).n == kt.robots.panda().n + 6
    with pytest.raises(KinetreeError, match="panda"):
        kt.load("pnda")


DRAKE = json.loads((HERE / "drake_sdf.json").read_text())


@pytest.mark.parametrize("case", DRAKE, ids=[f"{k}" for k in range(len(DRAKE))])
def test_an_sdf_has_the_stored_numbers_of_drake(case):
    robot, names = parse(case["text"]), np.array(case["names"])
    model = robot.model
    assert set(model.joint_names) == set(names)
    order = [int(k) for name in model.joint_names for k in np.flatnonzero(names == name)]
    q, dq = dynamics.neutral(model), np.array(case["dq"])[order]
    for joint in model.joints:
        if len(joint.coords) == 1:
            q[joint.coords[0]] = case["q"][order[joint.dofs[0]]]
    M, g, c = (np.array(case[x]) for x in ("M", "g", "c"))
    close = {"rtol": 1e-12, "atol": 1e-12}
    found = dynamics.mass_matrix(model, q)
    np.testing.assert_allclose(found, M[np.ix_(order, order)], **close)
    np.testing.assert_allclose(dynamics.gravity_forces(model, q), g[order], **close)
    np.testing.assert_allclose(dynamics.coriolis_forces(model, q, dq), c[order], **close)
    friction = np.array(case["damping"])[order] * dq
    np.testing.assert_allclose(dynamics.friction_forces(model, dq), friction, rtol=1e-15)


def test_a_urdf_moves_as_in_pinocchio():
    """Every feature at once: poses, axes, types, turned inertias, fixed links, a chain of mimic."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    robot = parse(FEATURES)
    theirs = pin.buildModelFromXML(FEATURES, mimic=True)
    names = [x for x in theirs.names[1:] if x in robot.joint_names]
    there = kt.convert.to_pinocchio(robot, names)
    back, data = kt.convert.from_pinocchio(robot, names), theirs.createData()
    rng = np.random.default_rng(0)
    q = dynamics.random(robot.model, rng)
    dq, ddq = rng.normal(size=(2, robot.n))
    their_q = there.q(q)
    tau = pin.rnea(theirs, data, their_q, there.dq(q, dq), there.ddq(q, dq, ddq))
    found = dynamics.inverse_dynamics(bare(robot).model, q, dq, ddq)
    assert relative(found, back.tau(their_q, tau)) < 1e-12
    pin.framesForwardKinematics(theirs, data, their_q)
    for name in robot.model.frames:
        place = data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)]
        assert relative(dynamics.pose(robot.model, q, name), place.homogeneous, 1) < 1e-12


INERTIAL = """<inertial><origin xyz=".1 {y} .3" rpy="{y} .2 .3"/><mass value="{m}"/>
<inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.03" izz="0.25"/></inertial>"""
JOINT = """<link name="l{k}">{inertial}</link><joint name="j{k}" type="{type}">
<origin xyz="{x} 0 .2" rpy="{x} .5 -.7"/><parent link="l{p}"/><child link="l{k}"/>{inside}
</joint>"""
LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="4"/>'
KINDS = (
    ("revolute", '<axis xyz="0 .6 .8"/>' + LIMIT),
    ("prismatic", '<axis xyz="1 0 0"/>' + LIMIT),
    ("fixed", ""),
    ("continuous", '<axis xyz="0 0 -1"/>'),
    ("planar", '<axis xyz="0 0 1"/>'),
    ("revolute", '<axis xyz="0 1 0"/><mimic joint="j1" multiplier="-2" offset=".3"/>' + LIMIT),
    ("prismatic", '<axis xyz="0 0 1"/><mimic joint="j1" multiplier=".5"/>' + LIMIT),
    ("revolute", '<dynamics damping=".4" friction=".1"/>' + LIMIT),  # about x
    ("floating", ""),
)
LINKS = [
    JOINT.format(
        k=k, type=kind, inside=inside, x=0.1 * k, p=(0, 0, 1, 2, 1, 3, 5, 5, 4, 0)[k],
        inertial=INERTIAL.format(y=0.1 * k, m=k + 0.5),
    )
    for k, (kind, inside) in enumerate(KINDS, 1)
]  # fmt: skip
FEATURES = f'<robot name="all"><link name="l0"/>{"".join(LINKS)}</robot>'


def test_limits_friction_and_mimic_of_the_features_are_those_written():
    robot = parse(FEATURES)
    assert robot.joint_names == ("j1", "j2", "j4", "j5", "j8", "j9")
    model, limits = robot.model, limits_of(robot)
    assert limits["j1"] == limits["j2"] == kt.joints.Limits(-1, 2, velocity=4, effort=30)
    assert limits["j4"] == kt.joints.Limits()
    assert model.joint("j8").friction.viscous == (0.4, 0.4)
    assert model.joint("j8").friction.coulomb == (0.1, 0.1)
    free = parse(FEATURES, mimic=False, floating=True, friction="none")
    assert set(free.joint_names) == {"base", "j1", "j2", "j4", "j5", "j6", "j7", "j8", "j9"}
    assert free.model.joint("j8").friction.viscous == (0, 0)
    with pytest.warns(kt.errors.KinetreeWarning):  # the chain of a mimic that moves nothing
        kt.load_string(FEATURES.replace('multiplier=".5"', 'multiplier="0"'))


def test_rpy_turns_about_fixed_axes_and_a_quaternion_says_the_same():
    text = '<robot name="r"><link name="a"/><link name="b"/>{}</robot>'
    joint = '<joint name="j" type="fixed"><origin {}/><parent link="a"/><child link="b"/></joint>'
    turned = {
        'rpy=".1 .2 .3"': rpy(0.1, 0.2, 0.3),
        f'quat_xyzw="0 {np.sin(0.35)} 0 {np.cos(0.35)}"': rpy(0, 0.7, 0),
    }
    for origin, R in turned.items():
        robot = parse(text.format(joint.format(origin)))
        assert relative(dynamics.pose(robot.model, (), "b")[:3, :3], R) < 1e-15
    z = np.array([[np.cos(0.3), -np.sin(0.3), 0], [np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])
    y = np.array([[np.cos(0.2), 0, np.sin(0.2)], [0, 1, 0], [-np.sin(0.2), 0, np.cos(0.2)]])
    assert relative(rpy(0, 0.2, 0.3), z @ y) < 1e-15
