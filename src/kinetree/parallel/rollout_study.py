"""Rollouts: what a robot does from random states, with random data, under random forces."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.parallel.columns import argument_columns
from kinetree.parallel.draws import Noise
from kinetree.parallel.philox import normals
from kinetree.parallel.sampling import Arguments
from kinetree.simulate import Trajectory, signal, simulate
from kinetree.simulate.core.fixed_steps import ADAPTIVE, find_method
from kinetree.simulate.core.setup import grid, positive
from kinetree.simulate.simulation import record_rows

FORCES = ("tau", "F_ext")
EVALUATION = 1e-8  # s that accelerations of one rollout take, for every degree of freedom


class RolloutStudy:
    """Simulations of any samples, each of them with the same bits in any company.

    One row a rollout (every=None): what was drawn, the last state, peaks, and when a limit was
    left or a number lost. Otherwise one row for every recorded time. What a rollout would have
    done after it lost a number is NaN.
    """

    def __init__(self, model: Model, seed: int, repeats: int, settings: Mapping[str, Any]) -> None:
        self.model, self.seed = model, seed
        self.method, self.every, self.dt = (settings[x] for x in ("method", "every", "dt"))
        self.controller = settings["controller"]
        self.times = grid(settings["duration"], self.dt)
        find_method(self.method)
        if self.method == ADAPTIVE and self.every not in (None, 1):
            raise InputError(
                f"every is {self.every} with {ADAPTIVE!r}, whose results are dt apart; expected 1. "
                "Take a longer dt."
            )
        given = {x: settings[x] for x in ("q0", "dq0", *FORCES) if settings[x] is not None}
        for name in {"q0", "dq0"} - set(given):
            raise InputError(f"{name} is None; expected numbers, or what is drawn, e.g. Normal().")
        self.shapes = {
            "q0": (model.nq,),
            "dq0": (model.n,),
            "tau": (model.n,),
            "F_ext": (len(model.links), 6),
        }
        self.noise = {name: x for name, x in given.items() if isinstance(x, Noise)}
        for name, noise in self.noise.items():
            self._check_noise(name, noise)
        values = {name: x for name, x in given.items() if name not in self.noise}
        self.arguments = Arguments(
            model, seed, repeats, values, self.shapes, settings["parameters"]
        )
        self.columns = tuple(self._columns())
        steps = len(self.times)
        recorded = steps if self.every is None else len(record_rows(steps, self.every)[1])
        self.rows = 1 if self.every is None else recorded
        numbers = recorded * (model.nq + 3 * model.n) + self.rows * len(self.columns)
        noise = sum(self._holds(x) * math.prod(self.shapes[name]) for name, x in self.noise.items())
        self.size = 8 * (numbers + 4 * noise)  # as Python floats on the way
        self.seconds = EVALUATION * model.n * 4 * steps

    def _columns(self) -> list[str]:
        q, dq, tau = (argument_columns(self.model, name) for name in ("q", "dq", "tau"))
        if self.every is not None:
            return ["t", *q, *dq, *tau]
        peaks = [f"peak_{x}" for x in (*dq, *tau)]
        return [*self.arguments.columns, *q, *dq, *peaks, "violated_at", "lost_at"]

    def warm(self) -> None:
        """Compile, and complain about what cannot be simulated, with one rollout of one step."""
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
        """Which rows (T, S, 1) hold no numbers of the rollout: `simulate` repeats or clears them.

        A state that is not finite comes from an acceleration one step before.
        """
        ends = np.full(motion.q.shape[1], np.inf)
        for v in reversed(motion.meta["violations"]):
            if v.by is None:
                ends[v.rollout[0]] = v.t
        return (motion.t[:, None] > ends - 1.5 * self.dt)[..., None]

    def _simulate(self, samples: Array, duration: float) -> Trajectory:
        x = {name: self.arguments(name, samples) for name in self.arguments.values}
        x |= {name: self._noise(name, noise, samples) for name, noise in self.noise.items()}
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
        S = len(samples)
        drawn = [self.arguments(name, samples).reshape(S, -1) for name in self.arguments.drawn]
        noted = np.full((S, 2), np.nan)
        for v in reversed(motion.meta["violations"]):  # the earliest is written last
            noted[v.rollout[0], 0 if v.by is not None else 1] = v.t
        peaks = [np.abs(x).max(axis=0) for x in (motion.dq, tau)]
        found = np.concatenate([motion.q[-1], motion.dq[-1], *peaks], -1)
        found[self._lost(motion)[-1, :, 0]] = np.nan
        return np.concatenate([*drawn, found, noted], -1)

    def _noise(self, name: str, noise: Noise, samples: Array) -> Any:
        """Random forces over time, held."""
        count, shape = self._holds(noise), self.shapes[name]
        z = normals(self.seed, name, samples, count * math.prod(shape))
        values = noise.std * z.reshape(len(samples), count, *shape)
        return signal(np.arange(count) * noise.hold, values.swapaxes(0, 1), "hold")

    def _holds(self, noise: Noise) -> int:
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
