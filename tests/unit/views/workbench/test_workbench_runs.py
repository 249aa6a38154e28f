"""Presets: what each does to its robot, limits as stops or as remarks, and runs that end."""

import math
import threading
import time

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, NameLookupError
from kinetree.views.loops import closed_rest
from kinetree.views.workbench.motions import motion_data
from kinetree.views.workbench.presets import default_preset
from kinetree.views.workbench.runs import asked_law, simulated, stop_forces, stops_of
from kinetree.views.workbench.state import Push, at_rest

PLANAR = kt.robots.planar_2r()
LIMIT = '<limit lower="{}" upper="{}" effort="80" velocity="6"/>'
# two links in the plane of x and z, with limits
TEXT = (
    '<robot name="arm"><link name="base"/>'
    + "".join(
        f'<link name="{name}"><inertial><origin xyz="0.3 0 0"/><mass value="2"/><inertia ixx="0.01"'
        f' iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="{joint}" '
        f'type="revolute"><parent link="{parent}"/><child link="{name}"/><origin xyz="{x} 0 0"/>'
        f'<axis xyz="0 1 0"/>{LIMIT.format(low, high)}</joint>'
        for name, joint, parent, x, low, high in (
            ("upper", "shoulder", "base", 0, -1.2, 0.8),
            ("lower", "elbow", "upper", 0.5, -1.5, 1.5),
        )
    )
    + "</robot>"
)
ARM = kt.load_string(TEXT)
BASE = (
    '<link name="base"><inertial><mass value="5"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" '
    'ixz="0" iyz="0"/></inertial></link>'
)


def run(
    state, name, *, stops=True, kp=None, kd=None, duration=None, target=None, longest_run=math.inf
):
    rest = closed_rest(state.robot)[0]
    law = asked_law(state, name, (kp, kd), duration, target, rest, 1.0)
    return simulated(law, state, stops=stops, closing=threading.Event(), longest_run=longest_run)


def test_hold_stays_and_returns():
    """Pushed by a force, PD control gives way by M_d kp e = J^T f; without one it returns."""
    state = at_rest(ARM)
    assert np.ptp(run(state, "hold", duration=1.0).trajectory.q, axis=0).max() < 1e-6
    away = run(state.replace(q=state.q + 0.1), "hold", target=state.q, duration=3.0)
    assert np.abs(away.trajectory.q[-1] - state.q).max() < 2e-3 and away.remarks == ()
    push = Push(1, np.zeros(3), np.array([0, 0, -20.0]), np.zeros(3))
    last = run(state.replace(push=push), "hold", duration=6.0, kp=100.0, kd=30.0).trajectory.q[-1]
    D = np.diag(ARM.mass_matrix(state.q))
    J = ARM.space_jacobian(last, "lower")
    p = ARM.pose(last, "lower")[:3, 3]
    pulled = J[:3].T @ np.cross(p, push.force) + J[3:].T @ push.force
    np.testing.assert_allclose(D * 100 * (last - state.q), pulled, atol=2e-2)


@pytest.mark.parametrize("stops", [True, False])
def test_joints_that_friction_keeps_from_their_goal_are_named(stops):
    state = at_rest(ARM.with_friction(kt.Friction(0.5, 10.0)))
    found = run(state, "hold", target=state.q - 0.05, duration=1.0, kp=1.0, kd=1.0, stops=stops)
    stuck = found.trajectory.meta["stuck"]
    assert stuck and found.remarks[: len(stuck)] == tuple(map(str, stuck))
    assert "friction holds it" in found.remarks[0] and "in balance" not in " ".join(found.remarks)


def test_follow_stays_within_limits_and_comes_back():
    found = run(at_rest(ARM), "follow").trajectory
    limits = ARM.check(found)
    assert np.ptp(found.q, axis=0).min() > 0.1 and np.abs(found.q[-1] - found.q[0]).max() < 1e-5
    assert not found.meta["violations"] and limits is not None
    target = at_rest(ARM).q + np.array([-0.3, 0.2])
    reached = run(at_rest(ARM), "follow", target=target).trajectory
    assert np.abs(reached.q[-1] - target).max() < 1e-5 and not reached.meta["violations"]


def test_go_arrives_at_rest():
    state = at_rest(ARM)
    found = run(state.replace(q=state.q - 0.2), "go").trajectory
    assert np.abs(found.q[-1] - state.q).max() < 1e-5 and np.abs(found.dq[-1]).max() < 1e-4


@pytest.fixture(scope="module")
def fallen():
    return run(at_rest(ARM), "release")


def test_release_falls_onto_the_stops(fallen):
    """Limits of position are left by little; without stops the joints pass them, with a remark."""
    state, held = at_rest(ARM), fallen
    low = np.array([joint.limits.lower for joint in ARM.model.joints])
    high = np.array([joint.limits.upper for joint in ARM.model.joints])
    q = held.trajectory.q
    assert np.maximum(low - q, q - high).max() < 0.1
    assert any("stop" in text and "t = " in text for text in held.remarks)
    passed = run(state, "release", stops=False)
    q = passed.trajectory.q
    assert np.maximum(low - q, q - high).max() > 0.5 and passed.stops is None
    assert any("exceeds its limit of position by" in text for text in passed.remarks)


def test_forces_of_stops_are_not_forces_of_motors(fallen):
    """Stops push back, never pull, and only beyond a limit; the page gets both apart."""
    found, trajectory, stops = fallen, fallen.trajectory, stops_of(at_rest(ARM))
    near(stop_forces(stops, trajectory), found.stops)
    near(found.trajectory.tau, found.stops)  # no motor acts
    data = motion_data(ARM, found, "Release")
    assert np.abs(data["tau"]).max() < 1e-9
    for d, joint in enumerate(ARM.model.joints):
        inside = (trajectory.q[:, d] > joint.limits.lower) & (
            trajectory.q[:, d] < joint.limits.upper
        )
        assert not found.stops[inside, d].any()
        below = trajectory.q[:, d] <= joint.limits.lower
        assert (found.stops[below, d] >= 0).all() and (found.stops[~below, d] <= 0).all()


def near(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-9 * (1 + np.abs(expected).max()))


def test_release_keeps_the_energy():
    state = at_rest(PLANAR)
    found = motion_data(PLANAR, run(state.replace(q=state.q + 0.3), "release"), "x")
    total = found["energy"]["kinetic"] + found["energy"]["potential"]
    assert np.ptp(total) < 1e-5 * np.ptp(found["energy"]["kinetic"])


def test_a_free_base_is_weightless_and_keeps_its_momentum():
    robot = kt.load_string(TEXT.replace('<link name="base"/>', BASE), floating=True)
    drift = run(at_rest(robot), "follow")
    assert not np.any(motion_data(robot, drift, "x")["energy"]["potential"])
    found = drift.trajectory
    drifted = robot.center_of_mass(found.q) - robot.center_of_mass(found.q[0])
    assert np.abs(drifted).max() < 1e-6 and np.ptp(found.q[:, 7:]) > 0.2
    assert np.abs(robot.momentum(found.q, found.dq)).max() < 1e-5
    fall = run(at_rest(robot), "release", stops=False).trajectory
    down = robot.center_of_mass(fall.q)[:, 2]
    np.testing.assert_allclose(down, down[0] - 9.81 / 2 * fall.t**2, atol=1e-6)


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_mechanisms_follow_on_their_constraints(name):
    robot = getattr(kt.robots, name)()
    found = run(at_rest(robot), default_preset(robot), duration=1.0)
    errors = np.abs(robot.constraint_errors(found.trajectory.q)).max()
    assert errors < 1e-8 and np.ptp(found.trajectory.q, axis=0).max() > 0.01


def test_a_run_without_motion_names_the_reason():
    state = at_rest(kt.robots.cart_pole())
    assert "Move a slider" in run(state, "release", duration=0.5).remarks[0]


def test_a_complete_run_is_not_called_stopped():
    found = run(at_rest(PLANAR), "hold", duration=0.2)
    assert found.trajectory.t[-1] == 0.2
    assert not any("was stopped" in text for text in found.remarks)


def test_a_workbench_that_closes_ends_the_run_without_a_word_on_laws():
    state, closing = at_rest(PLANAR), threading.Event()
    closing.set()
    law = asked_law(state, "hold", (None, None), 1.0, None, state.q, 1.0)
    found = simulated(law, state, stops=True, closing=closing)
    assert found.trajectory.t[-1] < 1.0 and len(found.trajectory) == 2


def test_a_run_that_takes_too_long_ends_with_what_it_has():
    fast = at_rest(PLANAR).replace(dq=np.array([3e3, -5e3]))
    began = time.monotonic()
    found = run(fast, "release", duration=60.0, longest_run=0.5)
    assert time.monotonic() - began < 20
    assert 2 <= len(found.trajectory) and found.trajectory.t[-1] < 60
    assert any("was stopped after 0.5 s" in text for text in found.remarks)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"duration": 0.0}, "0.1 to 60"), ({"duration": 61.0}, "0.1 to 60"), ({"kp": -1.0}, "kp is")],
)
def test_settings_out_of_range_are_named(options, words):
    with pytest.raises(InputError, match=words):
        run(at_rest(PLANAR), "hold", **options)


def test_an_unknown_preset_is_named():
    with pytest.raises(NameLookupError, match="no preset 'dance'; it has hold"):
        run(at_rest(PLANAR), "dance")
