"""Equality constraints of MJCF against MuJoCo: references, Jacobians, and the stiff limit.

MuJoCo gives the rows of connect and weld in other axes and with another sign; both are undone here.
Its constraints are soft: with a diagonal R it solves (A + R) f = ... where the exact force has
A = J M^-1 J^T. At the largest impedance, 0.9999, R is 1e-4 of a typical diagonal of A, which is
more than 1e-3 of A where links are light beside the robot that carries them. For joint constraints
it leaves dJ/dt dq out of the acceleration. Tests show that these two make the difference: with the
same R results are equal, and they tend to the exact ones in proportion to R.

Real files are those of the shared models, where they are present, and all MJCF files with
constraints in the folders of the environment variable KINETREE_MJCF_FILES.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from crossed import crossed
from mujoco_files import mjcf_files
from mujoco_stiffness import Stiffness, from_file, harden
from shared_models import ROOT

import kinetree as kt
from kinetree import algorithms, convert

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

REAL = ("mj_2f85_inertial", "mj_aloha", "mj_cassie", "mj_panda", "mj_piper", "mj_xarm7")
BODY = """<body name="{name}" pos="{x} {y} {z}" quat="1 {y} {z} {x}">{joint}
<inertial pos="0.1 {x} 0" mass="{m}" diaginertia="0.03 0.04 0.05"/>
<site name="site_{name}" pos="{y} 0.1 {x}" quat="{x} 1 {z} 0.3"/>{inside}</body>"""

EQUALITIES = {
    "connect": '<connect name="e" body1="a2" body2="b2" anchor="0.1 0.2 -0.1"/>',
    "connect to the world": '<connect name="e" body1="b2" anchor="0.1 0 0.2"/>',
    "connect of sites": '<connect name="e" site1="site_b3" site2="site_a3"/>',
    "weld": '<weld name="e" body1="a2" body2="b2"/>',
    "weld with anchor": '<weld name="e" body1="a2" body2="b2" anchor="0.3 0.1 0.2"/>',
    "weld in a pose": '<weld name="e" body1="a1" body2="f" torquescale="0.7" anchor="0.1 0.2 0"'
    ' relpose="0.2 0.1 0.3 0.9 0.1 -0.2 0.3"/>',
    "weld of sites": '<weld name="e" site1="site_f" site2="site_a2" torquescale="2"/>',
    "joint": '<joint name="e" joint1="a1" joint2="b2" polycoef="0.1 0.5 -0.3 0.2 0.4"/>',
    "slides": '<joint name="e" joint1="s" joint2="b1" polycoef="0.1 0.5"/>',
    "one joint": '<joint name="e" joint1="b1" polycoef="0.2"/>',
}


def toy(equality: str, seed: int) -> str:
    """Two arms of hinges, a slide with a ball, and a free body; joints have references."""
    rng = np.random.default_rng(seed)

    def body(name: str, joint: str, inside: str = "") -> str:
        x, y, z = rng.uniform(-0.4, 0.4, 3).round(3)
        m = round(rng.uniform(0.5, 2), 3)
        return BODY.format(name=name, joint=joint, inside=inside, x=x, y=y, z=z, m=m)

    def hinge(name: str) -> str:
        x, y, z = rng.normal(size=3).round(3)
        return f'<joint name="{name}" axis="{x} {y} {z}" pos="{y} 0 {z}" ref="{x}"/>'

    a = body("a1", hinge("a1"), body("a2", hinge("a2"), body("a3", hinge("a3"))))
    last = body("b2", hinge("b2"), body("b3", '<joint name="ball" type="ball" pos="0.1 0 0.2"/>'))
    slide = '<joint name="s" type="slide" axis="1 1 0" ref="0.2"/>'
    b = body("b0", slide, body("b1", hinge("b1"), last))
    f = body("f", '<freejoint name="free"/>')
    return f"""<mujoco><compiler angle="radian"/><worldbody>{a}{b}{f}</worldbody>
<equality>{equality}</equality></mujoco>"""


def closed_state(robot: kt.Robot, m, seed: int) -> tuple[np.ndarray, np.ndarray, "object"]:
    """A closed position near MuJoCo's reference, rates that are allowed, and the conversion."""
    rng = np.random.default_rng(seed)
    names = [m.joint(j).name or f"#j{j}" for j in range(m.njnt)]
    there = convert.to_mujoco(robot, names)
    q = convert.from_mujoco(robot, names).q(m.qpos0)
    model = robot.model  # states without kernels, of which each robot would need its own
    q = algorithms.project(model, algorithms.integrate(model, q, 0.2 * rng.normal(size=robot.n)))
    return q, algorithms.project_rates(model, q, rng.normal(size=robot.n)), there


def equality_rows(m, q, dq) -> tuple[np.ndarray, np.ndarray]:
    """Jacobian and errors of the equality constraints of MuJoCo, at a state in its order."""
    data = mujoco.MjData(m)
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data.qpos[:], data.qvel[:] = q, dq
    mujoco.mj_forward(m, data)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    return data.efc_J.reshape(-1, m.nv)[rows], data.efc_pos[rows]


def ours_as_theirs(robot: kt.Robot, m, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Our Jacobian in the order, axes and signs of MuJoCo, and the rows of each constraint."""
    J, found = robot.constraint_jacobian(q), []
    for e, (name, record) in enumerate(robot.model.constraints.given.items()):
        own = [k for k, row in enumerate(robot.mobility.rows) if row.split(".")[0] == name]
        part = J[own]
        if isinstance(record, kt.constraints.Couple):
            found.append(part)
            continue
        R = algorithms.pose(robot.model, q, record.frame_a)[:3, :3]
        found.append(-R @ part[-3:])
        if record.kind == "pose":
            found.append(-0.5 * m.eq_data[e][10] * part[:3])
    return np.vstack(found), J


@pytest.mark.parametrize(("case", "start"), [*crossed(EQUALITIES, range(3))])
def test_jacobians_of_closed_positions_are_those_of_mujoco(case, start):
    text = toy(EQUALITIES[case], start)
    robot, m = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    q, dq, there = closed_state(robot, m, start)
    J_m, errors = equality_rows(m, there.q(q), there.dq(q, dq))
    assert np.abs(errors).max() < 1e-9  # MuJoCo, too, finds it closed
    J, _ = ours_as_theirs(robot, m, q)
    assert len(J) == len(J_m) == len(robot.mobility.rows)
    for v in np.eye(robot.n):
        np.testing.assert_allclose(J_m @ there.dq(q, v), J @ v, rtol=0, atol=1e-10)


@pytest.mark.parametrize("case", ["connect", "connect to the world", "weld", "weld with anchor"])
def test_the_reference_of_mujoco_is_closed(case):
    text = toy(EQUALITIES[case], 5)
    robot, m = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    names = [m.joint(j).name for j in range(m.njnt)]
    q = convert.from_mujoco(robot, names).q(m.qpos0)
    assert np.abs(robot.constraint_errors(q)).max() < 1e-13


def test_errors_of_joint_constraints_are_those_of_mujoco_everywhere():
    text = toy(EQUALITIES["joint"], 7)
    robot, m = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    names = [m.joint(j).name for j in range(m.njnt)]
    there, rng = convert.to_mujoco(robot, names), np.random.default_rng(1)
    for _ in range(5):
        q = robot.random(rng=rng)
        _, errors = equality_rows(m, there.q(q), np.zeros(m.nv))
        np.testing.assert_allclose(robot.constraint_errors(q), errors, atol=1e-12)


def stiff(m) -> None:
    """Make the constraints of MuJoCo as hard as it allows, and its solver exact."""
    m.eq_solimp[:] = [0.9999, 0.9999, 0.001, 0.5, 2]
    harden(mujoco, m)


def accelerations(robot: kt.Robot, m, q, dq, there) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ddq of both programs with the same random forces, in our order, and ours made soft.

    The last one has MuJoCo's R, and no dJ/dt dq.
    """
    tau = np.random.default_rng(9).normal(size=robot.n) * 0.1
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:] = there.q(q), there.dq(q, dq)
    data.qfrc_applied[:] = there.tau(q, tau)
    mujoco.mj_forward(m, data)
    names = [m.joint(j).name or f"#j{j}" for j in range(m.njnt)]
    back = convert.from_mujoco(robot, names)
    J, _ = ours_as_theirs(robot, m, q)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    inverse = np.linalg.inv(robot.mass_matrix(q))
    free = robot.unconstrained().forward_dynamics(q, dq, tau)
    f = np.linalg.solve(J @ inverse @ J.T + np.diag(data.efc_R[rows]), -J @ free)
    theirs = back.ddq(data.qpos, data.qvel, data.qacc)
    return robot.forward_dynamics(q, dq, tau), theirs, free + inverse @ J.T @ f


MOVING = ("connect", "connect of sites", "weld", "weld with anchor")


@pytest.mark.parametrize("case", [case for case in EQUALITIES if case not in MOVING])
def test_forward_dynamics_at_rest_are_the_stiff_limit_of_mujoco(case):
    text = toy(EQUALITIES[case], 11)
    robot, m = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    stiff(m)
    q, _, there = closed_state(robot, m, 11)
    ours, theirs, soft = accelerations(robot, m, q, np.zeros(robot.n), there)
    limit = 3e-3 if "torquescale" in text else 1e-3  # it makes rows short, and R does not follow
    assert np.abs(ours - theirs).max() < limit * np.abs(ours).max()
    assert np.abs(soft - theirs).max() < 1e-8 * np.abs(ours).max()


@pytest.mark.parametrize("case", MOVING)
def test_forward_dynamics_in_motion_are_the_stiff_limit_of_mujoco(case):
    text = toy(EQUALITIES[case], 13)
    robot, m = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    stiff(m)
    q, dq, there = closed_state(robot, m, 13)
    ours, theirs, _ = accelerations(robot, m, q, 3 * dq, there)
    assert np.abs(ours - theirs).max() < 1e-3 * np.abs(ours).max()


@pytest.mark.parametrize("case", ["joint"])
def test_mujoco_leaves_the_curvature_of_a_joint_constraint_out(case):
    text = toy(EQUALITIES[case], 13)
    robot, m = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    stiff(m)
    q, dq, there = closed_state(robot, m, 13)
    ours, theirs, soft = accelerations(robot, m, q, 10 * dq, there)
    assert np.abs(ours - theirs).max() > 1e-2 * np.abs(ours).max()
    assert np.abs(soft - theirs).max() < 1e-8 * np.abs(ours).max()


def real_files() -> list[Path]:
    """Files with constraints; a name that is absent stays, and its test is skipped."""
    folders = [Path(x) for x in os.environ.get("KINETREE_MJCF_FILES", "").split(os.pathsep) if x]
    further = [p for p in mjcf_files(folders) if "<equality" in p.read_text("utf8", "replace")]
    own = [ROOT / "mjcf" / name for name in REAL]
    return [*((sorted(x.glob("*.xml")) or [x])[0] for x in own), *further]


@cache
def pair(path: Path, moving: bool) -> Stiffness:
    """A file in both programs; skips where it is absent, or one of them does not read it."""
    if not path.is_file():
        pytest.skip(f"no file at {path}")
    try:
        return from_file(path, 17, moving=moving)
    except (ValueError, kt.KinetreeError) as error:
        if path.parent.name in REAL:
            raise
        pytest.skip(str(error).splitlines()[0])


def named(case):
    return f"{case.parent.name}/{case.stem}" if isinstance(case, Path) else str(case)


@pytest.mark.parametrize("path", [*crossed(real_files(), name=named)])
def test_real_files_have_the_constraints_of_mujoco(path):
    found = pair(path, moving=False)
    robot, m, q, there = found.robot, found.m, found.q, found.there
    stiff(m)
    J_m, errors = equality_rows(m, there.q(q), there.dq(q, found.dq))
    assert np.abs(errors).max() < 1e-9
    J, _ = ours_as_theirs(robot, m, q)
    for v in np.eye(robot.n):
        np.testing.assert_allclose(J_m @ there.dq(q, v), J @ v, rtol=0, atol=1e-10)
    ours, theirs, soft = accelerations(robot, m, q, found.dq, there)
    assert np.abs(ours - theirs).max() < 1e-2 * np.abs(ours).max()
    assert np.abs(soft - theirs).max() < 1e-6 * np.abs(ours).max()


def check_trend(found: Stiffness) -> None:
    """Errors are proportional to R where R is small, and vanish with it."""
    rest = 1e-10 + 10 * found.tree_error()  # the trees differ by as much without constraints
    assert rest < 1e-6
    first, *others = found.by_divisor((1e2, 1e4, 1e6, 1e8))
    assert first < 1e-3
    for error, part in zip(others, (1e-2, 1e-4, 1e-6), strict=True):
        assert error == pytest.approx(part * first, rel=0.05, abs=rest)
    assert found.extrapolated() < 1e-3  # without touching what MuJoCo derives from the file


@pytest.mark.parametrize(("path", "moving"), [*crossed(real_files(), [True, False], name=named)])
def test_real_files_tend_to_exact_constraints_in_proportion_to_softness(path, moving):
    check_trend(pair(path, moving))


@pytest.mark.parametrize(("name", "moving"), [*crossed(kt.robots.MECHANISMS, [True, False])])
def test_built_in_mechanisms_are_the_limit_of_the_files_that_are_written(name, moving):
    robot = getattr(kt.robots, name)()
    m = mujoco.MjModel.from_xml_string(robot.to_mjcf(losses="allow"))
    check_trend(Stiffness(robot, m, 5, moving=moving))
