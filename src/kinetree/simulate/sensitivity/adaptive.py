"""Derivatives of adaptive steps: the motion and its changes take each step together, h as it was.

A Runge-Kutta method applied to dx/dt = f(x, u) and to its linearisation

    d(dx)/dt = f_x dx + f_u du

gives exactly the derivatives of its own steps, and of the results between their ends. Where steps
begin and end, changes are tangent vectors.
"""

# TODO merge docstring of kinetree.simulate.sensitivity.adaptive:
# Flow: the rates of the adaptive method with those of their changes, dx/dt = f, through a graph.
#
# Coordinates move straight within a step, so that quaternions leave length 1 there: f is
# differentiated as it stands, by all coordinates, and not along tangent vectors.
# TODO merge docstring of kinetree.simulate.sensitivity.adaptive:
# StepLog: a record of the steps that an adaptive run accepts.

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinetree.algorithms import with_parameters
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.derivatives import jvp
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.scalars import where
from kinetree.simulate.core.adaptive import AdaptiveSteps
from kinetree.simulate.core.dop853 import Slope, dense, take
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.integration import Rollouts
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.state import StateSpace
from kinetree.simulate.core.system import Actors, robot_rates
from kinetree.simulate.friction.modes import Dry
from kinetree.simulate.friction.stiction import dry_friction
from kinetree.simulate.sensitivity.checks import without_slope
from kinetree.simulate.sensitivity.inputs import (
    PARAMETERS,
    STATE,
    Given,
    Input,
    Numbers,
    Weights,
    sample_numbers,
)
from kinetree.simulate.sensitivity.rates import TangentMaps, checked_parameters, traced_forces
from kinetree.simulate.sensitivity.result import Inside

SCRATCH = 2**22  # numbers that a block of steps may take
RATES = 20  # arrays of the size of all changes that a step holds
SIDES = 2  # a step lies between two samples of a signal


class Flow:
    """The kernel of d f for changes of x, of constants p, of samples s, and of pi."""

    def __init__(
        self, space: StateSpace, actors: Actors, external: ExternalInputs, inputs: Sequence[Input]
    ) -> None:
        self.constants = [x for x in inputs if x.name not in STATE and x.weights is None]
        self.samples = [x for x in inputs if x.weights is not None]
        by_pi = any(x.name == PARAMETERS for x in self.constants)
        self.pi = [checked_parameters(space)] if by_pi else []
        graph = rate_graph(space, actors, external, self.pi)
        self.wrt = ["x"]
        self.wrt += ["p"] if any(x.place is not None for x in self.constants) else []
        self.wrt += ["s"] if self.samples else []
        self.wrt += ["pi"] if by_pi else []
        self.change = Kernel(optimise(jvp(graph, self.wrt)), "changes", dtypes=("float64",))
        self.states, self.external = space.rates, external

    @property
    def columns(self) -> int:
        """Directions: tangent vectors, constants, and of each signal the samples on either side."""
        return (
            self.states
            + sum(x.size for x in self.constants)
            + 2 * sum(x.size for x in self.samples)
        )

    def by_constants(self) -> dict[str, Array]:
        """Changes of p and of pi in every direction, (columns, size)."""
        sizes = {"p": self.external.params_size, "pi": len(self.pi[0]) if self.pi else 0}
        found = {name: np.zeros((self.columns, size)) for name, size in sizes.items()}
        at = self.states
        for given in self.constants:
            own = np.arange(given.size)
            first = 0 if given.place is None else given.place.start
            found["pi" if given.name == PARAMETERS else "p"][at + own, first + own] = 1
            at += given.size
        return found

    def by_samples(self, shares: Sequence[Array]) -> Array:
        """Changes of s, (S, columns, s), where signals stand at shares (S,) between two samples."""
        count = len(shares[0]) if shares else 1
        found = np.zeros((count, self.columns, self.external.table_size))
        at = self.columns - 2 * sum(x.size for x in self.samples)
        for given, share in zip(self.samples, shares, strict=True):
            assert given.place is not None
            own = np.arange(given.size)
            for weight in (1 - share, share):
                found[:, at + own, given.place.start + own] = weight[:, None]
                at += given.size
        return found

    def changes(self, t: Array, x: Array, p: Array, s: Array, dx: Array, ds: Array) -> Array:
        """d f, (S, columns, x), of dx, (S, columns, x); t (S,), x (S, x), p (S, p), s (S, s)."""
        by = self.by_constants() | {"x": dx, "s": ds}
        state = (t[:, None], *(y[:, None] for y in (x, p, s)))
        return self.change(*state, *self.pi, *(by[name] for name in self.wrt))


def rate_graph(
    space: StateSpace, actors: Actors, external: ExternalInputs, pi: Sequence[Array]
) -> Graph:
    """The graph of f(t, x, p, s), and of pi where it is differentiated by."""
    # numbers that are traced cannot be regrouped: the robot is told that some are
    varied = replace(actors, parameters=(PARAMETERS,)) if pi else actors

    def rate(t: Any, x: Array, p: Array, s: Array, *pi: Array) -> Array:
        given = external.named(p, s)
        own = actors.changed(space.model, given)
        q, dq, z = space.split(x)
        if pi:
            given = given | sliding(space, given, dq)
            own = with_parameters(own, pi[0])
        tau, dz = actors.forces(own, t, q, dq, z, given)
        F_ext = actors.wrenches(t, q, dq, given)
        moving, ddq, _ = robot_rates(space, varied, True, own, q, dq, tau, F_ext, given)
        return np.concatenate([moving, ddq, dz])

    sizes = {"x": space.size, "p": external.params_size, "s": external.table_size}
    sizes |= {"pi": len(pi[0])} if pi else {}
    ports = [Port("t", ()), *(Port(name, (size,)) for name, size in sizes.items())]
    return traced_forces(space.model, rate, ports, "k")


def sliding(space: StateSpace, given: dict[str, Any], dq: Array) -> dict[str, Any]:
    """The way in which every joint slides, since Coulomb friction is a parameter of them all."""
    if "mode" not in given:
        return {}
    known = dict(zip(dry_friction(space.model), given["mode"][0], strict=True))
    order = dict.fromkeys(d for joint in space.model.joints for d in joint.dofs)
    way = [known[d] if d in known else where(dq[d], 1, -1) for d in order]
    return {"mode": (np.array(way),)}


@dataclass(frozen=True, eq=False)
class Steps:
    """S accepted steps: rollout and number within it, t, h and the next break, all (S,).

    done, due: results before and after the step. x: where it begins, (S, x). modes: of joints with
    dry friction, (S, d). cut: whether dry friction ended it early.
    """

    rollout: Array
    number: Array
    t: Array
    h: Array
    until: Array
    done: Array
    due: Array
    x: Array
    modes: Array
    cut: Array

    def results(self, part: Array, count: int) -> tuple[Array, Array]:
        """Of the results in some steps: which of these steps, and the number of the result."""
        done, due = (np.minimum(x[part], count) for x in (self.done, self.due))
        which = np.repeat(np.arange(len(part)), due - done)
        start = np.cumsum(due - done) - (due - done)
        return which, done[which] + np.arange(len(which)) - start[which]


@dataclass(eq=False)
class StepLog:
    """Collects the accepted steps of an integration."""

    parts: list[tuple[Array, ...]] = field(default_factory=list)

    def __call__(
        self,
        rows: Array,
        t: Array,
        h: Array,
        until: Array,
        due: Array,
        x: Array,
        modes: Array,
        cut: Array,
    ) -> None:
        """One accepted step of some rollouts."""
        self.parts.append((rows, t, h, until, due, x, modes, cut))

    def steps(self, count: int) -> Steps:
        """All steps of so many rollouts, in the order in which they were taken."""
        rollout, t, h, until, due, *rest = (
            np.concatenate(x) for x in zip(*self.parts, strict=True)
        )
        number, done = np.zeros_like(due), np.ones_like(due)
        for row in range(count):
            own = np.flatnonzero(rollout == row)
            number[own] = np.arange(len(own))
            done[own[1:]] = due[own[:-1]]
        return Steps(rollout, number, t, h, until, done, due, *rest)


def check_complete(steps: Steps, batch: tuple[int, ...], count: int, results: int) -> None:
    """Refuse rollouts that ran away, which a simulation of a batch lets stand still instead."""
    reached, due = np.zeros(count), np.ones(count, int)
    np.maximum.at(reached, steps.rollout, steps.t + steps.h)
    np.maximum.at(due, steps.rollout, steps.due)
    lost = np.flatnonzero(due < results)
    if len(lost):
        row = lost[np.argmin(reached[lost])]
        where = [int(k) for k in np.unravel_index(row, batch)] if batch else []
        raise InputError(
            f"rollout {where} is not finite after t = {reached[row]:.6g} s, where the simulation "
            "lets it stand still; a motion that ran away has no derivatives. Leave the rollout out."
        )


def check_smooth(model: Model, steps: Steps, dry: Dry) -> None:
    """Refuse steps in which dry friction holds a joint, or that end because it stops one."""
    dofs, dq = dry.dofs, steps.x[:, model.nq : model.nq + model.n]
    rough = (dry.plus != 0) | (dry.minus != 0)
    leaves = (dq[:, dofs] == 0) & rough[steps.rollout]
    bad = (steps.modes == 0) | leaves | steps.cut[:, None]
    if bad.any():
        i = int(np.argmax(bad.any(-1)))
        slowest = np.abs(dq[i, dofs]) + np.where(bad[i], 0, np.inf)
        raise InputError(
            f"joint {model.dof_names[dofs[np.argmin(slowest)]]!r} stands still or is stopped by "
            f"its Coulomb friction after t = {steps.t[i]:.6g} s, where its motion has no "
            "derivative. Start with dq0 that is not 0, end before it rests, or take the Coulomb "
            'friction out of the robot. Where "friction" is only asked for, method="rk4" passes '
            "through rest."
        )


class AdaptiveRun:
    """An adaptive loop with the kernel of its changes."""

    def __init__(self, steps: AdaptiveSteps, setup: Setup, inputs: Sequence[Input]) -> None:
        self.steps, self.space = steps, steps.space
        external = steps.with_modes(setup.external, ())
        self.flow = Flow(self.space, setup.actors, external, inputs)
        self.maps = TangentMaps(self.space)

    def rollouts(self, setup: Setup) -> Rollouts:
        """The numbers that rollouts are given."""
        external, count = self.steps.with_modes(setup.external, ()), len(setup.x0)
        return Rollouts(
            self.steps.system, setup.actors, external, setup.batch, count, self.steps.dry
        )

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
