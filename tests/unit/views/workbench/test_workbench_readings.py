"""Readings of the panels, which are pure functions, tested without a browser."""

import re

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.configuration import rest_position
from kinetree.base.tables import steady_number
from kinetree.explain.torque import dof_units
from kinetree.views.workbench.markup import equations_reading
from kinetree.views.workbench.motions import MOTIONS, remark, sample, simulated
from kinetree.views.workbench.plots import plots_reading
from kinetree.views.workbench.push import dropped_on, first_push, moved_point, point_in_space
from kinetree.views.workbench.readings import (
    drawn,
    hand_ellipsoids,
    hand_reading,
    mass_reading,
    mass_unit,
    torque_reading,
    torques,
)
from kinetree.views.workbench.recursion import explained, step_arrows, step_reading, steps
from kinetree.views.workbench.robot_panel import robot_reading
from kinetree.views.workbench.state import Push, at_rest, external_wrenches

EPS = np.finfo(float).eps
ROBOTS = {
    name: getattr(kt.robots, name)() for name in ("planar_2r", "panda", "cart_pole", "quadruped")
}


@pytest.fixture(params=ROBOTS)
def moving(request):
    """A robot in motion, with a push on its tool."""
    robot = ROBOTS[request.param]
    rng = np.random.default_rng(3)
    state = at_rest(robot).replace(
        q=robot.random(3), dq=rng.normal(size=robot.n), ddq=rng.normal(size=robot.n)
    )
    return state.replace(push=first_push(state))


def values(markup, key):
    """Numbers of a reading in full precision, by key."""
    found = re.findall(rf'data-{key}="([^"]+)" data-value="([^"]+)"', markup)
    return {name: float(value) for name, value in found}


def test_parts_of_tau_add_up(moving):
    x = torques(moving)
    size = sum(np.abs(part) for part in x.parts.values()) + np.abs(x.tau)
    # eps of the terms; the external part is a difference of two sums of all of them
    assert np.abs(sum(x.parts.values()) - x.tau).max() <= 100 * EPS * max(size.max(), 1)
    assert set(x.parts) == {"inertia", "Coriolis", "gravity", "friction", "external"}


def test_the_reading_carries_tau_in_all_digits(moving):
    x = torques(moving)
    shown = values(torque_reading(x), "tau")
    assert [shown[str(i)] for i in range(len(x.tau))] == x.tau.tolist()


def test_an_effort_beyond_its_limit_is_marked():
    robot = kt.robots.panda()
    ddq = np.array([0, 60.0, 0, 0, 0, 0, 0])
    assert 'class="kt-over"' in torque_reading(torques(at_rest(robot).replace(ddq=ddq)))
    assert 'class="kt-over"' not in torque_reading(torques(at_rest(robot)))


def test_the_heat_map_has_every_entry(moving):
    M = moving.robot.mass_matrix(moving.q)
    shown = values(mass_reading(moving.robot.model.dof_names, M), "m")
    assert shown == {f"{i},{j}": M[i, j] for i in range(len(M)) for j in range(len(M))}


@pytest.mark.parametrize(("name", "unit"), [("panda", "kg m²"), ("cart_pole", "kg m², kg m or kg")])
def test_the_heat_map_says_its_unit(name, unit):
    robot = ROBOTS[name]
    found = mass_unit(dof_units(robot.model))
    assert found == unit
    text = mass_reading(robot.model.dof_names, robot.mass_matrix(robot.neutral()), found)
    assert f"M(q), {unit}<" in text and mass_unit(["N", "N"]) == "kg"


def test_directions_have_no_dust():
    found = drawn(kt.algorithms.Ellipsoid(np.eye(3) + 1e-9, np.ones(3)), 0.2)
    assert "(1.00, 0, 0)" in hand_reading("tool", np.zeros(3), {"mass": found})


def test_a_push_does_the_work_of_its_force(moving):
    """Power of the wrench on the link = force times the velocity of its point."""
    F = external_wrenches(moving)
    V = moving.robot.newton_euler(moving.q, moving.dq, moving.ddq).V
    push = moving.push
    T = moving.robot.link_poses(moving.q)[push.link]
    omega, v = V[push.link, :3], V[push.link, 3:]
    velocity = T[:3, :3] @ (v + np.cross(omega, push.point))
    power = float(push.force @ velocity)
    assert float(np.sum(F * V)) == pytest.approx(power, rel=1e-12, abs=1e-12 * np.abs(F).max())


def test_a_moment_alone_is_turned_into_the_link():
    state = at_rest(kt.robots.planar_2r()).replace(q=np.array([np.pi / 2, 0]))
    push = Push(1, np.zeros(3), np.zeros(3), np.array([1.0, 2.0, 3.0]))
    F = external_wrenches(state.replace(push=push))
    np.testing.assert_allclose(F[1], [2, -1, 3, 0, 0, 0], atol=1e-15)
    assert not F[0].any()


def test_a_push_is_dropped_on_the_nearest_link():
    state = at_rest(kt.robots.planar_2r())  # two links of 1 m along x
    push = first_push(state)
    near_first = dropped_on(state, push, np.array([0.5, 0.2, 0.0]))
    near_second = dropped_on(state, push, np.array([1.6, -0.1, 0.3]))
    assert (near_first.link, near_second.link) == (0, 1)
    np.testing.assert_allclose(point_in_space(state, near_first), [0.5, 0, 0], atol=1e-12)
    np.testing.assert_allclose(point_in_space(state, near_second), [1.6, 0, 0], atol=1e-12)


def test_a_push_that_is_dragged_stays_on_its_link(moving):
    p = np.array([0.3, -0.2, 0.7])
    moved = moved_point(moving, moving.push, p)
    assert moved.link == moving.push.link
    np.testing.assert_allclose(point_in_space(moving, moved), p, atol=1e-14)


def test_steps_go_out_to_every_link_and_back():
    plan = steps(ROBOTS["quadruped"].model)
    n = len(ROBOTS["quadruped"].model.links)
    out, back = plan[:n], plan[n:]
    assert [step.link for step in out] == list(range(n))
    assert [step.link for step in back] == list(reversed(range(n)))


def test_the_steps_show_the_numbers_of_the_recursion(moving):
    explanation = explained(moving)
    plan = steps(moving.robot.model)
    record = moving.robot.newton_euler(moving.q, moving.dq, moving.ddq, external_wrenches(moving))
    for k, step in enumerate(plan):
        shown = values(step_reading(explanation, plan, k), "step")
        wanted = {"V": record.V, "dV": record.dV} if k < len(plan) / 2 else {"F": record.F}
        for symbol, rows in wanted.items():
            found = [shown[f"{symbol},{r}"] for r in range(6)]
            np.testing.assert_allclose(found, rows[step.link], rtol=1e-12, atol=1e-12)


def test_the_last_step_of_a_chain_is_tau_of_the_first_joint():
    robot = ROBOTS["panda"]
    state = at_rest(robot).replace(q=robot.random(1), dq=np.ones(7), ddq=np.ones(7))
    plan = steps(robot.model)
    shown = values(step_reading(explained(state), plan, len(plan) - 1), "step")
    tau = robot.inverse_dynamics(state.q, state.dq, state.ddq)
    assert shown["tau,0"] == pytest.approx(tau[0], rel=1e-12, abs=1e-13)


def test_arrows_grow_link_by_link(moving):
    record = explained(moving).recursion
    plan = steps(moving.robot.model)
    n = len(moving.robot.model.links)
    for k in (0, n // 2, n - 1):
        arrows = step_arrows(record, plan, k, 0.3)
        assert {arrow.link for arrow in arrows} <= set(range(k + 1))
        assert {arrow.quantity for arrow in arrows} <= {"V", "dV"}
    last = step_arrows(record, plan, 2 * n - 1, 0.3)
    assert {arrow.quantity for arrow in last} == {"F"}


def test_a_fall_needs_no_forces():
    """The forces shown while a simulation plays agree with it: tau is zero, push included."""
    state = at_rest(ROBOTS["panda"]).replace(q=ROBOTS["panda"].random(2))
    state = state.replace(push=first_push(state))
    trajectory = simulated(state, "fall: no forces", 0.5)
    q, dq, ddq = sample(trajectory, 0.4)
    x = torques(state.replace(q=q, dq=dq, ddq=ddq))
    size = max(np.abs(part).max() for part in x.parts.values())
    assert size > 1 and np.abs(x.tau).max() < 1e-11 * size


@pytest.mark.parametrize("motion", MOTIONS)
def test_motions_end_as_they_say(motion):
    robot = ROBOTS["planar_2r"]
    start = at_rest(robot).replace(q=np.array([0.4, -0.3]))
    trajectory = simulated(start, motion, 3.0)
    moved = np.abs(trajectory.q[-1] - start.q).max()
    if motion.startswith("fall"):
        assert moved > 0.5 and not trajectory.tau.any()
    elif motion.startswith("go home"):
        np.testing.assert_allclose(trajectory.q[-1], rest_position(robot.model), atol=1e-5)
    else:
        assert moved < 1e-9


@pytest.mark.parametrize("duration", [0.0, -1.0, 61.0, float("nan")])
def test_durations_are_bounded(duration):
    with pytest.raises(kt.KinetreeError, match="duration"):
        simulated(at_rest(ROBOTS["planar_2r"]), "fall: no forces", duration)


def test_joints_that_pass_their_limits_are_named_or_counted():
    fall = simulated(at_rest(ROBOTS["panda"]), "fall: no forces", 2.0)
    passed = {x.joint for x in fall.meta["violations"]}
    assert len(passed) > 4 and remark(fall).endswith(f"and {len(passed) - 4} more.")
    assert remark(simulated(at_rest(ROBOTS["planar_2r"]), "fall: no forces", 0.2)) == ""


def test_plots_mark_the_present():
    robot = ROBOTS["planar_2r"]
    trajectory = simulated(at_rest(robot), "fall: no forces", 1.0)
    early, late = (plots_reading(robot, trajectory, t) for t in (0.1, 0.9))
    marks = [re.findall(r'<line x1="([\d.]+)"', text) for text in (early, late)]
    assert len(marks[0]) == 3 and float(marks[0][0]) < float(marks[1][0])
    assert early.count("<polyline") == 6


def test_ellipsoids_keep_their_proportions():
    state = at_rest(ROBOTS["panda"])
    for ellipsoid in hand_ellipsoids(state, None, 0.2).values():
        assert ellipsoid.radii.max() == pytest.approx(0.2)
        ratios = ellipsoid.lengths / ellipsoid.lengths.max()
        np.testing.assert_allclose(ellipsoid.radii / 0.2, np.maximum(ratios, 0.01), rtol=1e-12)
        assert np.linalg.det(ellipsoid.R) == pytest.approx(1)


def test_a_direction_without_mobility_is_drawn_longest():
    state = at_rest(ROBOTS["planar_2r"]).replace(q=np.array([0.3, 0.8]))
    found = hand_ellipsoids(state, None, 0.2)["mass"]
    assert np.isinf(found.lengths[-1]) and found.radii[-1] == pytest.approx(0.3)
    assert found.radii[:2].max() == pytest.approx(0.2)


def test_an_ellipsoid_of_nothing_is_still_drawn():
    nothing = kt.algorithms.Ellipsoid(np.eye(3), np.full(3, np.inf))
    assert np.isfinite(drawn(nothing, 0.2).radii).all()


def test_small_robots_show_closed_forms_and_all_the_recursion():
    assert equations_reading(ROBOTS["planar_2r"]).count("<math") == 3 + 4
    assert equations_reading(ROBOTS["panda"]).count("<math") == 4


def test_meshes_that_are_not_there_are_one_remark_and_no_remark_is_dropped_in_silence():
    robot = ROBOTS["planar_2r"]
    missing = [f"mesh 'm{k}.stl' does not exist, or is outside the chosen folder" for k in range(9)]
    text = robot_reading(robot, ["a warning", *missing])
    assert text.count("⚠") == 2 and "9 meshes" in text and "m0.stl" in text and "--folder" in text
    assert robot_reading(robot, missing[:1]).count("m0.stl") == 1
    assert "and 3 more" in robot_reading(robot, [f"warning {k}" for k in range(9)])


def test_home_is_within_the_limits():
    for robot in ROBOTS.values():
        for joint in robot.model.joints:
            if joint.screw is not None and joint.follows is None:
                q = rest_position(robot.model)[joint.coords[0]]
                assert joint.limits.lower <= q <= joint.limits.upper


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0, "0"), (-0.0, "0"), (1e-12, "0"), (3.14159, "3.142"), (-12.3456, "-12.35"),
        (0.04567, "0.0457"), (9.81, "9.810"), (1234.5, "1234"), (123456, "1.23e5"),
        (1e-5, "1.00e-5"), (float("inf"), "∞"), (float("nan"), "?"), (999.96, "1000.0"),
    ],
)  # fmt: skip
def test_numbers_are_short(x, text):
    assert steady_number(x) == text


@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_a_push_keeps_its_direction_in_space(name):
    """The centre of mass of a free robot accelerates with g + f / m, however the links turn."""
    robot = getattr(kt.robots, name)()
    state = at_rest(robot)
    link = len(robot.model.links) - 1
    push = Push(link, np.array([0.1, 0, 0.05]), np.array([30.0, 50.0, 20.0]), np.array([2.0, 1, 0]))
    motion = simulated(state.replace(push=push), "fall: no forces", 0.3)
    assert motion.meta["compiled"]
    turned = robot.link_poses(motion.q[-1])[link, :3, :3]
    assert np.trace(robot.link_poses(state.q)[link, :3, :3].T @ turned) < 1  # by 90 degrees or more
    moved = robot.center_of_mass(motion.q[-1]) - robot.center_of_mass(state.q)
    a = robot.model.gravity[3:] + push.force / np.sum(robot.model.m)
    np.testing.assert_allclose(moved, a * 0.3**2 / 2, atol=1e-7)
