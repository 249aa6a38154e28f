"""Friction with a memory from slow reversals of one joint: stiffness, damping and level.

In presliding the bristles bend with the way x of the joint, not with time. After a reversal at the
deflection z_r, along a way in the direction s = +-1,

    z = s F/k + (z_r - s F/k) exp(-k |x - x_r| / F),    b = k z + c dz/dt

with the level F, the stiffness k and the damping c of LuGre friction, c = 0 of Dahl friction of
exponent 1. Reversals within the noise of the positions do not count. k, c, F, a constant offset of
the force and the deflection at the start are fitted to the measured force less that of the robot
without this friction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.core.text import counted
from kinetree.errors import InputError
from kinetree.files.description.friction import Dahl, Friction, LuGre
from kinetree.identify.least_squares import fit
from kinetree.model import Model
from kinetree.model.edit import with_friction
from kinetree.model.model import HasModel, model_of
from kinetree.motion.inputs import check_single
from kinetree.motion.record import Record
from kinetree.robot import Robot


@dataclass(frozen=True, eq=False)
class PreslidingFit:
    """Friction of a joint that was found from reversals.

    Args:
        friction: the joint's viscous friction as described, the level as Coulomb friction, and the
            presliding, for `robot.with_friction({joint: fit.friction})`.
        values: stiffness, N m/rad or N/m; damping, N m s/rad or N s/m; level and offset, N m or N.
        intervals: 95 % intervals of the values, in their units.
        residual: root mean square of measured less fitted force, N m or N.
        note: what limits the result; empty if nothing does.
    """

    friction: Friction
    values: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    residual: float
    note: str = ""


@typed
def identify_presliding(
    robot: Model | HasModel, motion: Record, joint: str, *, law: str = "LuGre"
) -> PreslidingFit:
    """Find stiffness, damping and level of the dry friction of a joint from slow reversals.

    The joint moves slowly back and forth, by several times the way in which its friction builds
    up; the level is that of the rates of the motion. Friction of other joints, masses and springs
    are taken from the robot.

    Args:
        robot: a Robot or a Model, with viscous friction of the joint if that is not negligible.
        motion: one motion with measured joint forces tau.
        joint: name of a joint of one degree of freedom.
        law: "LuGre", or "Dahl", which has no damping.

    Raises:
        InputError: the motion has no forces, or does not reverse and slide in both directions.
    """
    model = model_of(robot)
    if law not in ("LuGre", "Dahl"):
        raise InputError(f"law is {law!r}; expected 'LuGre' or 'Dahl'.")
    check_single(motion, "identification of presliding")
    chosen = model.joint(joint)
    if len(chosen.dofs) != 1 or chosen.follows is not None:
        raise InputError(
            f"joint {joint!r} is {chosen.type}{' and follows another' * bool(chosen.follows)}; "
            "expected a joint of one degree of freedom that moves by itself."
        )
    if motion.tau is None:
        raise InputError("the motion has no joint forces; expected the measured forces tau.")
    viscous = Friction(chosen.friction.viscous)
    bare = Robot(with_friction(model, {joint: viscous}))
    (d,), (coord,) = chosen.dofs, chosen.coords
    known = np.asarray(bare.inverse_dynamics(motion.q, motion.dq, motion.ddq))
    force = motion.tau[:, d] - known[:, d]
    bend = _bend_of(motion.q[:, coord], motion.dq[:, d], joint)
    names = ("level", "stiffness", "offset", "start", "damping")[: 4 + (law == "LuGre")]
    theta, residual, J = _fitted(bend, force, len(names))
    error = fit(J[:, None], residual[:, None]).standard_error  # with autocorrelated noise
    ends = np.stack([theta - 1.96 * error, theta + 1.96 * error])
    theta[:2], ends[:, :2] = np.exp(theta[:2]), np.exp(np.clip(ends[:, :2], -50, 50))
    values = {x: float(theta[k]) for k, x in enumerate(names) if x != "start"}
    intervals = {x: (float(ends[0, k]), float(ends[1, k])) for k, x in enumerate(names)
                 if x != "start"}  # fmt: skip
    level, stiffness, damping = values["level"], values["stiffness"], values.get("damping", 0.0)
    notes = list[str]()
    if law == "LuGre" and intervals["damping"][0] <= 0:
        notes.append("the damping is not seen in this motion, and left out of the friction")
        damping = 0.0
    near = sum(int((np.abs(bend.x[a:b] - bend.x[a]) <= 2 * level / stiffness).sum()) - 1
               for a, b, _ in bend.stretches[1:])  # fmt: skip
    if near < 8 or ends[1, 1] > 2 * stiffness:
        notes.append(
            f"{counted(near, 'sample')} lie on the ways of {2 * level / stiffness:.2g} rad or m in "
            "which the friction turns, so the stiffness is doubtful; reverse more slowly, more "
            "often, or sample faster"
        )
    if bend.noise * stiffness > 0.02 * level:  # from 5 % on, intervals cover less than 80 %
        notes.append(
            f"positions have a noise of {bend.noise:.2g} rad or m, which the intervals do not "
            "count; smooth q, or take a better sensor"
        )
    found = LuGre(stiffness, damping) if law == "LuGre" else Dahl(stiffness)
    return PreslidingFit(
        Friction(viscous.viscous, level, presliding=found), values, intervals,
        float(np.sqrt((residual**2).mean())), "; ".join(notes),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Bend:
    """The way of a joint in stretches of one direction.

    x: positions, (T,). noise: their standard deviation. v: rates, (T,). stretches: first sample of
    each, the one after its last, and its direction.
    """

    x: Array
    noise: float
    v: Array
    stretches: list[tuple[int, int, float]]

    def forces(self, theta: Array) -> Array:
        """b at all samples, (T,), of (log F, log k, offset, force of the bristles at start, c)."""
        level, stiffness = np.exp(np.clip(theta[:2], -50, 50))
        c = theta[4] if len(theta) > 4 else 0.0
        b, start = np.empty(len(self.x)), theta[3]
        for a, stop, sign in self.stretches:
            until = min(stop + 1, len(self.x))
            way = np.maximum(sign * (self.x[a:until] - self.x[a]), 0)
            bent = sign * level + (start - sign * level) * np.exp(-stiffness * way / level)
            start = bent[-1]
            part = bent[: stop - a]
            b[a:stop] = part + c * self.v[a:stop] * (1 - part * sign / level)
        return b + theta[2]


def _bend_of(x: Array, v: Array, joint: str) -> _Bend:
    """The way of measured positions, (T,); raise InputError if it does not reverse."""
    noise = float(np.median(np.abs(np.diff(x, 2)))) / 0.6745 / np.sqrt(6)
    counts = np.abs(np.diff(x))
    # a way back within six standard deviations, or one step of the encoder, is no reversal
    width = max(6.0 * noise, 1.5 * float(counts[counts > 0].min(initial=0.0)))
    starts, sign, extreme = [0], 0.0, 0
    for k in range(1, len(x)):
        if sign * (x[k] - x[extreme]) > 0 or (not sign and abs(x[k] - x[0]) > width):
            sign, extreme = sign or float(np.sign(x[k] - x[0])), k
        elif sign * (x[extreme] - x[k]) > width:
            starts.append(extreme)
            sign, extreme = -sign, k
    if len(starts) < 2:
        raise InputError(
            f"joint {joint!r} does not reverse in this motion; expected a slow motion back and "
            "forth."
        )
    signs = [sign * (-1) ** (len(starts) - 1 - k) for k in range(len(starts))]
    return _Bend(x, noise, v, list(zip(starts, [*starts[1:], len(x)], signs, strict=True)))


def _fitted(bend: _Bend, force: Array, count: int) -> tuple[Array, Array, Array]:
    """theta of least squares, residuals (T,) and slopes of the forces by theta, (T, p)."""
    from scipy.optimize import least_squares

    low, high = np.quantile(force, [0.1, 0.9])
    level, offset = max((high - low) / 2, 1e-12), (high + low) / 2
    reach, solutions = float(np.ptp(bend.x)), list[Any]()
    for share in (0.3, 0.03, 0.003):  # way of F/k in the whole way: the valley is narrow
        stiffness = level / (share * reach)
        start = np.array([np.log(level), np.log(stiffness), offset, force[0] - offset, 0])[:count]
        solutions.append(
            least_squares(lambda x: force - bend.forces(x), start, jac="3-point", x_scale="jac")
        )
    best = min(solutions, key=lambda x: x.cost)
    return best.x, best.fun, -best.jac
