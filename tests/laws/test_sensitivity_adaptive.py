"""Derivatives of adaptive motions are those of the steps that were taken, their lengths held.

The same accuracy as with fixed steps (test_sensitivity_laws.py): 1e-12 of the norm, magnified by
the condition of M beyond 100.
"""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.joints.friction import frictionless
from kinetree.algorithms.stiction import without_dry_friction
from kinetree.base.progress import Progress
from kinetree.engine import interpret
from kinetree.engine.kernels import free_values
from kinetree.simulate.core.adaptive import adaptive_steps
from kinetree.simulate.core.dop853 import dense_output, take_step
from kinetree.simulate.core.integration import AcceptedSteps
from kinetree.simulate.core.run import Run
from kinetree.simulate.core.setup import read_setup
from precise_robots import derivative, numbers
from robot_states import any_robot, random_state, size

ACCURACY = 1e-12
SPAN = {"duration": 0.2, "dt": 0.12}
TIMES = np.array([0.0, 0.12, 0.2])


def taken(model, state, parameters):
    """The system's graph, its constants and the steps of the same run."""
    given = {"tau": state.ddq, "parameters": parameters, "limits": "ignore"}
    run = Run(model=model, q0=state.q, dq0=state.dq, **given, **SPAN)
    setup, log = read_setup(run), []
    steps = adaptive_steps(run, setup)
    with Progress("", 1.0, False) as bar:
        steps.run(run, setup, bar, log)
    assert steps.system.graph is not None
    return steps.system.graph, setup.external.params(())[0], AcceptedSteps.joined(log)


def exact_results(graph, model, steps, x, p):
    """The states at all results, in numbers of any precision."""
    found, zero = [x], numbers(np.zeros((1, 1)))

    def slope(t, x, ends):
        return interpret(graph, t, x, p[None], zero)[0]

    for i, (t, h) in enumerate(zip(numbers(steps.t), numbers(steps.h), strict=True)):
        t, h = np.array([t]), np.array([h])
        step = take_step(slope, t, h, x[None], slope(t, x[None], False))
        results = range(steps.done[i], steps.due[i])
        for time in numbers(TIMES[results]):
            share = (time - t) / h
            found.append(unit(model, dense_output(slope, step).at(np.array([0]), share)[0]))
        x = unit(model, step.end[0])
    return np.array(found)


def unit(model, x):
    x = x.copy()
    for joint in model.joints:
        if joint.type in ("spherical", "free") and joint.follows is None:
            own = list(joint.coords[:4])
            x[own] = x[own] / mpmath.sqrt(x[own] @ x[own])
    return x


def smooth_robot(seed):
    """Joints of all types, mimic joints, rotors, viscous friction and functions; nothing dry."""
    return without_dry_friction(any_robot(seed, 3))


@pytest.mark.parametrize("seed", [3, pytest.param(7, marks=pytest.mark.many)])
def test_they_are_differences_of_the_steps_in_fifty_digits(seed, fifty_digits):
    model = smooth_robot(seed)
    state = random_state(model, seed)
    data = {name: free_values(model, name) for name in ("mass", "com", "gravity")}
    found = kt.Robot(model).sensitivities(
        state.q, state.dq, tau=state.ddq, method="dop853", parameters=data, limits="ignore",
        wrt=("q0", "dq0", "tau", *data), **SPAN,
    )  # fmt: skip
    graph, p0, steps = taken(model, state, data)
    assert len(steps.t) > 1
    at = numbers(np.r_[state.q, state.dq])
    p0 = numbers(p0)
    N = [algorithms.tangent_map(model, q) for q in found.motion.q]
    back = [x.T / (x * x).sum(0)[:, None] for x in N]  # columns are orthogonal

    def results(h, u, v, dp):
        x = np.r_[algorithms.integrate(model, at[: model.nq], h * u), at[model.nq :] + h * v]
        found = exact_results(graph, model, steps, x, p0 + h * dp)
        pairs = zip(back, found, strict=True)
        return np.array([np.r_[B @ x[: model.nq], x[model.nq :]] for B, x in pairs])

    rng = np.random.default_rng(seed)
    shapes = {"tau": (model.n,), **{name: x.shape for name, x in data.items()}}
    accuracy = ACCURACY * max(
        1.0, 1e-2 * float(np.linalg.cond(algorithms.mass_matrix(model, state.q)))
    )
    u, v = rng.normal(size=(2, model.n))
    along = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    state_alone = {"q0": u, "dq0": v}
    for directions in (state_alone, along):
        moves = [numbers(directions.get(name, np.zeros(model.n))) for name in state_alone]
        data_moves = [directions.get(name, x * 0).ravel() for name, x in along.items()]
        moves.append(numbers(np.concatenate(data_moves)))
        wanted = derivative(lambda h, d=moves: results(h, *d))
        got = 0
        for name, w in directions.items():
            got = got + found.by(name).reshape(len(wanted), 2 * model.n, -1) @ w.ravel()
        for k in range(len(wanted)):
            largest = max(size(wanted[k]), size(got[k]))
            assert size(got[k] - wanted[k]) <= accuracy * largest, (list(directions), k)


def test_small_fixed_steps_come_to_the_same():
    """RK4 with h = 1e-3 leaves h^4 of the motion's fifth derivatives, dop853 its tolerance."""
    robot = kt.Robot(frictionless(smooth_robot(7)))  # on a free base
    rng = np.random.default_rng(5)
    q0, dq0 = robot.random(rng=2), rng.normal(size=robot.n)
    options = {"duration": 0.2, "limits": "ignore", "wrt": ("q0", "dq0", "tau", "parameters")}
    adaptive = robot.sensitivities(
        q0, dq0, method="dop853", dt=0.1, rtol=1e-12, atol=1e-13, **options
    )
    fixed = robot.sensitivities(q0, dq0, dt=1e-3, **options)
    listed = algorithms.parameter_list(robot.model)
    smooth = np.array([x.group == "link" for x in listed])  # friction bends where dq is 0
    for name in options["wrt"]:
        got, wanted = adaptive.by(name)[-1], fixed.by(name)[-1]
        if name == "parameters":
            got, wanted = got[:, smooth], wanted[:, smooth]
        assert np.linalg.norm(got - wanted) < 1e-8 * np.linalg.norm(wanted), name


def test_a_pendulum_returns_by_the_slope_of_its_period():
    """q(T) = q0 and dq(T) = 0 for every q0: d dq/d q0 = -ddq dT/d q0, an elliptic integral."""
    arm = kt.Builder("pendulum").link("base").link("bob", m=1.3, com=(0, 0, -0.7))
    robot = arm.joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0)).build()
    w, angle = np.sqrt(9.81 / 0.7), 2.0
    with mpmath.workdps(30):
        period = lambda a: 4 * mpmath.ellipk(mpmath.sin(a / 2) ** 2) / w  # noqa: E731
        T, slope = float(period(mpmath.mpf(angle))), float(mpmath.diff(period, mpmath.mpf(angle)))
    found = robot.sensitivities(
        [angle], [0.0], duration=T, dt=T, method="dop853", rtol=1e-12, atol=1e-13
    )
    ddq = float(robot.forward_dynamics([angle], [0.0], [0.0])[0])
    # q(T; q0) turns at T with speed 0, so that its slope by q0 is 1; tolerances add up over the way
    assert np.abs(found.by("q0")[-1][:, 0] - [1, -ddq * slope]).max() < 1e-9
