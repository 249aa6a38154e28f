"""Rollouts: simulations from random states, with random data, under random forces."""

import math
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.engine.compiler.law import TracedLaw
from kinetree.errors import InputError
from kinetree.model import Model, model_of
from kinetree.model.constrain import without_constraints
from kinetree.motion.inputs import check_order, positive
from kinetree.parallel.philox import normals
from kinetree.parallel.results import Results
from kinetree.parallel.run import Options, named, run_study, whole
from kinetree.parallel.sampling import Arguments, Draw, Noise, argument_columns, by_joint
from kinetree.robot import Robot
from kinetree.simulate import Trajectory, signal, simulate
from kinetree.simulate.core.controller import Controller, aligned
from kinetree.simulate.core.outcome import record_rows
from kinetree.simulate.core.run import ADAPTIVE_METHODS, MethodName, Run

FORCES = ("tau", "F_ext")
EVALUATION = 1e-8  # s for the accelerations of one rollout and each degree of freedom, roughly


def rollouts(
    robot: Robot,
    n: int,
    *,
    q0: ArrayLike | Draw,
    dq0: ArrayLike | Draw = 0.0,
    duration: float,
    dt: float = 1e-3,
    method: MethodName = "rk4",
    tau: ArrayLike | Draw | Noise | TracedLaw | None = None,
    F_ext: ArrayLike | Draw | Noise | TracedLaw | None = None,
    controller: Controller | TracedLaw | None = None,
    parameters: Mapping[str, ArrayLike | Draw] | None = None,
    every: int | None = None,
    **options: Unpack[Options],
) -> Results:
    """Simulations from random states, of random robots, under random forces.

    Any of q0 (nq,), dq0 (n,), tau (n,), F_ext (links, 6) and `parameters` may be a number or array,
    or `Normal`, `Uniform`, `Choice`, `Grid`; positions also `Anywhere`, parameters `Spread`, and
    forces `Noise`, which changes with time, or a law, `kinetree.simulate.law(f, robot)`.

    Args:
        robot: the robot.
        n: rollouts for every point of the grids.
        q0: positions at the start, shape (nq,), rad or m, or a distribution such as `Normal` or
            `Anywhere`.
        dq0: rates at the start, a number or shape (n,), rad/s or m/s, or a distribution such as
            `Normal`.
        duration, dt: of the motion and of its steps, s.
        method: "rk4", "semi_implicit_euler", "implicit", "implicitfast", "euler", or with
            results dt apart "dop853", "radau" or "auto".
        tau: joint forces besides those of the controller, a number or shape (n,), N m or N, or a
            distribution such as `Normal` or `Noise`, or `kinetree.simulate.law(f, robot)`; None:
            none.
        F_ext: wrenches onto the links in their frames, shape (l, 6), N m and N, or a distribution
            such as `Normal` or `Noise`, or `kinetree.simulate.law(f, robot)`; None: no wrench.
        controller: one of `kinetree.controllers` that follows a position or a Trajectory, or
            `kinetree.simulate.law(f, robot)`, alone or as the function of `Law` and `Stateful`.
        parameters: robot data that vary, with names, shapes and units as `free` of `Robot.compile`,
            or distributions of them; None: those of the robot.
        every: number of steps from one recorded row to the next; None records one row for each
            rollout: the drawn values, q and dq at the end, peak_dq, peak_tau, violated_at (the time
            when a joint limit was first exceeded, s) and lost_at (when a number stopped being
            finite); NaN for never. After lost_at the numbers of a rollout's motion are NaN. A
            rollout that leaves its limits goes on, as with simulate(limits="record"): one of a
            million must not end the others.
        options: see `kinetree.parallel.Options`.
    """
    model = model_of(robot)
    without_constraints(model, "rollouts")
    q0, dq0, tau, F_ext = (
        by_joint(model, name, x)
        for name, x in (("q0", q0), ("dq0", dq0), ("tau", tau), ("F_ext", F_ext))
    )
    parameters = {k: by_joint(model, k, x) for k, x in named(parameters, "parameters").items()}
    controller = aligned(controller, model)
    for name, value in (controller.signals if isinstance(controller, Controller) else {}).items():
        if isinstance(value, Trajectory):  # workers receive its numbers without the names
            check_order(value, model, name)
    settings = {
        "q0": q0, "dq0": dq0, "duration": duration, "dt": dt, "method": method, "tau": tau,
        "F_ext": F_ext, "controller": controller, "parameters": parameters,
        "every": None if every is None else whole(every, "every", 1),
    }  # fmt: skip
    return run_study("rollouts", RolloutStudy, robot, n, settings, options)


class RolloutStudy:
    """Simulations of any samples; a rollout has the same bits in every batch.

    With every=None there is one row for each rollout, otherwise one for each recorded time. Numbers
    of a rollout after it stopped being finite are NaN.
    """

    def __init__(
        self,
        model: Model,
        seed: int,
        repeats: int,
        *,
        q0: ArrayLike | Draw | None,
        dq0: ArrayLike | Draw | None,
        duration: float,
        dt: float,
        method: MethodName,
        tau: ArrayLike | Draw | Noise | TracedLaw | None,
        F_ext: ArrayLike | Draw | Noise | TracedLaw | None,
        controller: Controller | TracedLaw | None,
        parameters: Mapping[str, ArrayLike | Draw],
        every: int | None,
    ) -> None:
        self.model, self.seed = model, seed
        self.method: MethodName = method
        self.every, self.dt, self.controller = every, dt, controller
        asked = Run(model=model, q0=np.zeros(model.nq), duration=duration, dt=dt, method=method)
        _ = asked.fixed  # an unknown method is refused
        self.times = asked.times
        if method in ADAPTIVE_METHODS and every not in (None, 1):
            raise InputError(
                f"every is {every} with {method!r}, whose results are dt apart; expected 1. "
                "Take a longer dt."
            )
        varied = {"q0": q0, "dq0": dq0, "tau": tau, "F_ext": F_ext}
        for name in ("q0", "dq0"):
            if varied[name] is None:
                raise InputError(
                    f"{name} is None; expected numbers, or a distribution such as Normal()."
                )
        self.shapes = {
            "q0": (model.nq,),
            "dq0": (model.n,),
            "tau": (model.n,),
            "F_ext": (len(model.links), 6),
        }
        self.noise = {name: x for name, x in varied.items() if isinstance(x, Noise)}
        for name, noise in self.noise.items():
            self._check_noise(name, noise)
        self.laws = {name: varied[name] for name in FORCES if isinstance(varied[name], TracedLaw)}
        apart = {*self.noise, *self.laws}
        values: dict[str, Any] = {
            name: x for name, x in varied.items() if x is not None and name not in apart
        }
        self.arguments = Arguments(model, seed, repeats, values, self.shapes, parameters)
        self.columns = tuple(self._columns())
        steps = len(self.times)
        recorded = steps if every is None else len(record_rows(steps, every)[1])
        self.rows = 1 if every is None else recorded
        numbers = recorded * (model.nq + 3 * model.n) + self.rows * len(self.columns)
        drawn = sum(self._holds(x) * math.prod(self.shapes[name]) for name, x in self.noise.items())
        self.size = 8 * (numbers + 4 * drawn)  # random forces are Python floats for a moment
        self.seconds = EVALUATION * model.n * 4 * steps

    def _columns(self) -> list[str]:
        q, dq, tau = (argument_columns(self.model, name) for name in ("q", "dq", "tau"))
        if self.every is not None:
            return ["t", *q, *dq, *tau]
        peaks = [f"peak_{x}" for x in (*dq, *tau)]
        return [*self.arguments.columns, *q, *dq, *peaks, "violated_at", "lost_at"]

    def warm(self) -> None:
        """Compile, and raise an error for what cannot be simulated: one rollout of one step."""
        self._simulate(np.arange(1), float(self.times[1]))

    def compute(self, samples: Array) -> Array:
        """Rows of the samples, (S, rows, columns)."""
        motion = self._simulate(samples, float(self.times[-1]))
        tau = motion.tau
        assert tau is not None
        if self.every is None:
            return self._summary(samples, motion, tau)[:, None]
        lost = self._lost(motion)
        states = [np.where(lost, np.nan, x) for x in (motion.q, motion.dq, tau)]
        t = np.broadcast_to(motion.t[:, None, None], lost.shape)
        return np.concatenate([t, *states], -1).transpose(1, 0, 2)

    def _lost(self, motion: Trajectory) -> Array:
        """True in the rows (T, S, 1) after a rollout's end, which `simulate` repeats or clears.

        A state that is not finite comes from an acceleration one step before.
        """
        ends = np.full(motion.q.shape[1], np.inf)
        for v in reversed(motion.meta["violations"]):
            if v.by is None:
                ends[v.rollout[0]] = v.t
        return (motion.t[:, None] > ends - 1.5 * self.dt)[..., None]

    def _simulate(self, samples: Array, duration: float) -> Trajectory:
        x: dict[str, Any] = {name: self.arguments(name, samples) for name in self.arguments.values}
        x |= {name: self._noise(name, noise, samples) for name, noise in self.noise.items()}
        x |= self.laws
        return simulate(
            self.model,
            x["q0"],
            x["dq0"],
            duration=duration,
            dt=min(self.dt, duration),
            method=self.method,
            tau=x.get("tau"),
            F_ext=x.get("F_ext"),
            controller=self.controller,
            parameters={name: x[name] for name in self.arguments.parameters},
            every=1 if self.every is None else self.every,
            limits="record",
            progress=False,
        )

    def _summary(self, samples: Array, motion: Trajectory, tau: Array) -> Array:
        """One row for each rollout, (S, columns)."""
        S = len(samples)
        drawn = [self.arguments(name, samples).reshape(S, -1) for name in self.arguments.drawn]
        noted = np.full((S, 2), np.nan)
        for v in reversed(motion.meta["violations"]):  # the earliest is written last
            noted[v.rollout[0], 0 if v.by is not None else 1] = v.t
        peaks = [np.abs(x).max(axis=0) for x in (motion.dq, tau)]
        numbers = np.concatenate([motion.q[-1], motion.dq[-1], *peaks], -1)
        numbers[self._lost(motion)[-1, :, 0]] = np.nan
        return np.concatenate([*drawn, numbers, noted], -1)

    def _noise(self, name: str, noise: Noise, samples: Array) -> Any:
        """Random forces over time, each constant for `hold` s: a signal for `simulate`."""
        count, shape = self._holds(noise), self.shapes[name]
        z = normals(self.seed, name, samples, count * math.prod(shape))
        values = np.asarray(noise.std) * z.reshape(len(samples), count, *shape)
        return signal(np.arange(count) * noise.hold, values.swapaxes(0, 1), "hold")

    def _holds(self, noise: Noise) -> int:
        """Number of values of a random force; 1.0 s / 0.1 s are 10 despite rounding errors."""
        return max(1, math.ceil(float(self.times[-1]) / noise.hold * (1 - 1e-12)))

    def _check_noise(self, name: str, noise: Noise) -> None:
        if name not in FORCES:
            raise InputError(f"{name} is Noise, which is for tau and F_ext; use Normal.")
        positive(noise.hold, f"hold of the noise of {name}", "s")
        try:
            std = np.broadcast_to(np.asarray(noise.std, float), self.shapes[name])
        except (TypeError, ValueError):
            std = np.array(np.nan)
        if not (np.isfinite(std).all() and (std >= 0).all()):
            raise InputError(
                f"std of the noise of {name} is {noise.std!r}; expected 0 or more, a number or "
                f"shape {self.shapes[name]}."
            )
