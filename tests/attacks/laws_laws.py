"""Laws of control laws: they are values, memory is an error unless declared, states are simulated.

The oracle is a pendulum with a hand-written integrator: m l^2 ddq = tau - m g l sin q.
"""

from functools import partial
from types import SimpleNamespace

import numpy as np
from attack_case import law, note
from attack_plants import close, size, tree

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError
from kinetree.scalars import clip, cos, sin, tanh

FREE = {"limits": "ignore"}


class Pendulum:
    """A point mass on a rod, hanging at q = 0, as a robot and as formulas."""

    def __init__(self, rng):
        self.m, self.l, self.g = (float(x) for x in rng.uniform([0.3, 0.3, 0], [2, 1.2, 12]))
        rod = kt.Builder("pendulum", gravity=(0, 0, -self.g)).link("base")
        rod.link("rod", self.m, (0, 0, -self.l)).joint(
            "hinge", "revolute", "base", "rod", axis=(0, 1, 0)
        )
        self.robot = rod.build()
        self.q0, self.dq0 = float(rng.normal()), float(rng.normal())
        note(rng, m=self.m, l=self.l, g=self.g, q0=self.q0, dq0=self.dq0)

    def ddq(self, q, tau):
        return (tau - self.m * self.g * self.l * np.sin(q)) / (self.m * self.l**2)

    def motion(self, forces, z0, dt, steps):
        """States (q, dq, *z) by the classical method of Runge and Kutta; forces -> tau, dz."""

        def rate(t, x):
            tau, dz = forces(t, x[0], x[1], x[2:])
            return np.array([x[1], self.ddq(x[0], tau), *dz])

        x = np.array([self.q0, self.dq0, *z0])
        found = [x]
        for k in range(steps):
            t = k * dt
            a = rate(t, x)
            b = rate(t + dt / 2, x + dt / 2 * a)
            c = rate(t + dt / 2, x + dt / 2 * b)
            d = rate(t + dt, x + dt * c)
            x = x + dt / 6 * (a + 2 * b + 2 * c + d)
            found.append(x)
        return np.array(found)

    def simulate(self, **options):
        return self.robot.simulate([self.q0], [self.dq0], **FREE, **options)


def changeable(rng):
    """A PD law whose gains are kept somewhere, and a way to change them."""
    form = str(rng.choice(["closure", "attribute", "array", "dictionary", "method", "record"]))
    note(rng, form=form)
    kept = SimpleNamespace(k=np.zeros(2), table={"k": np.zeros(2)}, kp=0.0, kd=0.0)

    def pd(k, q, dq):
        return -k[0] * sin(q) - k[1] * dq

    class Held:
        k = (0.0, 0.0)

        def law(self, t, q, dq):
            return pd(self.k, q, dq)

    held, gains = Held(), (0.0, 0.0)

    def by_closure(t, q, dq):
        return pd(gains, q, dq)

    laws = {
        "closure": by_closure,
        "attribute": lambda t, q, dq: pd((kept.kp, kept.kd), q, dq),
        "array": lambda t, q, dq: pd(kept.k, q, dq),
        "dictionary": partial(lambda table, t, q, dq: pd(table["k"], q, dq), kept.table),
        "method": held.law,
        "record": controllers.Law(lambda t, q, dq: pd(kept.k, q, dq)),
    }

    def change(k):
        nonlocal gains
        gains, kept.table["k"], held.k = tuple(k), np.array(k), tuple(k)
        kept.kp, kept.kd = k
        kept.k[:] = k

    return laws[form], change


@law(ci=3)
def law_a_changed_gain_counts(rng):
    """The same law object with other gains, three times, against the oracle."""
    plant = Pendulum(rng)
    found, change = changeable(rng)
    method = str(rng.choice(["rk4", "dop853"]))
    dt, steps = 0.01, 40
    role = "controller" if isinstance(found, controllers.Law) else str(
        rng.choice(["tau", "controller"])
    )  # fmt: skip
    for turn in range(3):
        k = rng.uniform(0, 30), rng.uniform(0, 3)
        change(k)
        motion = plant.simulate(
            duration=dt * steps, dt=dt, method=method, rtol=1e-11, atol=1e-12, **{role: found}
        )
        fine = 1 if method == "rk4" else 10

        def forces(t, q, dq, z, k=k):
            return -k[0] * np.sin(q) - k[1] * dq, z

        x = plant.motion(forces, [], dt / fine, steps * fine)[::fine]
        allowed = (1e-11 if method == "rk4" else 1e-7) * size(x)
        close(motion.q[:, 0], x[:, 0], allowed, f"q with gains {k}, turn {turn}, {method}")
        assert motion.meta["compiled"]


@law(ci=2)
def law_one_law_in_every_form_is_one_motion(rng):
    """Function, object, method, partial, declared state, plain Python: one motion."""
    robot = tree(rng, 3)
    n = robot.n
    q0, dq0, goal = rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)
    k, d, w = rng.uniform(0, 20, n), rng.uniform(0, 3, n), rng.uniform(0, 5)
    top = float(rng.uniform(1, 20))

    def function(t, q, dq):
        return clip(k * (goal - q) - d * dq, -top, top) * cos(w * t)

    class Object:
        signals: dict = {}  # noqa: RUF012

        def start(self, model):
            return []

        def act(self, model, t, q, dq, z, given):
            return function(t, q, dq), z

        def method(self, t, q, dq):
            return function(t, q, dq)

    def idle(t, q, dq, z):
        return function(t, q, dq), 0 * z

    def python(t, q, dq):
        return function(t, q, dq) if q[0] < 1e9 else dq

    def same_buffer(t, q, dq, kept=np.zeros(n)):  # noqa: B008
        kept[:] = [float(x) for x in function(t, q, dq)]
        return kept

    forms = {
        "object": {"controller": Object()},
        "method": {"tau": Object().method},
        "partial": {"tau": partial(lambda scale, t, q, dq: scale * function(t, q, dq), 1.0)},
        "controller": {"controller": function},
        "no state": {"controller": controllers.Stateful(idle, [])},
        "idle state": {"controller": controllers.Stateful(idle, [1.0])},
        "python": {"tau": python},
        "buffer": {"controller": same_buffer},
    }
    method = str(rng.choice(["rk4", "dop853", "semi_implicit_euler"]))
    options = {"duration": 0.1, "dt": 0.01, "method": method, "rtol": 1e-10, "atol": 1e-11, **FREE}
    plain = robot.simulate(q0, dq0, tau=function, **options)
    assert plain.meta["compiled"]
    allowed = 1e-6 if method == "dop853" else 1e-10
    for name in rng.choice(list(forms), 3, replace=False):
        motion = robot.simulate(q0, dq0, **forms[name], **options)
        assert motion.meta["compiled"] == (name not in ("python", "buffer")), name
        close(motion.q, plain.q, allowed * size(plain.q), f"q of {name} with {method}")
        close(motion.tau, plain.tau, 1e2 * allowed * size(plain.tau), f"tau of {name}")


@law(ci=2)
def law_declared_states_are_integrated(rng):
    """dz = A z + b q + c sin t, tau = f z - k q - d dq against the oracle, in a batch."""
    plant, m = Pendulum(rng), int(rng.integers(1, 4))
    A, b, c = rng.normal(size=(m, m)), rng.normal(size=m), rng.normal(size=m)
    f, k, d = rng.normal(size=m), float(rng.uniform(0, 20)), float(rng.uniform(0, 2))
    z0 = rng.normal(size=(2, m))
    note(rng, A=A, b=b, c=c, f=f, k=k, d=d, z0=z0)

    def function(t, q, dq, z):
        return np.array([f @ z - k * q[0] - d * dq[0]]), A @ z + b * q[0] + c * sin(t)

    def forces(t, q, dq, z):
        return f @ z - k * q - d * dq, A @ z + b * q + c * np.sin(t)

    method = str(rng.choice(["rk4", "dop853"]))
    dt, steps, fine = 0.02, 30, 1 if method == "rk4" else 20
    motion = plant.simulate(
        controller=controllers.Stateful(function, z0),
        duration=dt * steps,
        dt=dt,
        method=method,
        rtol=1e-11,
        atol=1e-12,
    )
    assert motion.meta["compiled"]
    for row in range(2):
        x = plant.motion(forces, z0[row], dt / fine, steps * fine)[::fine]
        allowed = (1e-11 if method == "rk4" else 1e-7) * size(x)
        close(motion.q[:, row, 0], x[:, 0], allowed, f"q of rollout {row}, {method}")
        state = motion.meta["controller_state"][:, row]
        close(state, x[:, 2:], allowed, f"state of rollout {row}, {method}")


@law(ci=2)
def law_a_pid_of_ones_own_is_a_pid(rng):
    """On random trees, whole and split in two."""
    robot = tree(rng, 3)
    n = robot.n
    q0, dq0, goal = rng.normal(size=(2, n)), rng.normal(size=n), rng.normal(size=n)
    kp, kd, ki = rng.uniform(0, 20, (3, n))

    def function(t, q, dq, z):
        e = goal - q
        return kp * e - kd * dq + ki * z, e

    method = str(rng.choice(["rk4", "dop853", "euler"]))
    options = {"dt": 0.01, "method": method, "rtol": 1e-10, "atol": 1e-11, **FREE}
    pid = controllers.PID(goal, kp, kd, ki)
    whole = robot.simulate(q0, dq0, controller=pid, duration=0.2, **options)
    law = controllers.Stateful(function, np.zeros(n))
    first = robot.simulate(q0, dq0, controller=law, duration=0.1, **options)
    law = controllers.Stateful(function, first.meta["controller_state"][-1])
    rest = robot.simulate(first.q[-1], first.dq[-1], controller=law, duration=0.1, **options)
    allowed = (1e-6 if method == "dop853" else 1e-9) * size(whole.q) * size(whole.dq)
    close(first.q, whole.q[:11], allowed, f"q of the first part, {method}")
    close(rest.q, whole.q[10:], allowed, f"q of the second part, {method}")
    ends = rest.meta["controller_state"][-1], whole.meta["controller_state"][-1]
    close(*ends, allowed, f"integral at the end, {method}")


def remembering(rng, dt):
    """A law with a memory or with noise, made anew at each call with the same seed."""
    k, d, ki = rng.uniform(0, 20), rng.uniform(0, 2), rng.uniform(1, 10)
    kind = str(rng.choice(["attribute", "closure", "list", "noise", "all noise", "last", "count"]))
    seed = int(rng.integers(1000))
    note(rng, kind=kind, k=k, d=d, ki=ki, seed=seed)

    def make():
        state, own, z = SimpleNamespace(z=0.0), np.random.default_rng(seed), 0.0
        entries = [0.0]
        np.random.seed(seed)

        def function(t, q, dq):
            nonlocal z
            q, dq = q[0], dq[0]
            tau = -k * q - d * dq
            if kind == "attribute":
                state.z = state.z + dt * q
                tau = tau - ki * state.z
            elif kind == "closure":
                z = z + dt * q
                tau = tau - ki * z
            elif kind == "list":
                entries.append(entries[-1] + dt * q)
                tau = tau - ki * entries[-1]
            elif kind == "noise":
                tau = tau + own.normal()
            elif kind == "all noise":
                tau = tau + np.random.normal()
            elif kind == "last":
                tau = tau - ki * (q - entries[-1])
                entries[-1] = q
            else:
                state.z += 1
                tau = tau * (1 + state.z / 50)
            return np.array([tau])

        return function

    return make


@law(ci=3)
def law_memory_is_an_error_that_says_what_to_declare(rng):
    """With every method, whether it begins at once or later, traced or in Python."""
    plant, dt = Pendulum(rng), 0.01
    inner, begins = remembering(rng, dt)(), float(rng.choice([0.0, 0.05]))

    def function(t, q, dq):
        return inner(t, q, dq) if begins == 0 or t > begins else -q

    method = str(rng.choice(["euler", "rk4", "semi_implicit_euler", "implicit", "dop853"]))
    role = str(rng.choice(["tau", "controller"]))
    note(rng, begins=begins, method=method, role=role)
    try:
        plant.simulate(duration=0.2, dt=dt, method=method, **{role: function})
    except InputError as error:
        assert "Stateful" in str(error) and "t = " in str(error), error
    else:
        raise AssertionError("a law that is no function of the state was run")


@law(ci=2)
def law_values_stay_what_they_were_when_they_were_given(rng):
    """Friction and kt.law under changes of what they read: all quantities agree, for ever."""
    plant = Pendulum(rng)
    found, change = changeable(rng)
    function = found.function if isinstance(found, controllers.Law) else found
    k = rng.uniform(0, 30), rng.uniform(0, 3)
    change(k)
    value = kt.law(function, plant.robot)
    c = [float(x) for x in rng.uniform(0.1, 5, 3)]

    def friction(dq):
        return c[0] * dq + c[1] * tanh(c[2] * dq)

    rubbing = plant.robot.with_friction({"hinge": kt.Friction(function=friction)})
    q, dq, tau = rng.normal(size=(3, 1))
    first = list(c)
    b = first[0] * dq + first[1] * np.tanh(first[2] * dq)
    for _ in range(3):
        change((rng.uniform(0, 30), rng.uniform(0, 3)))
        c[:] = rng.uniform(0.1, 5, 3)
        ddq = plant.ddq(q, tau - b)
        scale = 1e-9 * (size(ddq) + size(tau))
        close(rubbing.friction_forces(dq), b, scale, "friction_forces")
        close(rubbing.inverse_dynamics(q, dq, ddq), tau, scale, "inverse_dynamics")
        close(rubbing.forward_dynamics(q, dq, tau), ddq, scale, "forward_dynamics")
        close(value(0.0, q, dq), -k[0] * np.sin(q) - k[1] * dq, 1e-12 * (1 + size(k)), "the law")
        motion = plant.simulate(duration=0.1, dt=0.01, method="rk4", controller=value)
        x = plant.motion(lambda t, q, dq, z: (-k[0] * np.sin(q) - k[1] * dq, z), [], 0.01, 10)
        close(motion.q[:, 0], x[:, 0], 1e-10 * size(x), "q with the value")


@law(ci=2)
def law_sampled_controllers_are_a_loop_over_samples(rng):
    """Against a dumb loop with short steps, whole and split, for each rollout of a batch."""
    plant = Pendulum(rng)
    period, samples = float(rng.choice([0.01, 0.02, 0.05])), int(rng.integers(4, 9))
    kp, kd, ki = (float(x) for x in rng.uniform([0, 0, 0], [30, 3, 20]))
    goal, first = float(rng.normal()), int(rng.integers(1, samples))
    starts = np.array([[plant.q0], [plant.q0 + 0.5]])
    note(rng, period=period, samples=samples, kp=kp, kd=kd, ki=ki, goal=goal, first=first)

    def digital(t, q, dq, state):
        state["z"] += period * (goal - q[0])
        state["n"] += 1
        return np.array([kp * (goal - q[0]) - kd * dq[0] + ki * state["z"]])

    def make():
        return {"z": 0.0, "n": 0}

    method = str(rng.choice(["rk4", "dop853"]))
    options = {"dt": period / 5, "method": method, "rtol": 1e-11, "atol": 1e-12, **FREE}

    def run(q, dq, count, initial):
        law = controllers.Sampled(digital, period, initial)
        return plant.robot.simulate(q, dq, controller=law, duration=count * period, **options)

    whole = run(starts, [plant.dq0], samples, make)
    one = run(starts, [plant.dq0], first, make)
    two = run(one.q[-1], one.dq[-1], samples - first, one.meta["controller_state"])
    allowed = 1e-6 * size(whole.q) * size(whole.dq)
    close(two.q[-1], whole.q[-1], allowed, f"q at the end of two runs, {method}")
    assert [x["n"] for x in whole.meta["controller_state"]] == [samples] * 2
    assert [x["n"] for x in two.meta["controller_state"]] == [samples] * 2
    for row in range(2):
        q, dq, z, fine = starts[row, 0], plant.dq0, 0.0, 200
        h = period / fine
        for _ in range(samples):
            z += period * (goal - q)
            tau = kp * (goal - q) - kd * dq + ki * z
            for _ in range(fine):  # leapfrog
                half = dq + h / 2 * plant.ddq(q, tau)
                q = q + h * half
                dq = half + h / 2 * plant.ddq(q, tau)
        close(whole.q[-1, row, 0], q, 1e-4 * size(whole.q) * size(whole.dq), f"q of rollout {row}")


@law(ci=2)
def law_writing_into_an_argument_changes_nothing(rng):
    """`q -= goal` is refused; on a copy it is the law that it seems to be."""
    robot = tree(rng, 3)
    n = robot.n
    q0, dq0, goal, k = rng.normal(size=(4, n))
    which, python = str(rng.choice(["q", "dq", "entry"])), bool(rng.integers(2))
    method = str(rng.choice(["rk4", "dop853", "euler"]))
    note(rng, which=which, python=python, method=method)

    def clean(t, q, dq):
        e = q - goal if which == "q" else dq - goal if which == "dq" else np.array([0, *q[1:]])
        return -k * e - dq

    def writes(t, q, dq, copy=False):
        if python and q[0] > 1e9:
            return dq
        rate = dq
        if copy:
            q, dq = q.copy(), dq.copy()
        if which == "q":
            q -= goal
        elif which == "dq":
            dq -= goal
        else:
            q[0] = 0
        return -k * (dq if which == "dq" else q) - rate

    options = {"duration": 0.05, "dt": 0.01, "method": method, **FREE}
    try:
        robot.simulate(q0, dq0, tau=writes, **options)
    except InputError as error:
        assert "'writes' writes into" in str(error), error
    else:
        raise AssertionError("a law wrote into the state of a simulation")
    copied = robot.simulate(q0, dq0, tau=lambda t, q, dq: writes(t, q, dq, True), **options)
    plain = robot.simulate(q0, dq0, tau=clean, **options)
    close(copied.q, plain.q, 1e-7 * size(plain.q), "q")
