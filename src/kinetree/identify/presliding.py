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
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.core.text import counted
from kinetree.errors import InputError
from kinetree.files.description.friction import Dahl, Friction, LuGre
from kinetree.model import Model
from kinetree.model.edit import with_friction
from kinetree.model.model import HasModel, model_of
from kinetree.motion.inputs import check_single
from kinetree.motion.record import Record
from kinetree.robot import Robot

NOISE_WIDTH = 6.0  # standard deviations of q: a way back within them is no reversal
NOISY = 0.02  # noise of q in the way F/k; from 0.05 on, intervals of twins cover less than 80 %
LEAST_BEND = 8  # samples on the way 2 F/k after reversals; with fewer, k rests on single samples
Z = NormalDist().inv_cdf(0.975)


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
    force = (
        motion.tau[:, d] - np.asarray(bare.inverse_dynamics(motion.q, motion.dq, motion.ddq))[:, d]
    )
    bend = _Bend.of(motion.q[:, coord], motion.dq[:, d], joint)
    theta, residual, J = _fitted(bend, force, law == "LuGre")
    error = _errors(J, residual)
    level, stiffness = np.exp(theta[:2])
    damping, offset = float(theta[3]) if law == "LuGre" else 0.0, float(theta[2])
    values = {"stiffness": float(stiffness), "level": float(level), "offset": offset}
    factors = np.exp(Z * np.minimum(error[:2], 50.0))  # of the logarithms, and finite
    spans = {"stiffness": stiffness, "level": level}
    intervals = {
        name: (float(x / factor), float(x * factor))
        for (name, x), factor in zip(spans.items(), factors[::-1], strict=True)
    }
    intervals["offset"] = offset - Z * float(error[2]), offset + Z * float(error[2])
    notes: list[str] = []
    if law == "LuGre":
        values["damping"] = damping
        intervals["damping"] = damping - Z * float(error[3]), damping + Z * float(error[3])
        if intervals["damping"][0] <= 0:
            notes.append("the damping is not seen in this motion, and left out of the friction")
            damping = 0.0
    near = bend.samples_within(2 * values["level"] / values["stiffness"])
    if near < LEAST_BEND or factors[1] > 2:
        notes.append(
            f"{counted(near, 'sample')} lie on the ways of {2 * level / stiffness:.2g} rad or m in "
            "which the friction turns, so the stiffness is doubtful; reverse more slowly, more "
            "often, or sample faster"
        )
    if bend.noise * values["stiffness"] > NOISY * values["level"]:
        notes.append(
            f"positions have a noise of {bend.noise:.2g} rad or m, which the intervals do not "
            "count; smooth q, or take a better sensor"
        )
    found = LuGre(values["stiffness"], damping) if law == "LuGre" else Dahl(values["stiffness"])
    return PreslidingFit(
        Friction(viscous.viscous, values["level"], presliding=found),
        values,
        intervals,
        sqrt(float(residual @ residual) / len(residual)),
        "; ".join(notes),
    )


@dataclass(frozen=True, eq=False)
class _Bend:
    """The way of a joint in stretches of one direction: the numbers of their first samples.

    x: positions, (T,). noise: their standard deviation. v: rates, (T,). starts: of the stretches.
    signs: their directions.
    """

    x: Array
    noise: float
    v: Array
    starts: list[int]
    signs: list[float]

    @staticmethod
    def of(x: Array, v: Array, joint: str) -> "_Bend":
        """The way of measured positions, (T,); raise InputError if it does not reverse."""
        noise = float(np.median(np.abs(np.diff(x, 2)))) / 0.6745 / sqrt(6)
        counts = np.abs(np.diff(x))
        width = max(NOISE_WIDTH * noise, 1.5 * float(counts[counts > 0].min(initial=0.0)))
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
        first = sign * (-1) ** (len(starts) - 1)
        return _Bend(x, noise, v, starts, [first * (-1) ** k for k in range(len(starts))])

    def samples_within(self, way: float) -> int:
        """Count the samples that are no further than a way behind a reversal."""
        count = 0
        for a, b in self._spans()[1:]:
            count += int((np.abs(self.x[a:b] - self.x[a]) <= way).sum()) - 1
        return count

    def _spans(self) -> list[tuple[int, int]]:
        return list(zip(self.starts, [*self.starts[1:], len(self.x)], strict=True))

    def forces(self, theta: Array) -> Array:
        """b at all samples, (T,), of (log F, log k, offset, c, force of the bristles at start)."""
        level, stiffness, c = np.exp(theta[0]), np.exp(theta[1]), theta[3]
        b, start = np.empty(len(self.x)), theta[4]
        for (a, stop), sign in zip(self._spans(), self.signs, strict=True):
            until = min(stop + 1, len(self.x))
            way = np.maximum(sign * (self.x[a:until] - self.x[a]), 0)
            bent = sign * level + (start - sign * level) * np.exp(-stiffness * way / level)
            start = bent[-1]
            part = bent[: stop - a]
            b[a:stop] = part + c * self.v[a:stop] * (1 - part * sign / level)
        return b + theta[2]


def _fitted(bend: _Bend, force: Array, damped: bool) -> tuple[Array, Array, Array]:
    """theta of least squares, residuals (T,) and slopes of the forces by theta, (T, p)."""
    from scipy.optimize import least_squares

    low, high = np.quantile(force, [0.1, 0.9])
    level, offset = max((high - low) / 2, 1e-12), (high + low) / 2
    free = [0, 1, 2, 3, 4] if damped else [0, 1, 2, 4]

    def residual(x: Array) -> Array:
        theta = np.zeros(5)
        theta[free] = x
        theta[:2] = np.clip(theta[:2], -50, 50)  # exponents
        return force - bend.forces(theta)

    reach, solutions = float(np.ptp(bend.x)), list[Any]()
    for share in (0.3, 0.03, 0.003):  # way of F/k in the whole way: the valley is narrow
        start = np.array([np.log(level), np.log(level / (share * reach)), offset, 0, force[0]])
        start[4] -= offset
        solutions.append(least_squares(residual, start[free], jac="3-point", x_scale="jac"))
    best = min(solutions, key=lambda x: x.cost)
    theta = np.zeros(5)
    theta[free] = best.x
    return theta, best.fun, -best.jac


def _errors(J: Array, residual: Array) -> Array:
    """Standard errors of the entries of theta that J, (T, p), has slopes of.

    Errors that follow each other count up to twice the lag at which residuals first lose their
    correlation, with weights that fall to 0 (Newey and West). Of errors alike at all samples and
    errors as large as each residual, the wider result is taken: few samples decide the stiffness,
    and a law that is wrong errs at reversals alone.
    """
    T = len(residual)
    size = 1 << (2 * T - 1).bit_length()
    correlation = np.fft.irfft(np.abs(np.fft.rfft(residual, size)) ** 2, size)[: T // 4 + 1] / T
    lost = np.flatnonzero(correlation <= 0)
    lags = 2 * int(lost[0]) if len(lost) else T // 4
    bread = np.linalg.pinv(J.T @ J)
    variances = []
    for rows, level in ((J, correlation), (J * residual[:, None], np.ones(T))):
        meat = level[0] * (rows.T @ rows)
        for lag in range(1, min(lags, len(correlation))):
            both = rows[lag:].T @ rows[:-lag]
            meat = meat + (1 - lag / lags) * level[lag] * (both + both.T)
        variances.append(np.diag(bread @ meat @ bread))
    return np.sqrt(np.maximum(np.max(variances, axis=0), 0))
