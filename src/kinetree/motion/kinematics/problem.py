"""The search for joint positions: starts, slices of rounds, the nearest state of every pose.

Each pose is solved by itself, by the kernel of `descent.py`: from q0, then from further starts that
fill the limits evenly (the additive sequence of Roberts), until it is reached. Those that are not
reached keep the nearest position. No result depends on the other poses of the batch.
Arrays are those of NumPy, or of CuPy on a GPU; `xp` is the package.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.joints import REVOLUTE
from kinetree.model import Model
from kinetree.model.bounds import Bounds
from kinetree.motion.kinematics.descent import PATIENCE, RESTING

START_DAMPING = 0.5  # mu of the first round
SEARCH_ROUNDS, POLISH_ROUNDS, POSTURE_ROUNDS = 100, 300, 100
SEARCH_PROGRESS = 0.97  # a start is given up after rounds that leave more of e^2 than this
POLISH_PROGRESS = 1 - 1e-6
POSTURE_GAIN = 0.5  # share of the way to the posture in one round
# rounds after which poses that are done leave the batch, and starts of a small batch that are tried
# together; results do not depend on either
SLICE = {"numpy": 12, "cupy": 34}
AT_ONCE = {"numpy": 32, "cupy": 2**17}
DIFFERENT = 1e-3  # rad or m by which two solutions differ in some joint
TURN = 2 * np.pi
FAR = 1e300  # e^2 before the first round


@dataclass(frozen=True, eq=False)
class State:
    """What rounds of the kernel carry on, for B poses."""

    q: Array
    s: Array
    cost: Array
    mu: Array
    slow: Array
    left: Array
    angle: Array
    distance: Array

    @classmethod
    def at(cls, xp: Any, q: Array, n: int, mu: float = START_DAMPING) -> "State":
        """The state before the first round."""
        zero = xp.zeros(len(q))
        return cls(q, xp.zeros((len(q), n)), zero + FAR, zero + mu, zero + 1, zero, zero + FAR,
                   zero + FAR)  # fmt: skip

    def arrays(self) -> tuple[Array, ...]:
        """The arguments of the kernel."""
        return tuple(vars(self).values())

    def __getitem__(self, at: Array) -> "State":
        return State(*(x[at] for x in self.arrays()))

    def put(self, at: Array, other: "State") -> None:
        """Write the states of some poses."""
        for x, y in zip(self.arrays(), other.arrays(), strict=True):
            x[at] = y


@dataclass(frozen=True, eq=False)
class Problem:
    """Targets of B poses, (B, ...) each, and what all of them share."""

    model: Model
    bounds: Bounds
    targets: tuple[Array, ...]
    kernel: Any
    weights: Array
    tolerance: float
    seed: int
    xp: Any = np

    def start(self, q: Array) -> State:
        """The state before the first round."""
        return State.at(self.xp, q, self.model.n)

    def reached(self, state: State) -> Array:
        """Whether the errors of poses are at most the tolerance."""
        return self.xp.maximum(state.angle, state.distance) <= self.tolerance**2

    def is_open(self, state: State, gain: float) -> Array:
        """Whether a state goes on where only the rounds of a slice have ended, as in the kernel."""
        far = (state.s**2).sum(axis=1) > RESTING if gain else ~self.reached(state)
        return (state.left <= 0) & (state.slow < PATIENCE) & far

    def part(self, at: Array) -> "Problem":
        """Some of the poses."""
        return replace(self, targets=tuple(x[at] for x in self.targets))

    def run(
        self,
        state: State,
        rounds: int,
        progress: float,
        gain: float = 0,
        posture: Array | None = None,
    ) -> State:
        """Rounds from a state; poses that are done leave the batch after every slice."""
        xp, most = self.xp, SLICE[self.xp.__name__]
        now, going = state[xp.arange(len(state.q))], xp.arange(len(state.q))
        wanted = np.zeros(self.model.n) if posture is None else posture
        limits = self.bounds.lower, self.bounds.upper
        shared = [xp.asarray(x) for x in (*limits, self.weights)]
        options = [xp.asarray(x) for x in (self.tolerance, progress, 1 + gain, wanted)]
        while len(going) and rounds > 0:
            some = now[going]
            some.left[:] = min(most, rounds)
            targets = (x[going] for x in self.targets)
            after = State(*self.kernel(
                *some.arrays(), *shared, *options, *targets
            ))  # fmt: skip
            now.put(going, after)
            going = going[self.is_open(after, gain)]
            rounds -= most
        return now

    def search(self, q: Array, restarts: int) -> tuple[State, Array]:
        """The nearest state of every pose, from q and further starts, and how many were tried."""
        best = self.run(self.start(q), SEARCH_ROUNDS, SEARCH_PROGRESS)
        xp = self.xp
        tries, first, near = xp.zeros(len(q), int), 1, best.q.copy()
        going = xp.flatnonzero(~self.reached(best))
        while len(going) and first <= restarts:
            width = min(max(1, AT_ONCE[xp.__name__] // len(going)), restarts + 1 - first)
            starts = self.starts(near[going], range(first, first + width))
            every = xp.repeat(going, width)
            found = self.part(every).run(self.start(starts), SEARCH_ROUNDS, SEARCH_PROGRESS)
            reached = self.reached(found).reshape(-1, width)
            cost = found.cost.reshape(-1, width)
            chosen = xp.where(reached.any(axis=1), reached.argmax(axis=1), cost.argmin(axis=1))
            own = found[xp.arange(len(going)) * width + chosen]
            nearer = reached.any(axis=1) | (own.cost < best.cost[going])
            best.put(going[nearer], own[xp.flatnonzero(nearer)])
            tries[going] = xp.where(reached.any(axis=1), first + chosen, first + width - 1)
            going = going[~reached.any(axis=1)]
            first += width
        if len(going):
            best.put(going, self.part(going).polished(best[going]))
        self.unwind(best, q)
        return best, tries

    def several(self, q: Array, restarts: int, most: int) -> "tuple[State, Array, Problem]":
        """Up to so many different states of every pose, the numbers of their starts, the poses.

        Where there are fewer, the nearest state that is not reached, or the first one, follows.
        """
        first = self.run(self.start(q), SEARCH_ROUNDS, SEARCH_PROGRESS)
        width = restarts + 1
        starts = self.starts(first.q, range(width)).reshape(len(q), width, -1)
        starts[:, 0] = q
        every = self.part(np.repeat(np.arange(len(q)), width))
        found = every.run(
            self.start(starts.reshape(-1, q.shape[1])), SEARCH_ROUNDS, SEARCH_PROGRESS
        )
        reached = every.reached(found)
        self.unwind(found, np.repeat(q, width, axis=0))
        chosen: list[int] = []
        for k in range(len(q)):
            rows = np.arange(k * width, (k + 1) * width)
            own: list[int] = []
            for row in rows[reached[rows]]:
                apart = np.abs(found.q[own] - found.q[row]).max(axis=-1, initial=0)
                if len(own) < most and (apart > DIFFERENT).all():
                    own.append(int(row))
            others = rows[~reached[rows]]
            spare = int(others[found.cost[others].argmin()]) if len(others) else int(rows[0])
            chosen += own + [spare] * (most - len(own))
        picked = np.array(chosen)
        state = found[picked]
        for k in np.flatnonzero(np.diff(picked, prepend=-1) == 0):  # a repeated one is none
            state.distance[k] = np.inf
        return state, picked % width, every.part(picked)

    def polished(self, state: State) -> State:
        """The minimum next to each state."""
        return self.run(self.start(state.q), POLISH_ROUNDS, POLISH_PROGRESS)

    def towards(self, state: State, posture: Array) -> State:
        """States that are reached, moved to a posture as far as the targets allow."""
        coords = self.bounds.coords
        wanted = np.where(coords >= 0, posture[coords], 0.0)
        moved = self.run(self.start(state.q), POSTURE_ROUNDS, 1, POSTURE_GAIN, wanted)
        end = self.polished(moved)
        kept = self.reached(end) & self.reached(state)
        out = state[self.xp.arange(len(state.q))]
        out.put(kept, end[self.xp.flatnonzero(kept)])
        return out

    def unwind(self, state: State, q: Array) -> None:
        """Take full turns from hinges, so that they are next to q, (B, nq), within the limits."""
        at, bounds = self.hinges, self.bounds
        xp, coords = self.xp, bounds.coords[at]
        low, high = xp.asarray(bounds.lower[at]), xp.asarray(bounds.upper[at])
        own = state.q[:, coords]
        turned = own - TURN * xp.rint((own - q[:, coords]) / TURN)
        state.q[:, coords] = xp.where((low <= turned) & (turned <= high), turned, own)

    @property
    def hinges(self) -> list[int]:
        """Degrees of freedom of which a full turn changes no frame."""
        if self.model.constraints is not None:
            return []
        leaders = {x.follows for x in self.model.joints}
        free = [x for x in self.model.joints if x.follows is None and x.name not in leaders]
        return [x.dofs[0] for x in free if x.type == REVOLUTE]

    def starts(self, q: Array, numbers: Sequence[int]) -> Array:
        """Starts of those numbers for each q, (B, nq): (B * starts, nq).

        Entries that no limit bounds are within half a turn or half a metre of 0; joints with
        several degrees of freedom stay where the first start ended.
        """
        own = self.bounds.coords >= 0
        low, high = self.bounds.lower[own], self.bounds.upper[own]
        reach = np.where(self.bounds.sliding[own], 0.5, np.pi)
        low = np.where(np.isfinite(low), low, np.minimum(-reach, high - 2 * reach))
        high = np.where(np.isfinite(high), high, np.maximum(reach, low + 2 * reach))
        d = len(low)
        ratio = np.roots([1, *[0] * (d - 1), -1, -1]).real.max() if d else 1.0
        steps = ratio ** -np.arange(1.0, d + 1)
        share = np.modf(0.5 + (np.array(numbers)[:, None] + 4096 * self.seed) * steps)[0]
        out = self.xp.repeat(q, len(numbers), axis=0).reshape(len(q), len(numbers), -1)
        out[..., self.bounds.coords[own]] = self.xp.asarray(low + share * (high - low))
        return out.reshape(-1, q.shape[1])
