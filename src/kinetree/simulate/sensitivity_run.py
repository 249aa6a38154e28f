"""Many steps at once: the states are known, so every step is differentiated by itself."""

from collections.abc import Sequence

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.simulate.inputs import Setup
from kinetree.simulate.loop import FixedSteps, with_stop
from kinetree.simulate.sensitivity_inputs import STATE, Input
from kinetree.simulate.sensitivity_rates import RateChanges
from kinetree.simulate.sensitivity_rest import check_sliding, rough, without_slope
from kinetree.simulate.sensitivity_steps import StepChanges

LOST = 1e-6  # a step is repeated to rounding, or it is not the same
SCRATCH = 2**22  # numbers that a block of steps may take


class StepRun:
    """The steps of a compiled loop with the kernels of their derivatives."""

    def __init__(self, steps: FixedSteps, setup: Setup, inputs: Sequence[Input]) -> None:
        self.steps, self.space, self.method = steps, steps.space, steps.method
        feed = with_stop(setup.feed, self.space)
        self.rates = RateChanges(self.space, setup.actors, feed, inputs)
        self.changes = StepChanges(self.space, self.method, steps.stepping.stages)

    def all(
        self, x: Array, setup: Setup, times: Array, inputs: Sequence[Input]
    ) -> tuple[Array, dict[str, Array]]:
        """A, (E, *batch, N, N), and for each input that enters a step (E, *batch, N, ...).

        x: states, (E + 1, B, x). The slopes by a signal have a further axis of stages before its
        own: (E, *batch, N, S, ...).
        """
        E, B, N = len(x) - 1, x.shape[1], self.space.rates
        h = np.diff(times)
        feed = with_stop(setup.feed, self.space, self.method.braking / float(h[0]))
        params = np.broadcast_to(feed.params(setup.batch), (B, feed.params_size))
        stages = times[:-1, None] + h[:, None] * np.array(self.method.times)
        table = self.steps.table(feed, stages, setup.batch)
        table = np.broadcast_to(table, (*table.shape[:2], B, table.shape[-1]))
        found = np.empty((E, B, self.columns, N))
        block = max(1, SCRATCH // (B * N * (self.columns + N) * (len(self.method.stages) + 2)))
        for begin in range(0, E, block):
            part = slice(begin, min(begin + block, E))
            found[part], reached = self.block(x[part], params, table[part], stages[part], h[part])
            check_reached(reached, x[part.start + 1 : part.stop + 1], times[part], setup.batch)
        found = found.swapaxes(-1, -2).reshape(E, *setup.batch, N, self.columns)
        return found[..., :N], self.split(found, inputs)

    @property
    def columns(self) -> int:
        """Directions of a step: its state, constants, and samples at each of its stages."""
        constants = sum(x.size for x in self.rates.constants)
        samples = sum(x.size for x in self.rates.samples)
        return self.space.rates + constants + samples * len(self.method.stages)

    def block(
        self, x: Array, params: Array, table: Array, stages: Array, h: Array
    ) -> tuple[Array, Array]:
        """Changes after some steps, (E, B, columns, N), and the states reached, (E, B, x)."""
        E, B, N = *x.shape[:2], self.space.rates
        x, h = x.reshape(E * B, -1), np.repeat(h, B)
        p = np.broadcast_to(params, (E, *params.shape)).reshape(E * B, -1)
        dx = np.zeros((E * B, self.columns, N))
        dx[:, np.arange(N), np.arange(N)] = 1
        begun, dbegun, ks, dks = x, dx, [], []
        for i in range(len(self.method.stages)):
            t, s = np.repeat(stages[:, i], B), table[:, i].reshape(E * B, -1)
            k, tau = self.steps.system.rate(t, begun, p, s)
            ks.append(k)
            dks.append(self.rate_change(t, begun, p, s, k, tau, dbegun, i))
            dbegun = self.changes.move(i, h, x, ks, dx, dks)
            begun = self.changes.reach(i, h, x, ks)
        return dbegun.reshape(E, B, self.columns, N), begun.reshape(E, B, -1)

    def rate_change(
        self, t: Array, x: Array, p: Array, s: Array, k: Array, tau: Array, dx: Array, i: int
    ) -> Array:
        """Changes of the rates at stage i, (S, columns, N)."""
        n, model = self.space.model.n, self.space.model
        _, dq, _ = self.space.split(x)
        if self.space.rubbing:
            data = dict(zip(self.rates.free, self.rates.data_of(p), strict=True))
            smooth = self.rates.joint_forces(t, x, p, s, k)
            dry = rough(model, data.get("friction"))
            check_sliding(model, dry, t, dq, tau[:, :n], smooth)
        slopes = self.rates.slopes(t, x, p, s, k)
        constants = without_slope(model, dq, slopes.constants, self.rates.constants)
        dk = dx @ slopes.x.swapaxes(-1, -2)
        N, c, m = self.space.rates, constants.shape[-1], slopes.samples.shape[-1]
        dk[:, N : N + c] += constants.swapaxes(-1, -2)
        here = N + c + i * m
        dk[:, here : here + m] += slopes.samples.swapaxes(-1, -2)
        return dk

    def split(self, found: Array, inputs: Sequence[Input]) -> dict[str, Array]:
        """The columns after the state by name."""
        at, by, lead = self.space.rates, {}, found.shape[:-1]
        for x in self.rates.constants:
            by[x.name] = found[..., at : at + x.size].reshape(*lead, *x.shape)
            at += x.size
        width = sum(x.size for x in self.rates.samples)
        rest = found[..., at:].reshape(*lead, len(self.method.stages), width)
        at = 0
        for x in self.rates.samples:
            part = rest[..., at : at + x.size]
            by[x.name] = part.reshape(*lead, len(self.method.stages), *x.shape)
            at += x.size
        return {x.name: by[x.name] for x in inputs if x.name not in STATE}


def check_reached(reached: Array, simulated: Array, times: Array, batch: tuple[int, ...]) -> None:
    """Refuse rollouts that ran away, which a simulation of a batch lets stand still instead."""
    size = 1 + np.abs(simulated)
    wrong = ~(np.abs(reached - simulated) <= LOST * size).all(-1)
    if wrong.any():
        step, b = (int(k) for k in np.argwhere(wrong)[0])
        where = [int(k) for k in np.unravel_index(b, batch)] if batch else []
        raise InputError(
            f"rollout {where} is not finite after t = {times[step]:.6g} s, where the simulation "
            "lets it stand still; a motion that ran away has no derivatives. Take a smaller dt, or "
            "leave the rollout out."
        )
