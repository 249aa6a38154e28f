"""Actuators between points of links: forces, exact slopes, work, files and changed robots."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.joints.actuation import actuate
from kinetree.engine import Port, interpret, jacobian, trace
from kinetree.files.write.json import from_json, to_json
from kinetree.model import build_model, describe_model
from precise_robots import precise

A = kt.Actuator
PATH = [("base", (0.2, 0.1, 0.9)), ("link1", (0.3, 0, 0.1)), ("link3", (0.1, 0.05, 0.2))]
LAW = A({}, (5, 0.7, -0.3), (0.4, -20, -3), points=PATH)
BUILD = kt.Builder("crane").link("base")
for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0)], 1):
    BUILD.link(f"link{k}", m=3 - k / 2, com=(0.2, 0.01 * k, 0.02), I_com=np.diag([0.1, 0.2, 0.2]))
    BUILD.joint(
        f"joint{k}", "revolute", f"link{k - 1}" if k > 1 else "base", f"link{k}",
        axis=axis, at=(0.3, 0, 0.1 * k),
    )  # fmt: skip
CRANE = BUILD.build().with_actuators(
    {"winch": A.position(PATH, 60, 4), "ram": LAW, "elbow": A.motor("joint2")}
)
STATE = np.array([0.3, -0.5, 0.8]), np.array([0.4, 0.7, -0.9]), np.array([0.6, 1.2, -0.3])


def length(model, q):
    """The length of the path, from the poses of its links."""
    poses = [algorithms.pose(model, q, link) for link, _ in PATH]
    at = [T[:3, :3] @ np.array(x) + T[:3, 3] for T, (_, x) in zip(poses, PATH, strict=True)]
    return sum(mpmath.sqrt((b - a) @ (b - a)) for a, b in pairwise(at))


def test_the_force_acts_along_the_gradient_of_the_length():
    q, dq, u = STATE
    with mpmath.workdps(50):
        model, h = precise(CRANE.model), mpmath.mpf(10) ** -20
        exact = np.array([mpmath.mpf(x) for x in q], object)
        arms = [
            (length(model, exact + h * e) - length(model, exact - h * e)) / (2 * h)
            for e in np.eye(3, dtype=int)
        ]
        x, v = length(model, exact), sum(a * mpmath.mpf(w) for a, w in zip(arms, dq, strict=True))
        force = 60 * (u[0] - x) - 4 * v
        force += (5 + mpmath.mpf(0.7) * x - mpmath.mpf(0.3) * v) * u[1]
        force += mpmath.mpf(0.4) - 20 * x - 3 * v
        expected = [float(a * force) + (u[2] if k == 1 else 0) for k, a in enumerate(arms)]
    assert actuate(CRANE.model, q, dq, u, np.zeros(0)).tau == pytest.approx(expected, rel=1e-13)


def test_slopes_of_the_compiled_force_are_exact():
    ports = [Port(name, (3,)) for name in ("q", "dq", "u")]
    graph = trace(
        lambda q, dq, u: actuate(CRANE.model, q, dq, u, np.zeros(0)).tau, ports, [("tau", (3,))]
    )
    slopes = interpret(jacobian(graph), *STATE)
    with mpmath.workdps(50):
        model, h = precise(CRANE.model), mpmath.mpf(10) ** -18
        at = [np.array([mpmath.mpf(x) for x in part], object) for part in STATE]
        for k, slope in enumerate(slopes):
            for j, e in enumerate(np.eye(3, dtype=int)):
                sides = [
                    actuate(model, *at[:k], at[k] + s * h * e, *at[k + 1 :], np.zeros(0)).tau
                    for s in (1, -1)
                ]
                exact = ((sides[0] - sides[1]) / (2 * h)).astype(float)
                assert slope[:, j] == pytest.approx(exact, rel=1e-12, abs=1e-12)


def test_energy_grows_by_the_work_of_the_path():
    """A constant pull along a path has the potential -f L."""
    robot = CRANE.with_actuators({"ram": None, "elbow": None, "winch": A.motor(PATH)})
    run = robot.simulate(STATE[0], STATE[1], controls=[7.0], duration=0.4, limits="ignore")
    whole = robot.kinetic_energy(run.q, run.dq) + robot.potential_energy(run.q)
    whole -= 7.0 * np.array([float(length(robot.model, q)) for q in run.q])
    assert np.ptp(whole) < 1e-8 * np.abs(whole).max()


def test_implicit_steps_bear_a_stiff_servo_on_a_path():
    robot = CRANE.with_actuators({"ram": None, "elbow": None, "winch": A.position(PATH, 1e4, 1e4)})
    options = {"controls": [1.5], "duration": 0.1, "dt": 2e-3, "limits": "ignore"}
    fine = robot.simulate(STATE[0], **{**options, "dt": 1e-5}, method="rk4")
    run = robot.simulate(STATE[0], **options, method="implicit")
    assert np.abs(run.q[-1] - fine.q[-1]).max() < 0.02


def test_changed_robots_keep_their_paths():
    model = CRANE.model
    assert build_model(describe_model(model), unphysical="allow").actuators == model.actuators
    held = CRANE.lock({"joint1": STATE[0][0]}).model
    whole = actuate(model, STATE[0], np.array([0, 0.7, -0.9]), STATE[2], np.zeros(0)).tau
    part = actuate(held, STATE[0][1:], STATE[1][1:], STATE[2], np.zeros(0)).tau
    assert part == pytest.approx(whole[1:], rel=1e-12)
    with pytest.raises(kt.KinetreeError, match="actuator 'winch' is held by base"):
        CRANE.subtree("link1")
    pair = CRANE.attach(CRANE, prefix="b/").model
    assert pair.actuator_names[3:] == ("b/winch", "b/ram", "b/elbow")
    still = CRANE.lock(dict.fromkeys(CRANE.model.joint_names, 0.0)).model
    assert still.actuators == ()
    assert any("actuator 'ram' has no effect: its points move" in x.text for x in still.notes)


@pytest.mark.parametrize("form", ["json", "mjcf"])
def test_files_keep_paths(form):
    if form == "json":
        again = build_model(from_json(to_json(CRANE.model)))
    else:
        again = kt.load_string(CRANE.to_mjcf()).model
    found, tau = (actuate(x, *STATE, np.zeros(0)).tau for x in (again, CRANE.model))
    assert found == pytest.approx(tau, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: A.motor(PATH, gear=2), "gear of an actuator between points is 2; expected 1"),
        (lambda: A({"joint1": 1}, points=PATH), "has joints and points"),
        (lambda: A.motor(PATH[:1]), "points of actuator 'x' are .* two or more"),
        (lambda: A.motor([("base", (0, 0, 0)), ("moon", (0, 0, 1))]), "passes 'moon', which is no"),
        (lambda: A.position(PATH, -1), "kp of the position servo"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(kt.KinetreeError, match=words):
        CRANE.with_actuators({"x": make()})


def test_texts_name_the_links_of_a_path():
    with pytest.warns(kt.KinetreeWarning, match="a path base - link1 - link3"):
        CRANE.to_urdf()
