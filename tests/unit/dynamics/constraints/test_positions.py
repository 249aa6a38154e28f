"""Closed starts of mechanisms, rates with joints kept, repeated cells, and rounded files."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.constraints import Loop
from kinetree.errors import InputError, KinetreeWarning
from kinetree.spatial import pose, rotation

MECHANISMS = kt.robots.MECHANISMS


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_starts_closed_regular_and_works_there(name):
    robot = getattr(kt.robots, name)()
    q, still = robot.neutral(), np.zeros(robot.n)
    assert np.abs(kt.constraints.errors(robot, q)).max() < 1e-12
    assert kt.constraints.margin(robot, q) > 0.01
    ddq = robot.forward_dynamics(q, still, still)
    tau = robot.inverse_dynamics(q, still, ddq)
    assert np.isfinite(ddq).all() and np.abs(tau).max() < 1e-9
    motion = robot.simulate(q, duration=0.05)
    assert motion.meta["closure"].max() < 1e-10
    assert np.abs(motion.q[0] - q).max() == 0


def test_the_start_is_within_the_limits_where_that_is_possible():
    builder = kt.Builder("limited", gravity=(0, -9.81, 0)).link("base")
    limits = {"a": (0.5, 2.0), "b": (-np.pi, np.pi), "c": (-3.0, -0.5)}
    for name, length in (("a", 0.2), ("b", 0.5), ("c", 0.4)):
        builder.link(name, m=1, com=(length / 2, 0, 0), I_com=0.01 * np.eye(3))
    places = {"a": ("base", (0, 0, 0)), "b": ("a", (0.2, 0, 0)), "c": ("base", (0.5, 0, 0))}
    for name, (parent, at) in places.items():
        builder.joint(name, "revolute", parent, name, at=at, limits=kt.joints.Limits(*limits[name]))
    builder.frame("p", "b", (0.5, 0, 0)).frame("t", "c", (0.4, 0, 0))
    q = builder.build().constrained({"loop": Loop("t", "p", "axis")}).neutral()
    assert all(low <= x <= high for x, (low, high) in zip(q, limits.values(), strict=True))


@pytest.mark.parametrize("name", MECHANISMS)
def test_joints_that_are_kept_keep_their_rates_and_the_others_follow(name):
    robot = getattr(kt.robots, name)()
    q, rng = robot.neutral(), np.random.default_rng(1)
    keep = list(kt.constraints.mobility(robot).independent)
    own = [robot.dof_names.index(x) for x in keep]
    wanted = rng.normal(size=robot.n)
    dq = kt.constraints.project_rates(robot, q, wanted, keep=keep)
    assert dq[own].tobytes() == wanted[own].tobytes()
    N = kt.constraints.reduced_dynamics(robot, q, np.zeros(robot.n))[2]
    assert np.abs(dq - N @ wanted[own]).max() < 1e-10
    ddq = kt.constraints.project_accelerations(robot, q, dq, wanted, keep=keep)
    assert ddq[own].tobytes() == wanted[own].tobytes()
    opened = kt.constraints.jacobian(robot, q) @ ddq + kt.constraints.bias(robot, q, dq)
    assert np.abs(opened).max() < 1e-10


def chain(count):
    """`count` squares of rods of 1 m in a row, on a common base: one degree of freedom."""
    builder = kt.Builder("chain", gravity=(0, -9.81, 0)).link("base")
    for i in range(count + 1):
        builder.link(f"rod{i}", m=1, com=(0.5, 0, 0), I_com=np.eye(3) / 12)
        builder.joint(f"r{i}", "revolute", "base", f"rod{i}", at=(i, 0, 0))
    for i in range(count):
        builder.link(f"bar{i}", m=1, com=(0.5, 0, 0), I_com=np.eye(3) / 12)
        builder.joint(f"b{i}", "revolute", f"rod{i}", f"bar{i}", at=(1, 0, 0))
        builder.frame(f"e{i}", f"bar{i}", (1, 0, 0)).frame(f"t{i}", f"rod{i + 1}", (1, 0, 0))
    loops = {f"loop{i}": Loop(f"e{i}", f"t{i}", "axis") for i in range(count)}
    return builder.build().constrained(loops)


def test_many_equal_cells_are_accepted_with_one_degree_of_freedom():
    count = 9
    robot = chain(count)
    assert kt.constraints.mobility(robot).degrees_of_freedom == 1
    q = robot.neutral()
    assert np.abs(q[: count + 1] - q[0]).max() < 1e-9  # all rods are parallel
    assert np.isfinite(robot.forward_dynamics(q, 0 * q, 0 * q)).all()


def planar(gap, tilt=0.0):
    """A four-bar whose closing frame is off by `gap` (m) out of its plane, and tilted (rad)."""
    builder = kt.Builder("planar", gravity=(0, -9.81, 0)).link("base")
    for name, m, length in (("crank", 1, 0.2), ("coupler", 2.5, 0.5), ("rocker", 2, 0.4)):
        builder.link(name, m, (length / 2, 0, 0), 0.02 * np.eye(3))
    builder.joint("crank", "revolute", "base", "crank")
    builder.joint("coupler", "revolute", "crank", "coupler", at=(0.2, 0, 0))
    builder.joint("rocker", "revolute", "base", "rocker", at=(0.5, 0, 0))
    at = pose(rotation(np.array([1, 0, 0]), tilt), np.array([0.4, 0, gap]))
    builder.frame("pin", "coupler", (0.5, 0, 0)).frame("tip", "rocker", at)
    return builder.build().constrained({"loop": Loop("tip", "pin", "axis")}, actuated=["crank"])


@pytest.mark.parametrize(("gap", "tilt"), [(1e-8, 0.0), (3e-7, 0.0), (0.0, 2e-8), (1e-7, 1e-7)])
def test_a_loop_that_rounding_leaves_open_is_accepted_with_a_warning(gap, tilt):
    with pytest.warns(KinetreeWarning, match=r"'loop' of 'planar' stay open by .*e-0[78]"):
        robot = planar(gap, tilt)
    assert kt.constraints.mobility(robot).degrees_of_freedom == 1
    q = robot.neutral()
    exact = kt.robots.four_bar()
    dq = kt.constraints.project_rates(robot, q, [2, 0, 0], keep=["crank"])
    motion = robot.simulate(q, dq, duration=0.2)
    assert motion.meta["closure"].max() <= robot.model.constraints.tolerance
    near = kt.constraints.project(exact, q, keep=["crank"])
    assert np.abs(near - q).max() < 1e-5
    N, N_exact = (
        kt.constraints.reduced_dynamics(robot, q, dq)[2],
        kt.constraints.reduced_dynamics(exact, near, dq)[2],
    )
    assert np.abs(N - N_exact).max() < 1e-5


@pytest.mark.parametrize("gap", [3e-5, 1e-3])
def test_a_wider_gap_is_refused_with_its_size(gap):
    with pytest.raises(InputError):
        planar(gap)


def test_loops_that_share_no_joint_are_closed_on_their_own():
    """Of twelve four-bars, the message names the one that cannot close; without it, all move."""
    bar, given = {"m": 1.0, "com": (0.1, 0, 0), "I_com": np.diag([0.01, 0.02, 0.02])}, {}
    builder = kt.Builder("rack").link("base")
    for k in range(12):
        for parent, own, at in ("base", "a", (0, 0, k)), (f"a{k}", "b", (0.3, 0, 0)), (
            "base", "c", (1, 0, k)
        ):  # fmt: skip
            builder.link(f"{own}{k}", **bar)
            builder.joint(f"{own}{k}", "revolute", parent, f"{own}{k}", at=at)
        builder.frame(f"tip{k}", f"b{k}", (0.9, 0, 0)).frame(f"end{k}", f"c{k}", (0.7, 0, 0))
        given[f"loop{k}"] = Loop(f"tip{k}", f"end{k}", "axis")
    rack = builder.frame("high", "c3", (0.7, 0, 0.1)).build()
    assert kt.constraints.mobility(rack.constrained(given)).degrees_of_freedom == 12
    with pytest.raises(InputError, match="the constraints 'loop3' contradict one another"):
        rack.constrained(given | {"loop3": Loop("tip3", "high", "axis")})
