"""Nothing is computed twice: a second call with the same meaning makes no graph and no code.

Every public entry point that compiles is called twice, the second time with new objects of equal
values. In the second call no function is traced, no graph is optimised, hashed or counted, and no
code is compiled or loaded. A function of the user is traced and hashed once, since it may read
other values than before; made a value by `kt.law`, it is not. Calls are counted by their code,
whatever name they are called by.
"""

import sys
import threading
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers, identify, motion, parallel
from kinetree.engine import Graph, jacobian, jvp, optimise, trace
from kinetree.engine.cache import entries
from kinetree.engine.compiler import store
from kinetree.engine.kernels import stored
from kinetree.engine.llvm import object_code
from kinetree.scalars import sin
from kinetree.simulate import signal

WORK = {
    "trace": trace,
    "optimise": optimise,
    "jacobian": jacobian,
    "jvp": jvp,
    "hash of a graph": store.digest,
    "count of operations": Graph.count,
    "hash of a robot": stored.hashed,
    "code": object_code.load_or_compile,
    "cache": entries.load,
}
CODES = {getattr(f, "__wrapped__", f).__code__: name for name, f in WORK.items()}

ROBOT = kt.robots.planar_2r()
Q, DQ, TAU = np.array([0.3, -0.4]), np.array([0.2, 0.1]), np.array([1.0, 0.5])
LAZY = {"duration": 0.02, "dt": 0.01, "limits": "ignore"}
METHODS = ("dop853", "rk4", "euler", "semi_implicit_euler", "implicit", "implicitfast")


@contextmanager
def counted():
    """Count the calls of WORK, in all threads that are started meanwhile."""
    found = Counter()

    def see(frame, event, argument):
        if event == "call" and frame.f_code in CODES:
            found[CODES[frame.f_code]] += 1

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def gain(kp):
    """A law with a gain in its closure, a new function each time."""
    return lambda t, q, dq: -kp * q - sin(t) * dq


class Spring:
    """A law that is an object."""

    def __init__(self, kp):
        self.kp, self.goal = kp, np.zeros(2)

    def __call__(self, t, q, dq):
        return self.kp * (self.goal - q)


def plan():
    return motion.quintic(Q, Q + 0.3, 0.5, 0.02, robot=ROBOT)


def run(method="dop853", **acting):
    return ROBOT.simulate(Q.copy(), DQ.copy(), method=method, **LAZY, **acting)


def slopes(method="dop853", **acting):
    return ROBOT.sensitivities(Q, DQ, method=method, **LAZY, **acting)


def recording():
    swing = motion.sinusoid(Q, 0.4, 1, 1.3, 0.02, robot=ROBOT, phase=[0.0, 0.5])
    return identify.simulated_recording(ROBOT, swing, torque_noise=0.01)


SLOPES = slopes("rk4")
FOUND = identify.identify(ROBOT, recording())
LAW, GOAL = kt.law(gain(3.0), ROBOT), kt.law(lambda t: Q * sin(t))
# functions of the user, each traced once in a call
FUNCTIONS = {
    **{f"simulate a law, {x}": lambda x=x: run(x, controller=gain(3.0)) for x in METHODS},
    "simulate an object": lambda: run(tau=Spring(2.0)),
    "simulate a function of time": lambda: run(tau=lambda t: np.array([sin(t), 1.0])),
    "simulate a stateful law": lambda: run(
        controller=controllers.Stateful(lambda t, q, dq, z: (-z, q), [0.0, 0.0])
    ),
    "sensitivities of a law": lambda: slopes("rk4", controller=gain(2.0)),
    "final cost": lambda: SLOPES.cost(final=lambda q, dq: (q - Q) @ (q - Q)),
    "running cost": lambda: SLOPES.cost(running=lambda t, q, dq: q @ q + t),
    "derivative of a function": lambda: kt.derivative(lambda q: q @ q, shapes={"q": 2})(Q),
    "law step by step": lambda: controllers.step_by_step(gain(4.0), ROBOT)(0.0, Q, DQ),
}
ENTRIES = {
    "simulate a law that is a value": lambda: run(controller=LAW),
    "simulate a force that is a value": lambda: run("rk4", tau=LAW),
    "simulate a reference that is a value": lambda: run(controller=controllers.PD(GOAL, 3.0, 1.0)),
    "simulate a sampled law": lambda: run(controller=controllers.Sampled(gain(2.0), 0.01)),
    **{f"simulate {x}": lambda x=x: run(x) for x in METHODS},
    "simulate a force": lambda: run(tau=np.ones(2)),
    "simulate a signal": lambda: run(tau=signal([0, 0.02], np.ones((2, 2)))),
    "simulate wrenches": lambda: run("rk4", F_ext=np.ones((2, 6))),
    "simulate masses": lambda: run(parameters={"mass": ROBOT.model.m}),
    "simulate computed torque": lambda: run(
        controller=controllers.ComputedTorque(plan(), kp=9.0, kd=6.0)
    ),
    "simulate an event": lambda: run(events=[lambda t, q, dq: q[0] - 9]),
    "sensitivities": slopes,
    "sensitivities of rk4": lambda: slopes("rk4", tau=np.zeros(2), wrt=["q0", "tau"]),
    "linearize": lambda: ROBOT.linearize(Q, DQ, TAU),
    "linearize in steps": lambda: ROBOT.linearize(Q, DQ, TAU, dt=0.01),
    "step": lambda: ROBOT.step(Q, DQ, TAU, 0.01),
    "step by rk4": lambda: ROBOT.step(Q, DQ, TAU, 0.01, method="rk4"),
    "compile": lambda: ROBOT.compile("inverse_dynamics", free=["mass"])(Q, DQ, TAU, ROBOT.model.m),
    "derivative of a quantity": lambda: ROBOT.derivative("inverse_dynamics", ["q", "dq"])(Q, DQ, Q),
    "derivative of a kernel": lambda: kt.derivative(ROBOT.gravity_forces, "q")(Q),
    "controller step by step": lambda: controllers.step_by_step(
        controllers.ComputedTorque(plan(), kp=9.0, kd=6.0), ROBOT
    )(0.0, Q, DQ),
    "wrenches": lambda: ROBOT.inverse_dynamics(Q, DQ, TAU, np.ones((2, 6))),
    "float32": lambda: ROBOT.inverse_dynamics(*(x.astype("f4") for x in (Q, DQ, TAU))),
    "pose": lambda: ROBOT.pose(Q, ROBOT.model.tool),
    "task-space derivatives": lambda: ROBOT.task_space_derivatives(Q, DQ, rows=[3, 4]),
    "time-optimal scaling": lambda: motion.time_optimal(ROBOT, plan(), effort=900.0, intervals=20),
    "limits": lambda: ROBOT.check(plan()),
    "energy": lambda: plan().energy(),
    "base parameters": lambda: ROBOT.base_parameters(),
    "identify": lambda: FOUND.error(recording()),  # `identify` makes a new robot, with new code
    "sweep": lambda: parallel.sweep(ROBOT, "mass_matrix", {"q": parallel.Anywhere()}, 4, workers=1),
    "envelope": lambda: parallel.envelope(ROBOT, 4, effort=50.0, workers=1),
    "rollouts": lambda: parallel.rollouts(ROBOT, 4, q0=Q, duration=0.02, workers=1),
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_second_call_makes_no_graph_and_no_code(entry):
    entry()
    with counted() as found:
        entry()
    assert not found


@pytest.mark.parametrize("entry", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_is_traced_once_and_nothing_else_is_made(entry):
    entry()
    with counted() as found:
        entry()
    assert found["trace"] == 1
    assert set(found) <= {"trace", "hash of a graph", "count of operations"}


def test_what_is_new_is_counted():
    """The test above can fail: another gain is another law, with a loop of its own."""
    run(tau=gain(11.0))
    with counted() as found:
        run(tau=gain(12.0))
    assert found["trace"] >= 2 and found["hash of a graph"] and found["code"]


def test_a_gain_that_was_changed_in_place_is_another_law():
    law = Spring(2.0)
    soft = run(tau=law)
    law.kp = 40.0
    stiff, wanted = run(tau=law), run(tau=Spring(40.0))
    assert np.array_equal(stiff.q, wanted.q) and not np.array_equal(stiff.q, soft.q)
    goal = np.zeros(2)
    cost = lambda q, dq: (q - goal) @ (q - goal)  # noqa: E731
    before, _ = SLOPES.cost(final=cost)
    goal += 1
    after, _ = SLOPES.cost(final=cost)
    assert before == pytest.approx(np.sum(SLOPES.motion.q[-1] ** 2), rel=1e-12)
    assert after == pytest.approx(np.sum((SLOPES.motion.q[-1] - 1) ** 2), rel=1e-12)
