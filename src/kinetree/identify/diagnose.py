"""Causes of errors: a table of what may be wrong with a recording, each tested by one rule.

`evidence` has the rule. The accepted cause that explains most is reported with its effect; joints
that stick, forces at a limit and forces unlike those of the description are seen without a fit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.natural_units import natural_units
from kinetree.identify.checks import named
from kinetree.identify.evidence import Evidence, Gain
from kinetree.identify.loops import motor_dofs
from kinetree.identify.recording import Recording
from kinetree.identify.rest import still_joints
from kinetree.identify.rows import Rows
from kinetree.identify.solve import Solved
from kinetree.identify.unknowns import OFFSET
from kinetree.model import Model
from kinetree.model.bounds import bounds_of

# kind: what is wrong, and what to do; {x} is the factor found, {joints} the names
CAUSES = {
    "sign": "tau of {joints} has the other sign: reverse it in the file",
    "unit": "tau of {joints} is {x[0]:.3g} times what the model and the other joints say: check "
    "its unit (N m or N), gear ratio and torque constant",
    "order": "tau of {joints} fits with the columns exchanged: check their order",
    "gravity direction": "gravity differs from the description, by ({x[0]:.3g}, {x[1]:.3g}, "
    "{x[2]:.3g}) m/s^2: describe how the base is mounted",
    "compensated gravity": "tau lacks {x[0]:.0%} of gravity as described: the drive compensates "
    "it; record the whole torque",
    "compensated friction": "friction of {joints} would drive the motion: the drive compensates "
    "it, or tau has the other sign; record the whole torque",
    "offset": "tau of {joints} has an offset of {x[0]:.3g} N m or N: offsets=True finds it",
    "coupled joint": "tau of {joints[0]} follows the rate of {joints[1]}: convert the forces of "
    "coupled motors to joint forces",
    "encoder zero": "the zero of {joints} is off: add {x[0]:.3g} rad or m to its q",
    "saturation": "tau of {joints} stays behind where it is largest: the drive or the sensor was "
    "saturated; record a slower motion",
    "sticking": "{joints} stand still in up to {x[0]:.0%} of the recording while other joints "
    "move: friction at rest has any value; keep every joint moving",
}


@dataclass(frozen=True)
class Cause:
    """Why measured joint forces differ from those of the model.

    Args:
        kind: "sign", "unit", "order", "gravity direction", "compensated gravity", "compensated
            friction", "offset", "coupled joint", "encoder zero", "sticking" or "saturation".
        joints: names of the degrees of freedom concerned; empty: all.
        text: what is wrong and what to do: a sentence without its full stop.
        effect: decrease of the held-out error of the joint that gains most, N m or N; 0: seen in
            the recording without a fit.
    """

    kind: str
    joints: tuple[str, ...]
    text: str
    effect: float = 0.0

    def __str__(self) -> str:
        seen = f" (held-out error {self.effect:.2g} N m or N smaller)" if self.effect else ""
        return f"{self.text}{seen}"


def _cause(kind: str, model: Model, dofs: Sequence[int], x: Any = (), effect: float = 0) -> Cause:
    """A cause of the table at some degrees of freedom."""
    names = tuple(model.dof_names[k] for k in dofs)
    quoted = [repr(x) for x in names] if kind == "coupled joint" else named(names)
    return Cause(kind, names, CAUSES[kind].format(joints=quoted, x=x), effect)


def find_cause(solved: Solved, test: Recording, cutoff: float | None) -> list[Cause]:
    """The cause that explains most of the held-out error, if one is accepted; and those seen."""
    evidence, model = Evidence(solved, test, cutoff), solved.params.robot.model
    found = [*_changed_rows(evidence), *_of_joints(evidence), *_of_robot(evidence)]
    accepted = [(gain, kind, dofs) for kind, dofs, gain in found if gain is not None]
    best = sorted(accepted, key=lambda x: -x[0].squares)[:1]
    causes = list(_unlike_description(evidence))  # first: other causes may follow from it
    causes += [_cause(kind, model, dofs, gain.phi, gain.effect) for gain, kind, dofs in best]
    causes += _seen(model, solved.rows.data)
    if not any(x.kind == "sign" for x in causes):
        causes += _driving_friction(evidence)
    return causes


Found = Iterator[tuple[str, Sequence[int], Gain | None]]


def _changed_rows(evidence: Evidence) -> Found:
    """Signs, units and the order of joint forces."""
    from scipy import optimize

    n = len(evidence.sigma)
    order, one = np.arange(n), np.eye(n)
    for j in evidence.motors:
        yield "sign", (j,), evidence.changed(order, 1 - 2 * one[j])

        def cost(x: float, j: int = j) -> float:
            return -evidence.refit(order, np.exp(x * one[j]))[1]

        near = min(np.linspace(-7, 7, 15), key=cost)  # milli to kilo
        best: Any = optimize.minimize_scalar(cost, bounds=(near - 1, near + 1), method="bounded")
        if abs(best.x) > np.log(1.25):  # a smaller factor is an error of a sensor, not a unit
            gain = evidence.changed(order, np.exp(best.x * one[j]))
            yield "unit", (j,), gain and Gain(gain.squares, gain.effect, gain.phi[[j]])
    for i, j in combinations(evidence.motors, 2):
        swapped = order.copy()
        swapped[[i, j]] = j, i
        yield "order", (i, j), evidence.changed(swapped, np.ones(n))


def _of_joints(evidence: Evidence) -> Found:
    """Offsets, saturation and coupled joints."""
    sides, params = (evidence.train, evidence.test), evidence.params
    names = params.robot.model.dof_names

    def added(j: int, columns: Sequence[Sequence[Array]]) -> Gain | None:
        """The gain by columns of joint j, of the fit and of the held-out rows."""
        E = [np.zeros((*rows.y.shape, len(x))) for rows, x in zip(sides, columns, strict=True)]
        for own, x in zip(E, columns, strict=True):
            own[:, j] = np.stack(x, axis=-1)
        return evidence.added(*E)

    for j in evidence.motors:
        if not {f"{OFFSET}[{names[j]}]", f"coulomb-[{names[j]}]"} & set(params.names):
            yield "offset", (j,), added(j, [[np.ones(len(x.y))] for x in sides])
        limit = np.quantile(np.abs(evidence.train.y[:, j]), 0.97)
        predicted = [W[:, j] @ evidence.beta for W in (evidence.W_train, evidence.W_test)]
        beyond = [[-np.sign(p) * np.maximum(np.abs(p) - limit, 0)] for p in predicted]
        gain = added(j, beyond)
        yield "saturation", (j,), gain if gain is not None and gain.phi[0] > 0.3 else None
    for j, k in permutations(evidence.motors, 2):
        if abs(k - j) <= 2:  # a transmission couples neighbours
            functions = (np.positive, np.sign)
            columns = [[x.filtered(f(x.data.dq[:, k])) for f in functions] for x in sides]
            yield "coupled joint", (j, k), added(j, columns)


def _of_robot(evidence: Evidence) -> Found:
    """Encoder zeros, the direction of gravity, and its compensation; not for quaternions."""
    params, sides = evidence.params, (evidence.train, evidence.test)
    model = params.robot.model
    if model.n != model.nq or model.constraints is not None:
        return
    units = natural_units(model)
    steps = 1e-4 * np.where(units.sliding, units.length, 1)  # rad or m, of central differences
    x = np.zeros(len(params.names))
    x[evidence.kept] = evidence.beta
    for j, step in enumerate(steps):
        own, columns = step * np.eye(model.n)[j], list[Array]()
        for rows in sides:
            q, dq, ddq = rows.data.q, rows.data.dq, rows.data.ddq
            high, low = (params.linear_forces(q + d, dq, ddq, x) for d in (own, -own))
            columns.append(rows.filtered((high - low) / (2 * step))[..., None])
        yield "encoder zero", (j,), evidence.added(*columns)
    g = np.asarray(model.gravity[3:], float)
    if not g.any():
        return
    by_gravity = [_gravity_columns(evidence, rows, steps) for rows in sides]
    gain = evidence.added(*by_gravity)
    if gain is not None:
        along = g * float(gain.phi @ g) / float(g @ g)
        # scaled more than turned: gravity that is compensated, or wrong masses
        turned = np.linalg.norm(gain.phi - along) > 0.5 * np.linalg.norm(along)
        yield "gravity direction", (), gain if turned else None
    gain = evidence.added(*(-(x @ g)[..., None] for x in by_gravity))
    yield "compensated gravity", (), gain if gain is not None and 0.3 < gain.phi[0] < 2 else None


def _gravity_columns(evidence: Evidence, rows: Rows, steps: Array) -> Array:
    """Derivatives of the joint forces by the gravity vector, (rows, n, 3), of bodies as described.

    With c_i the centre of mass of link i in {s}, tau = -sum of m_i (dc_i/dq)^T g.
    """
    robot, q = evidence.params.robot, rows.data.q
    m, com = np.asarray(robot.model.m, float), np.asarray(robot.model.com, float)

    def moment(q: Array) -> Array:
        T = np.asarray(robot.link_poses(q))
        centres = np.einsum("tiab,ib->tia", T[..., :3, :3], com) + T[..., :3, 3]
        return np.einsum("i,tia->ta", m, centres)

    slopes = [(moment(q + h * one) - moment(q - h * one)) / (2 * h)
              for h, one in zip(steps, np.eye(robot.n), strict=True)]  # fmt: skip
    return -rows.filtered(np.stack(slopes, axis=1))


def _seen(model: Model, data: Recording) -> Iterator[Cause]:
    """Joints that stick while others move, and forces that stay at their largest value."""
    motors = np.array(motor_dofs(model))
    still = still_joints(model, data)
    alone = (still & ~still.all(axis=1, keepdims=True)).mean(axis=0) * ~still.all(axis=0)
    if len(sticking := motors[alone[motors] > 0.1]):  # of the recording
        yield _cause("sticking", model, sticking.tolist(), [alone[sticking].max()])
    x, effort = np.abs(data.tau), bounds_of(model).effort
    at_limit = np.abs(x / np.where(effort > 0, effort, np.inf) - 1) < 0.005
    moving = np.abs(data.dq) > 0.01 * np.abs(data.dq).max(axis=0)
    share = ((at_limit | (x == x.max(axis=0))) & moving).mean(axis=0)
    share *= np.ptp(data.tau, axis=0) > 0
    if len(saturated := motors[share[motors] > 0.01]):  # of the samples
        yield _cause("saturation", model, saturated.tolist())


def _unlike_description(evidence: Evidence) -> Iterator[Cause]:
    """A sign or unit of all joints, which the fit absorbs: forces unlike those of the description.

    A description is wrong by a third, seldom more; friction is left out of the comparison.
    """
    rows, robot, motors = evidence.train, evidence.params.robot, np.array(evidence.motors)
    data, names = rows.data, evidence.params.names
    words = ("viscous", "coulomb", "static", "size", OFFSET)
    own = [i for i, k in enumerate(evidence.kept) if names[k].startswith(words)]
    y = (rows.y - evidence.W_train[..., own] @ evidence.beta[own])[:, motors]
    forces = robot.inverse_dynamics(data.q, data.dq, data.ddq) - robot.friction_forces(data.dq)
    d = rows.filtered(forces)[:, motors]
    common, size = (d * y).sum(axis=0), np.maximum((d * d).sum(axis=0), 1e-300)
    alike = np.abs(common) > 0.7 * np.sqrt(np.maximum(size * (y * y).sum(axis=0), 1e-300))
    factor = (common / size)[alike]
    if not len(factor):
        return
    if (factor < 0).all():
        yield _cause("sign", robot.model, motors[alike].tolist())
    elif not 0.1 < abs(np.median(factor)) < 10:
        yield _cause("unit", robot.model, motors[alike].tolist(), [np.median(factor)])


def _driving_friction(evidence: Evidence) -> Iterator[Cause]:
    """Friction that is negative by more than four standard errors: it would drive the motion."""
    fit, names, model = evidence.solved.fit, evidence.params.names, evidence.params.robot.model
    joints = {
        names[k].partition("[")[2][:-1]
        for i, k in enumerate(evidence.kept)
        if names[k].startswith(("viscous", "coulomb")) and fit.beta[i] < -4 * fit.standard_error[i]
    }
    if dofs := [k for k, name in enumerate(model.dof_names) if name in joints]:
        yield _cause("compensated friction", model, dofs)
