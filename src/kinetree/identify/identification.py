"""Identification: the result of `identify`, its verdict, and its tables."""

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Literal

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing
from kinetree.errors import InputError
from kinetree.files.description.friction import Friction
from kinetree.files.description.records import Spring
from kinetree.identify.band import bands_of, in_band
from kinetree.identify.base import Base
from kinetree.identify.diagnose import Cause
from kinetree.identify.gains import Gains
from kinetree.identify.least_squares import Fit, Method
from kinetree.identify.loops import motor_dofs
from kinetree.identify.physical import Estimate
from kinetree.identify.recording import Recording
from kinetree.identify.rest import still_joints
from kinetree.identify.select import Choice
from kinetree.identify.unknowns import Unknowns
from kinetree.present.tables import Table, markdown_table, markdown_text
from kinetree.robot import Robot

Rows = tuple[list[str], list[list[str]]]  # names of the columns, and rows
BASE = "The combinations of unknowns that joint forces depend on, by least squares alone."
ROBOT = (
    "The most likely robot with physically possible bodies, from the data and the description. "
    "'learned' is the share of the description's uncertainty that the data have removed. Of an "
    "unknown that is not determined, the robot has a value near the description's."
)
WORSE = 1.1  # ratio of errors from which one is called worse


@dataclass(frozen=True)
class Verdict:
    """Whether a result can be used, and why not.

    Args:
        word: "good" (every joint is predicted to 5 % of its force or twice its noise, and no cause
            of errors was found), "usable" or "not usable".
        reasons: why the result is not usable; empty otherwise.
    """

    word: Literal["good", "usable", "not usable"]
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.word} because {'; '.join(self.reasons)}" if self.reasons else self.word


@dataclass(frozen=True, eq=False)
class Identification:
    """The parameters of a robot that were found in a recording.

    Args:
        robot: a physically possible robot that explains the data.
        prior: the robot as described.
        params: the unknowns.
        base: combinations of the unknowns that the joint forces depend on.
        fit: estimate of the combinations, with errors.
        estimate: the single unknowns of `robot`, from data and prior.
        method: "ordinary", "weighted" or "robust" least squares.
        train: the samples that were used.
        test: the samples that were held out.
        plain: held-out error of plain least squares, shape (n,), N m or N.
        physical: whether `predict` uses `robot`; False: the base parameters, which predict better.
        choices: the friction chosen for each joint, with the errors of all candidates; empty if it
            was given.
        causes: what is wrong with the recording; see `Cause`.
        unidentified: base parameters that this recording does not separate from the others.
        cutoff: frequency of the low-pass of both sides of the equations, Hz; None: as in
            `identify`.
        lag: time by which joint forces were later than the motion, which was removed, s.
        gains: gains of the drives by which measured signals were divided; None: they were forces.
        notes: remarks on data and result.
    """

    robot: Robot
    prior: Robot
    params: Unknowns
    base: Base
    fit: Fit
    estimate: Estimate
    method: Method
    train: Recording
    test: Recording
    plain: Array
    physical: bool = True
    choices: tuple[Choice, ...] = ()
    causes: tuple[Cause, ...] = ()
    unidentified: tuple[str, ...] = ()
    cutoff: float | None = None
    lag: float = 0.0
    gains: Gains | None = None
    notes: tuple[str, ...] = ()

    @property
    def friction(self) -> dict[str, Friction]:
        """The friction found, by joint: viscous in N m s/rad or N s/m, Coulomb in N m or N.

        Coefficients of both directions where they differ: (positive, negative). All laws of
        the joint are included, those as described that were not sought.
        """
        return {joint.name: joint.friction for joint in self.robot.model.joints}

    @property
    def springs(self) -> dict[str, Spring]:
        """The springs found, by name: stiffness in N m/rad or N/m, rest position in rad or m."""
        return {x.name: x.record for x in self.robot.model.springs}

    def interval(self, level: float = 0.95) -> Array:
        """Confidence interval of each base parameter, (r, 2).

        Args:
            level: probability that the interval covers the value, dimensionless, below 1.
        """
        z = _quantile(level) * self.fit.standard_error
        return np.stack([self.fit.beta - z, self.fit.beta + z], axis=1)

    def margin(self, level: float = 0.95) -> Array:
        """Half the confidence interval of each unknown, (p,).

        Args:
            level: as in `interval`.
        """
        return _quantile(level) * self.estimate.deviation

    @property
    def determined(self) -> Array:
        """Whether the data determine each unknown of `robot`, (p,); others are not shown.

        Joint forces depend on it, its 95% margin is below its value, or, if it is identified by
        itself and may be zero, below the uncertainty of the description.
        """
        status = np.array(self.base.status())
        learned, x = self.estimate.learned, np.abs(self.estimate.x)
        sure = (learned >= 0.1) & (self.margin() <= x)
        near_zero = (learned >= 1 - 1 / _quantile(0.95) ** 2) & (status == "identified")
        return (status != "no effect") & (sure | near_zero)

    def predict(self, data: Recording, *, physical: bool | None = None) -> Array:
        """Joint forces, (T, n), of the found robot, or of the base parameters alone.

        Friction at rest may have either sign: it is predicted as zero where no joint moves.

        Args:
            data: a recording.
            physical: True for the robot, False for the base parameters; None: the better ones.
        """
        still = still_joints(self.robot.model, data).all(axis=1, keepdims=True)
        state = data.q, np.where(still, 0, data.dq), np.where(still, 0, data.ddq)
        if self.physical if physical is None else physical:
            own = self.robot.inverse_dynamics(*state)
            return own + self.params.sensor_offsets(self.estimate.x)
        x = np.zeros(len(self.params.names))
        x[list(self.base.kept)] = self.fit.beta
        return self.params.linear_forces(*state, x) + self.params.known(*state)

    def error(self, data: Recording | None = None, *, physical: bool | None = None) -> Array:
        """Root mean square error of each joint, (n,), on `data`, or on the held-out samples.

        Measured and predicted forces pass through the low-pass of the fit, if there is one: the
        noise of the sensors within that band is part of the error.

        Args:
            data: a recording; None: the held-out samples.
            physical: as in `predict`.
        """
        data = self.test if data is None else data
        return self.rms(data, data.tau - self.predict(data, physical=physical))

    def rms(self, data: Recording, x: Array) -> Array:
        """Root mean square of samples, (n,), after the low-pass of the fit.

        Args:
            data: the recording of the samples.
            x: samples of joint forces, shape (T, n), N m or N.
        """
        return np.sqrt((in_band(data, x, self.cutoff) ** 2).mean(axis=0))

    def described_error(self, data: Recording | None = None) -> Array:
        """Root mean square error of the robot as described, (n,); see `error`.

        Args:
            data: a recording; None: the held-out samples.
        """
        data = self.test if data is None else data
        return self.rms(data, data.tau - self.prior.inverse_dynamics(data.q, data.dq, data.ddq))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the result can be used, by rules on the held-out error of every joint."""
        error, size = self.error(), self.rms(self.test, self.test.tau)
        fine = (error <= 0.05 * size) | (error <= 2.0 * self.fit.innovation)
        motors, names = motor_dofs(self.robot.model), self.robot.model.dof_names
        reasons = [str(x) for x in self.causes]
        for off, text in (
            (error > 0.3 * size, "errors above 30% of the force"),
            (error > WORSE * self.described_error(), "errors above those of the description"),
        ):
            if joints := [names[k] for k in motors if off[k] and not fine[k]]:
                reasons.append(f"{listing(joints, 8)} have {text} on held-out motion")
        word = "not usable" if reasons else "good" if fine[motors].all() else "usable"
        return Verdict(word, tuple(reasons))

    def summary(self) -> str:
        """The result on one screen, as Markdown; `kt.identify.save_report` writes all tables."""
        parts = [
            f"# Identification of {markdown_text(self.robot.name)}: {self.verdict.word}",
            "\n".join(f"- {markdown_text(x)}" for x in self.verdict.reasons),
            markdown_table(*force_rows(self)),
            "\n".join(f"- {markdown_text(x)}" for x in choices_made(self)),
        ]
        return "\n\n".join(x for x in parts if x) + "\n"

    def __repr__(self) -> str:
        error = ", ".join(f"{x:.3g}" for x in self.error())
        return (
            f"Identification({self.robot.name!r}, {self.verdict.word}, {len(self.fit.beta)} base "
            f"parameters from {len(self.train.q)} samples; error on held-out motion {error} N m "
            "or N)"
        )

    def _repr_html_(self) -> str:
        head, rows = force_rows(self)
        title = f"{self.robot.name}: {self.verdict}. Joint forces on held-out motion, N m or N"
        return Table(title, head, rows, notes=(*choices_made(self), *self.notes)).html()


def _quantile(level: float) -> float:
    """Standard errors on either side of an interval that covers with a probability."""
    if not 0 < level < 1:
        raise InputError(f"level is {level}; expected a probability, such as 0.95.")
    return NormalDist().inv_cdf(0.5 + level / 2)


def choices_made(found: Identification) -> list[str]:
    """Sentences on data, choices, and what the recording does not determine."""
    train, test = found.train, found.test
    held = "none held out" if test is train else f"{len(test)} held out"
    band = max(bands_of(train, found.cutoff), key=lambda x: x.count)
    lines = [f"{len(train)} samples over {train.t[-1] - train.t[0]:.3g} s, {held}"]
    if train.cutoff is not None:
        lines[0] += f"; accelerations below {train.cutoff:.3g} Hz"
    if band.reach:
        lines[0] += f"; joint forces compared below {band.cutoff / train.dt:.3g} Hz"
    if found.lag:
        lines.append(f"Joint forces are {1e3 * found.lag:.3g} ms later than the motion: moved")
    if found.gains is not None:
        lines.append(str(found.gains))
    if found.choices:
        chosen = ", ".join(f"{x.joint} {x.name}" for x in found.choices)
        lines.append(f"Friction by cross-validation: {chosen}")
    lines.append(
        f"{found.base.r} base parameters of {counted(len(found.params.names), 'unknown')}, "
        f"{found.method} least squares, condition {found.fit.condition:.3g}"
    )
    if found.unidentified:
        lines.append(f"This recording does not determine {listing(found.unidentified, 6)}")
    if not found.physical:
        lines.append("Predictions use the base parameters: no possible robot fits as well")
    return lines


def choice_rows(found: Identification) -> Rows:
    """The friction chosen for each joint, and the errors of all candidates on unseen rows."""
    names = list(dict.fromkeys(name for x in found.choices for name in x.errors))
    rows = [
        [x.joint, x.name, *(f"{x.errors[y]:.4g}" if y in x.errors else "-" for y in names)]
        for x in found.choices
    ]
    return ["joint", "chosen", *names], rows


def force_rows(found: Identification) -> Rows:
    """Joint forces on held-out motion, and the errors of their predictions, joint by joint."""
    test = found.test
    size = np.maximum(found.rms(test, test.tau), 1e-300)
    columns = (
        size, found.described_error(), found.plain, found.error(physical=False),
        found.error(physical=True), found.fit.innovation,
    )  # fmt: skip
    header = ["joint", "rms", "described", "plain LS", "base", "robot", "noise", "error, %"]
    share = 100 * found.error() / size
    rows = [
        [name, *(f"{x[k]:.3g}" for x in columns), f"{share[k]:.2g}"]
        for k, name in enumerate(found.robot.model.dof_names)
        if k in motor_dofs(found.robot.model)
    ]
    return header, rows


def described_base(found: Identification) -> tuple[Array, Array]:
    """Base parameters of the description, (r,), and which ones it lacks: shapes of other laws."""
    params, model = found.params, found.prior.model
    return found.base.K @ params.values(model), params.lacks(model)[list(found.base.kept)]


def base_rows(found: Identification) -> Rows:
    """Base parameters with their errors; the combination, which may be long, comes last."""
    interval, error = found.interval(), found.fit.standard_error
    described, lacks = described_base(found)
    rows = [
        [
            f"{found.fit.beta[k]:.5g}", f"{error[k]:.2g}",
            f"{interval[k, 0]:.5g} to {interval[k, 1]:.5g}",
            "-" if lacks[k] else f"{described[k]:.5g}",
            found.params.units[at], found.base.formula(k),
        ]
        for k, at in enumerate(found.base.kept)
    ]  # fmt: skip
    header = ["value", "std. error", "95% interval", "described", "unit", "combination"]
    return header, rows


def unknown_rows(found: Identification) -> Rows:
    """Every unknown of the robot, and how much the data have contributed to its value."""
    described, status = found.params.values(found.prior.model), found.base.status()
    lacks, determined = found.params.lacks(found.prior.model), found.determined
    rows = [
        [
            name, f"{found.estimate.x[k]:.5g}" if determined[k] else "not determined",
            f"{found.estimate.deviation[k]:.2g}" if determined[k] else "-",
            "-" if lacks[k] else f"{described[k]:.5g}",
            f"{found.estimate.learned[k]:.0%}", status[k], found.params.units[k],
        ]
        for k, name in enumerate(found.params.names)
    ]  # fmt: skip
    header = ["unknown", "value", "deviation", "described", "learned", "by itself", "unit"]
    return header, rows
