"""Derivatives of adaptive steps: the motion and its changes take each step together, h as it was.

A Runge-Kutta method applied to dx/dt = f(x, u) and to its linearisation

    d(dx)/dt = f_x dx + f_u du

gives exactly the derivatives of its own steps, and of the results between their ends. Where steps
begin and end, changes are tangent vectors.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinetree.base.arrays import Array
from kinetree.simulate.adaptive import AdaptiveSteps
from kinetree.simulate.dop853 import Slope, dense, take
from kinetree.simulate.inputs import Setup
from kinetree.simulate.rollouts import Rollouts
from kinetree.simulate.sensitivity_chain import Inside
from kinetree.simulate.sensitivity_flow import Flow
from kinetree.simulate.sensitivity_inputs import Given, Input, Numbers, Weights, sample_numbers
from kinetree.simulate.sensitivity_log import Steps
from kinetree.simulate.sensitivity_rest import without_slope
from kinetree.simulate.sensitivity_tangents import TangentMaps

SCRATCH = 2**22  # numbers that a block of steps may take
RATES = 20  # arrays of the size of all changes that a step holds
SIDES = 2  # a step lies between two samples of a signal


class AdaptiveRun:
    """An adaptive loop with the kernel of its changes."""

    def __init__(self, steps: AdaptiveSteps, setup: Setup, inputs: Sequence[Input]) -> None:
        self.steps, self.space = steps, steps.space
        feed = steps.with_modes(setup.feed, ())
        self.flow = Flow(self.space, setup.actors, feed, inputs)
        self.maps = TangentMaps(self.space)

    def rollouts(self, setup: Setup) -> Rollouts:
        """The numbers that rollouts are given."""
        feed, count = self.steps.with_modes(setup.feed, ()), len(setup.x0)
        return Rollouts(self.steps.system, setup.actors, feed, setup.batch, count, self.steps.dry)

    def all(
        self, steps: Steps, setup: Setup, given: Given, times: Array, inputs: Sequence[Input]
    ) -> tuple[Array, dict[str, Array], Inside, dict[str, Weights]]:
        """A, (K, *batch, N, N), B by name, the results inside the steps, and samples by name.

        Rollouts with fewer steps than K, the most, stand still: A is 1 and B is 0.
        """
        count, N, C = len(setup.x0), self.space.rates, self.flow.columns
        rollouts, K = self.rollouts(setup), int(steps.number.max()) + 1
        samples = [x for x in inputs if x.weights is not None]
        numbers = [sample_numbers(getattr(given, x.name)) for x in samples]
        pairs = zip(samples, numbers, strict=True)
        first = [first_sample(x, at, steps) for x, at in pairs]
        found, inside = np.zeros((K, count, C, N)), np.zeros((len(times), count, C, N))
        found[..., :N, :] = inside[0, :, :N] = np.eye(N)
        step = np.zeros((len(times), count), int)
        block = max(1, SCRATCH // (RATES * self.space.size * (C + 1)))
        for begin in range(0, len(steps.t), block):
            part = np.arange(begin, min(begin + block, len(steps.t)))
            rows, (which, result) = steps.rollout[part], steps.results(part, len(times))
            signals = [(at, own[part]) for at, own in zip(numbers, first, strict=True)]
            slope = self.slope(rollouts, rows, steps.modes[part], signals)
            ends, between = self.block(steps, part, slope, which, times[result])
            found[steps.number[part], rows], inside[result, rows[which]] = ends, between
            step[result, rows[which]] = steps.number[part][which]
        A, B = self.split(found)
        P, Q = self.split(inside)
        shaped = {name: x.reshape(K, *setup.batch, N, *self.shape(name)) for name, x in B.items()}
        weights = {
            x.name: sides(x, own, steps, (K, count)) for x, own in zip(samples, first, strict=True)
        }
        return A.reshape(K, *setup.batch, N, N), shaped, Inside(step, P, Q), weights

    def slope(
        self,
        rollouts: Rollouts,
        rows: Array,
        modes: Array,
        signals: Sequence[tuple[Numbers, Array]],
    ) -> Slope:
        """Rates of states x with those of their changes behind them, (S, x + columns x)."""
        p, size = rollouts.params[rows], self.space.size
        p[:, rollouts.at_end] = modes

        def slope(t: Array, z: Array, ends: bool) -> Array:
            x, dx = z[:, :size], z[:, size:].reshape(len(z), -1, size)
            s = rollouts.signals(t, ends, rows)
            late = np.full(len(t), ends)
            ds = self.flow.by_samples([at(t, late) - first for at, first in signals])
            k, _ = rollouts.system.rate(t, x, p, s)
            dk = self.flow.changes(t, x, p, s, dx, ds)
            return np.concatenate([k, dk.reshape(len(z), -1)], -1)

        return slope

    def block(
        self, steps: Steps, part: Array, slope: Slope, which: Array, times: Array
    ) -> tuple[Array, Array]:
        """Tangents at the ends of some steps, (S, columns, N), and at results in them."""
        t, h, x = steps.t[part], steps.h[part], steps.x[part]
        dx = np.zeros((len(x), self.flow.columns, self.space.size))
        dx[:, : self.space.rates] = self.maps.out(x).swapaxes(-1, -2)
        z = np.concatenate([x, dx.reshape(len(x), -1)], -1)
        step = take(slope, t, h, z, slope(t, z, False), steps.until[part])
        ends = self.tangents(step.end, x)
        if not len(which):
            return ends, np.zeros((0, *ends.shape[1:]))
        share = np.clip((times - t[which]) / h[which], 0, 1)
        between = dense(slope, step).at(which, share)
        return ends, self.tangents(between, x[which])

    def tangents(self, z: Array, begun: Array) -> Array:
        """Changes behind states as tangent vectors, (S, columns, N); begun: where steps began."""
        size, (model, N) = self.space.size, (self.space.model, self.space.rates)
        found = self.maps.back(z[:, :size], z[:, size:].reshape(len(z), -1, size))
        at = slice(N, N + sum(x.size for x in self.flow.constants))
        _, dq, _ = self.space.split(begun)
        constants = found[:, at].swapaxes(-1, -2)
        found[:, at] = without_slope(model, dq, constants, self.flow.constants).swapaxes(-1, -2)
        return found

    def split(self, found: Array) -> tuple[Array, dict[str, Array]]:
        """Columns (..., columns, N): of the state (..., N, N), and by name (..., N, S, size)."""
        found, at, by = found.swapaxes(-1, -2), self.space.rates, {}
        for x in (*self.flow.constants, *self.flow.samples):
            sides = 1 if x.weights is None else SIDES
            end = at + sides * x.size
            by[x.name] = found[..., at:end].reshape(*found.shape[:-1], sides, x.size)
            at = end
        return found[..., : self.space.rates], by

    def shape(self, name: str) -> tuple[int, ...]:
        """Of an input in B."""
        (x,) = (x for x in (*self.flow.constants, *self.flow.samples) if x.name == name)
        return x.shape if x.weights is None else (SIDES, *x.shape)


def first_sample(given: Input, numbers: Numbers, steps: Steps) -> Array:
    """The sample before each step, (S,): steps end where samples stand."""
    assert given.weights is not None
    middle = numbers(steps.t + steps.h / 2, np.zeros(len(steps.t), bool))
    return np.clip(np.floor(middle).astype(int), 0, max(0, given.weights.count - 2))


def sides(given: Input, first: Array, steps: Steps, shape: tuple[int, int]) -> Weights:
    """The samples on either side of every step of every rollout."""
    assert given.weights is not None
    before = np.zeros(shape, int)
    before[steps.number, steps.rollout] = first
    share = np.broadcast_to(np.array([0.0, 1.0])[:, None], (shape[0], SIDES, shape[1]))
    return replace(given.weights, first=np.stack([before, before], 1), share=share)
