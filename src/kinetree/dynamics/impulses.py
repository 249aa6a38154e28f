"""Impulses of a step: joint friction, stops and contacts, solved together by Newton's method.

Impulses r along the rows (rows.py) change the velocities of the robot by A X^T r, and those of the
rows are w = X (A X^T r) + b. All rows are one equation e(r) = 0, and the length of e relative to
the velocities that the impulses have to change is the residual.

**A round.** With e = 0 linearised for each row, P dr + S X dv = -e, and A^-1 dv = X^T dr, a round
solves

    (A^-1 + sum X^T K X) dv = -sum X^T P^-1 e,   K = P^-1 S,   dr = -P^-1 e - K X dv

For a tree v are the joint rates and A^-1 is the matrix of the step. Rows of one joint add to its
diagonal, and rows of one link add entries for the joints between the link and the base, where the
matrix has entries already: it is factored without fill, and no row makes it larger. Under
constraints, and where only few links touch, v are the velocities of the carriers, as many as the
rows move: 12 for a humanoid on two feet.

**Rounded corners.** eps shrinks with the error, and grows where a round does not make the error
smaller, so that the search does not stop at a corner, and not always by as much, so that it does
not go round in circles. With joint rows, steps that make e larger are shortened in some rounds
(DAMPED), which helps there and hinders contacts alone. The impulses of the round with the smallest
e are the result. benchmarks/results/2026-11-18-contact-solver.md compares variants.

**Redundant forces.** More points touch than the robot can push apart with four legs or a flat foot.
All points of a link have soft pads of one softness; they decide on forces that the motion leaves
open, and so does HOLDING among joints.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.repeat import Layout, constant, repeat
from kinetree.dynamics.rows import TINY, Row
from kinetree.scalars import absolute, maximum, minimum, sqrt, where
from kinetree.spatial.matrices import Factor, is_zero, solve, solve_unsymmetric

TOLERANCE = 1e-8  # of the residual
LEAST = 1e-12  # m/s or rad/s: velocities that count as rounding, which nothing has to change
FINE = 1e-10  # the same where one more round reaches it: pads move velocities by SHARING alone
ROUNDS = 160
# rounds after which the search begins anew at the best impulses, and after which again; eps is then
# the error times 1, 10 and 100 in turn. Of steps that ended above TOLERANCE after 80 rounds (G1 and
# ANYmal limp, dry friction in all joints), 7 of 8 are solved so
AGAIN_AFTER, AGAIN, WIDEST = 40, 20, 100
DAMPED, SHORTER = ((20, 40), (60, 80)), (0.3, 0.1)  # rounds that try these shares of a step, too
# first rounds with rows that are stiffer by eps: it helps there, and robots in gimbal lock never
# come to the end with it
STIFFER = 20
ROUNDED = 0.3  # eps of the first round, of the velocities that the impulses change
# where the error is below so many eps, eps is multiplied by this
SHRINKING = ((30, 0.3), (3, 0.1), (0.3, 0.01), (0.03, 0.001))
STALLED = 0.8  # where a round leaves so much of e^2, eps is multiplied by one of GROWING, in turn
GROWING = (3, 3, 10)
START = 0.3  # e of rows that stop, relative, with which the search begins there


@dataclass(frozen=True, eq=False)
class Response:
    """How impulses change velocities v: A, and its inverse.

    inverse: (N, N). J: (D, N), the velocities of the carriers are J v; None: they are v, and A is
    given, (N, N). factor: of the inverse, if J is given and the inverse symmetric.
    """

    inverse: Array
    factor: Factor | None = None
    A: Array | None = None
    J: Array | None = None

    def carried(self, f: Array) -> Array:
        """Velocities of the carriers for impulses along them, (D,)."""
        if self.J is None:
            return self.A @ f
        forces = self.J.T @ f
        if self.factor is None:
            return self.J @ solve_unsymmetric(self.inverse, forces)
        return self.J @ solve(self.factor, forces)

    def arrays(self) -> dict[str, Array]:
        """All numbers by name."""
        named = {"inverse": self.inverse, "A": self.A, "J": self.J}
        if self.factor is not None:
            L = [x for row in self.factor.L for x in row.values()]
            named |= {"L": np.array(L, dtype=object), "D": np.array(self.factor.D, dtype=object)}
        return {name: x for name, x in named.items() if x is not None}

    def of_arrays(self, named: Mapping[str, Array]) -> "Response":
        """The same with other numbers."""
        factor = self.factor
        if factor is not None:
            numbers = iter(named["L"])
            L = [{j: next(numbers) for j in row} for row in factor.L]
            factor = Factor(L, list(named["D"]))
        return Response(named["inverse"], factor, named.get("A"), named.get("J"))

    def newton(self, blocks: Sequence[tuple[slice, Array]], f: Array) -> Array:
        """J dv of (A^-1 + J^T B J) dv = J^T f for blocks of B along the diagonal."""
        if self.J is None:
            B = self.inverse.astype(object)
            for at, block in blocks:
                B[at, at] = B[at, at] + block
            return _eliminated(B, f)
        B = self.inverse.astype(object)
        for at, block in blocks:
            rows = self.J[at]
            dofs = [d for d in range(len(B)) if not all(map(is_zero, rows[:, d]))]
            part = rows[:, dofs]
            B[np.ix_(dofs, dofs)] = B[np.ix_(dofs, dofs)] + part.T @ (block @ part)
        return self.J @ _eliminated(B, self.J.T @ f)


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows on carriers, and the velocities b that they have without impulses, (N,).

    b: m/s or rad/s, with those that close gaps and rebound. smooth: the impulses have derivatives,
    one-sided where a contact is between two modes.
    """

    response: Response
    rows: Sequence[Row]
    b: Array
    smooth: bool = False

    @functools.cached_property
    def places(self) -> list[slice]:
        """The entries of r of each row."""
        ends = np.cumsum([x.size for x in self.rows]).tolist()
        return [slice(end - x.size, end) for x, end in zip(self.rows, ends, strict=True)]

    def velocities(self, r: Array) -> Array:
        """w for impulses r."""
        V, parts = self.response.carried(self.carried(r)), list[Any]()
        for x, at in zip(self.rows, self.places, strict=True):
            parts += list(x.seat.velocities(V[x.seat.carrier]) + r[at] * x.soft)
        return np.array(parts) + self.b

    def carried(self, r: Array) -> Array:
        """Impulses along the carriers, (D,), for those of all rows."""
        response = self.response
        total: list[Any] = [0] * len(response.inverse if response.J is None else response.J)
        for x, at in zip(self.rows, self.places, strict=True):
            for i, part in zip(
                range(len(total))[x.seat.carrier], x.seat.impulses(r[at]), strict=True
            ):
                total[i] = part if is_zero(total[i]) else total[i] + part
        return np.array(total, dtype=object)

    def scale(self) -> Any:
        """Largest velocity that the impulses have to change."""
        scale: Any = 0
        for x, at in zip(self.rows, self.places, strict=True):
            scale = maximum(scale, x.scale(self.b[at]))
        return scale

    def error(self, r: Array, w: Array) -> Any:
        """e^2, with exact corners."""
        total: Any = 0
        for x, at in zip(self.rows, self.places, strict=True):
            e = x.error(r[at], w[at])
            total = total + e @ e
        return total

    def within(self, r: Array) -> Array:
        """Impulses moved into their bounds, by no more than e."""
        parts = [x.within(r[at]) for x, at in zip(self.rows, self.places, strict=True)]
        return np.concatenate(parts)

    def stuck(self) -> Array:
        """Impulses that stop all rows that have to stop."""
        found = [x.stuck(self.b[at]) for x, at in zip(self.rows, self.places, strict=True)]
        return self.step(np.concatenate([e for e, _ in found]), [slopes for _, slopes in found], 0)

    def rounded(self, r: Array, w: Array, eps: Any) -> tuple[Array, list[Any]]:
        """e of all rows with corners rounded by eps, (N,), and its slopes."""
        pairs = zip(self.rows, self.places, strict=True)
        found = [x.rounded(r[at], w[at], eps) for x, at in pairs]
        return np.concatenate([e for e, _ in found]), [slopes for _, slopes in found]

    def step(self, e: Array, slopes: Sequence[Any], more: Any) -> Array:
        """dr of a round, (N,); more: by which part of its weight a row is stiffer."""
        solved = [
            x.eliminated(e[at], s, more)
            for x, at, s in zip(self.rows, self.places, slopes, strict=True)
        ]
        blocks: dict[int, tuple[slice, Array]] = {}
        for x, (_, K) in zip(self.rows, solved, strict=True):
            at, block = x.seat.carrier, x.seat.stiffness(K)
            known = blocks.get(at.start)
            blocks[at.start] = at, block if known is None else known[1] + block
        f = self.carried(np.concatenate([-free for free, _ in solved]))
        dV = self.response.newton(list(blocks.values()), f)
        parts: list[Any] = []
        for x, (free, K) in zip(self.rows, solved, strict=True):
            parts += list(-free - K @ x.seat.velocities(dV[x.seat.carrier]))
        return np.array(parts)

    def arrays(self) -> dict[str, Array]:
        """All numbers by name, as a loop takes them."""
        named = {"b": self.b} | self.response.arrays()
        for k, x in enumerate(self.rows):
            named[f"row {k}"] = x.numbers
            if x.seat.arm is not None and x.seat.axes is not None:
                named |= {f"arm {k}": x.seat.arm, f"axes {k}": x.seat.axes}
        return named

    def of_arrays(self, named: Mapping[str, Array]) -> "Problem":
        """The problem with other numbers."""
        rows: list[Row] = []
        for k, x in enumerate(self.rows):
            seat = x.seat
            if seat.arm is not None:
                seat = replace(seat, arm=named[f"arm {k}"], axes=named[f"axes {k}"])
            rows.append(replace(x, numbers=named[f"row {k}"], seat=seat))
        response = self.response.of_arrays(named)
        return replace(self, response=response, rows=rows, b=named["b"])


@dataclass(frozen=True, eq=False)
class Solution:
    """impulses: (N,), N s or N m s. residual: relative, 0 where nothing has to change.

    carried: impulses along the carriers, (D,). scale: largest velocity that they had to change.
    """

    impulses: Array
    carried: Array
    residual: Any
    rounds: Any
    scale: Any


def solve_rows(
    problem: Problem, needed: Any = 1, tolerance: float = TOLERANCE, fine: float = FINE
) -> Solution:
    """Impulses that satisfy all rows, with the residual that is left, over any scalars.

    needed: 0 where the solution is not, and no round is taken. The rounds end one after the
    residual is `tolerance`, or where it is `fine`.
    """
    scale = problem.scale() * needed
    scale = where(scale - LEAST, scale, 0)
    r = problem.stuck()
    w = problem.velocities(r)
    error = problem.error(r, w)
    fine = scale * fine
    is_open = where(scale, where(error - fine * fine, 1, 0), 0)
    near = where(START * START * scale * scale - error, 1, 0)  # else it begins anew
    r, w = where(near, r, 0 * r), where(near, w, problem.b)
    error = where(near, error, scale * scale)
    eps = where(near, sqrt(error), scale * ROUNDED)
    size, most = where(scale, scale, 1), scale * tolerance
    start = {"r": r, "w": w, "best": r, "best_w": w, "least": error, "last": error, "eps": eps}
    start |= {"open": is_open, "rounds": 0, "turn": 0, "left": AGAIN_AFTER, "wide": 1}
    given = {"most": most * most, "fine": fine * fine, "scale": scale, "per_scale": 1 / size}
    function = functools.partial(_next, problem)
    arrays = problem.arrays()
    end = repeat(function, ROUNDS, start, arrays | given, solves=problem.smooth)
    residual = where(scale, sqrt(end["least"]) / size, 0)
    r = problem.within(end["best"])
    if problem.smooth:  # by the implicit function theorem, at a solution without an error
        layout = Layout.of(arrays)
        known = problem.of_arrays(layout.named(constant(layout.flat(arrays))))
        r = constant(r)
        r = r + known.step(*known.rounded(r, known.velocities(r), 0), 0)
        slopes = known.rounded(r, known.velocities(r), 0)[1]
        for _ in range(2):  # the second step removes what regularisation leaves
            r = r + known.step(problem.rounded(r, problem.velocities(r), 0)[0], slopes, 0)
    return Solution(r, problem.carried(r), residual, end["rounds"], scale)


def _next(like: Problem, now: Mapping[str, Array], given: Mapping[str, Array]) -> dict[str, Any]:
    """One round.

    now: rounds, rounds modulo those of GROWING (turn), rounds until the search begins anew (left)
    and eps there in errors (wide), least and last e^2, eps, the best and the last impulses and w.
    """
    problem, anew, wide = like.of_arrays(given), where(now["left"] - 0.5, 0, 1), now["wide"]
    r, w = where(anew, now["best"], now["r"]), where(anew, now["best_w"], now["w"])
    last = where(anew, now["least"], now["last"])
    eps = where(anew, sqrt(now["least"]) * wide, now["eps"])
    stiffer = eps * given["per_scale"] * where(STIFFER - 0.5 - now["rounds"], 1, 0)
    step = problem.step(*problem.rounded(r, w, eps), stiffer)
    after = problem.velocities(r + step)
    state = r + step, after, problem.error(r + step, after)
    if any(x.size == 1 for x in problem.rows):
        state = _shortened(problem, now["rounds"], (r, w, last), state)
    r, w, error = state
    grown: Any = GROWING[0]
    for k, growing in enumerate(GROWING[1:]):
        grown = where(now["turn"] - (k + 0.5), growing, grown)
    factor = where(error - STALLED * last, grown, 1)
    for times, share in SHRINKING:
        factor = where(times * times * eps * eps - error, share, factor)
    least = minimum(error, now["least"])
    is_open = where(now["least"] - given["most"], 1, 0) * where(least - given["fine"], 1, 0)
    better = where(now["least"] - error, 1, 0)
    return {
        "open": is_open,
        "rounds": now["rounds"] + 1,
        "turn": where(len(GROWING) - 1.5 - now["turn"], now["turn"] + 1, 0),
        "least": least,
        "last": error,
        "eps": minimum(eps * factor, given["scale"]),
        "left": where(anew, AGAIN, now["left"]) - 1,
        "wide": where(anew, where(wide - (WIDEST - 0.5), 1, wide * 10), wide),
        "best": where(better, r, now["best"]),
        "best_w": where(better, w, now["best_w"]),
        "r": r,
        "w": w,
    }


def _shortened(
    problem: Problem, rounds: Any, before: tuple[Array, Array, Any], after: tuple[Array, Array, Any]
) -> tuple[Array, Array, Any]:
    """Impulses, velocities and error after a round, or after a part of it where that is better."""
    (start, old, last), (r, w, error) = before, after
    damped = sum(
        where(rounds - first + 0.5, 1, 0) * where(end - 0.5 - rounds, 1, 0) for first, end in DAMPED
    )
    end, new, grows = r, w, damped * where(error - last, 1, 0)
    for part in SHORTER:
        shorter, reached = start + (end - start) * part, old + (new - old) * part
        other = problem.error(shorter, reached)
        better = grows * where(error - other, 1, 0)
        r, w = where(better, shorter, r), where(better, reached, w)
        error = where(better, other, error)
    return r, w, error


def _eliminated(rows: Array, right: Array) -> Array:
    """Solve M x = right without exchanging rows; not a number where a pivot vanishes."""
    n, x = len(right), list(right)
    M = [{j: a for j, a in enumerate(row) if not is_zero(a)} for row in rows]
    for i in reversed(range(n)):
        pivot = M[i].pop(i)
        inverse = 1 / where(absolute(pivot), pivot, TINY)
        before = {j: a for j, a in M[i].items() if j < i}
        for j in range(i):
            if i in M[j]:
                share = M[j][i] * inverse
                x[j] = x[j] - x[i] * share
                for k, b in before.items():
                    M[j][k] = M[j].get(k, 0) - share * b
        M[i], x[i] = {j: a * inverse for j, a in before.items()}, x[i] * inverse
    for i in range(n):
        for j, a in M[i].items():
            x[i] = x[i] - x[j] * a
    return np.array(x)
