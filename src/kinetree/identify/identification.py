"""Identification: the result of `identify`, its report as Markdown and its plots."""

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.errors import InputError
from kinetree.files.description.friction import Friction
from kinetree.files.description.records import Spring
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of, in_band
from kinetree.identify.base import Base
from kinetree.identify.findings import Finding, Verdict
from kinetree.identify.gains import Gains
from kinetree.identify.lag import Lag
from kinetree.identify.least_squares import Fit, Method
from kinetree.identify.loops import motor_dofs
from kinetree.identify.physical import Estimate
from kinetree.identify.plots import (
    MEASURED,
    PREDICTED,
    PRIOR,
    FrictionCurve,
    finished,
    plot_error_spectrum,
    plot_friction,
)
from kinetree.identify.recording import Recording
from kinetree.identify.residuals import error_spectrum, row_step
from kinetree.identify.rest import still_joints
from kinetree.identify.select import Choice
from kinetree.identify.spectrum import plot_spectrum
from kinetree.identify.unknowns import Unknowns
from kinetree.model.bounds import bounds_of
from kinetree.present.charts import new_figure
from kinetree.present.tables import Table, markdown_table, markdown_text
from kinetree.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = tuple[list[str], list[list[str]]]  # names of the columns, and rows
BASE = "The combinations of unknowns that joint forces depend on, by least squares alone."
ROBOT = (
    "The most likely robot with physically possible bodies, from the data and the description. "
    "'learned' is the share of the description's uncertainty that the data have removed. Of an "
    "unknown that is not determined, the robot has a value near the description's."
)
ALL = "All unknowns are identifiable: each has an effect of its own."


@dataclass(frozen=True, eq=False)
class Identification:
    """The parameters of a robot that were found in a recording.

    Args:
        robot: a physically possible robot that explains the data.
        prior: the robot as described.
        sought: the unknowns.
        base: combinations of the unknowns that the joint forces depend on.
        fit: estimate of the combinations, with errors.
        estimate: the single unknowns of `robot`, from data and prior.
        method: "ordinary", "weighted" or "robust" least squares.
        train: the samples that were used.
        test: the samples that were held out.
        folds: root mean square errors of each joint, shape (k, n), N m or N, in k stretches of
            `train`.
        notes: remarks on data and result.
        untold: base parameters that this recording does not separate from the others.
        cutoff: frequency of the low-pass of both sides of the equations, Hz; None: as in
            `identify`.
        lag: time by which joint forces were later than the motion, which was removed; None: not
            sought, or the recording cannot show it.
        reasons: why the friction of each joint was chosen; empty if it was given.
        gains: gains of the drives by which measured signals were divided; None: they were forces.
        choices: the friction chosen for each joint, with the errors of all candidates; empty if it
            was given.
        verdict: whether the result can be used, for what, and why not.
        warnings: remarks on recording and result, the reasons of the verdict included, each with
            its kind and joints.
        withheld: indices of base parameters whose intervals cannot be trusted; see `verdict`.
    """

    robot: Robot
    prior: Robot
    sought: Unknowns
    base: Base
    fit: Fit
    estimate: Estimate
    method: Method
    train: Recording
    test: Recording
    folds: Array
    notes: tuple[str, ...]
    untold: tuple[str, ...] = ()
    cutoff: float | None = None
    lag: Lag | None = None
    reasons: tuple[str, ...] = ()
    gains: Gains | None = None
    choices: tuple[Choice, ...] = ()
    verdict: Verdict = Verdict()
    warnings: tuple[Finding, ...] = ()
    withheld: tuple[int, ...] = ()

    @property
    def withheld_names(self) -> tuple[str, ...]:
        """Names of the base parameters that are `withheld`, each by the unknown that leads it."""
        return tuple(self.sought.names[self.base.kept[k]] for k in self.withheld)

    @property
    def friction(self) -> dict[str, Friction]:
        """The friction found, by joint: viscous in N m s/rad or N s/m, Coulomb in N m or N.

        Coefficients of both directions where they differ: (positive, negative). All laws of
        the joint are included, those as described that were not sought.
        """
        joints = self.robot.model.joints
        return {joint.name: joint.friction for joint in joints}

    @property
    def springs(self) -> dict[str, Spring]:
        """The springs found, by name: stiffness in N m/rad or N/m, rest position in rad or m."""
        return {x.name: x.record for x in self.robot.model.springs}

    def interval(self, level: float = 0.95) -> Array:
        """Confidence interval of each base parameter, (r, 2); NaN where it is `withheld`.

        Args:
            level: probability that the interval covers the value, dimensionless, below 1.
        """
        z = _quantile(level) * self.fit.standard_error
        z[list(self.withheld)] = np.nan
        return np.stack([self.fit.beta - z, self.fit.beta + z], axis=1)

    def margin(self, level: float = 0.95) -> Array:
        """Half the confidence interval of each unknown, (p,); NaN where it cannot be trusted.

        The intervals of an unknown are withheld with those of the base parameters it is part of.

        Args:
            level: as in `interval`.
        """
        z = _quantile(level) * self.estimate.deviation
        part = np.abs(self.base.K[list(self.withheld)]).sum(axis=0) > 0
        return np.where(part, np.nan, z)

    @property
    def determined(self) -> Array:
        """Whether the data determine each unknown of `robot`, (p,); others are not shown.

        Joint forces depend on it, its 95% margin is below its value, or, if it is identified by
        itself and may be zero, below the uncertainty of the description.
        """
        status = np.array(self.base.status())
        learned, x = self.estimate.learned, np.abs(self.estimate.x)
        sure = (learned >= const.LEARNED_LEAST) & (_quantile(0.95) * self.estimate.deviation <= x)
        near_zero = (learned >= const.LEARNED_NEAR_ZERO) & (status == "identified")
        return (status != "no effect") & (sure | near_zero)

    @property
    def row_step(self) -> float:
        """Time from one row of the fit to the next, s."""
        return row_step(self.train, self.cutoff)

    def error_spectrum(self) -> tuple[Array, Array]:
        """Frequencies, (k,), Hz, and the power density of the errors of the fit, (k, n).

        The frequencies are those that the low-pass of the fit leaves as they are. The density, in
        squared N m or N per Hz, is that of the autoregression from which intervals are computed.
        """
        return error_spectrum(self.train, self.fit, self.cutoff)

    def friction_curves(self) -> list[FrictionCurve]:
        """Friction of every measured joint over its speed; points are in the band of the fit."""
        model, data = self.robot.model, self.train.part(slice(0, const.FRICTION_SAMPLES))
        rest = data.tau - self.predict(data) + self.robot.friction_forces(data.dq)
        rows = in_band(data, np.stack([data.dq, rest]).transpose(1, 2, 0), self.cutoff)
        # fine about zero, where friction changes fastest; friction of a joint has its own rate
        grid = (
            np.abs(rows[..., 0]).max(axis=0) * np.linspace(-1, 1, const.CURVE_POINTS)[:, None] ** 3
        )
        found, described = (np.asarray(x.friction_forces(grid)) for x in (self.robot, self.prior))
        sliding = bounds_of(model).sliding
        return [
            FrictionCurve(
                name, "N" if sliding[k] else "N m", rows[:, k, 0], rows[:, k, 1], grid[:, k],
                found[:, k], described[:, k],
            )
            for k, name in enumerate(model.dof_names)
            if k in motor_dofs(model)
        ]  # fmt: skip

    def predict(self, data: Recording, *, physical: bool = True) -> Array:
        """Joint forces, (T, n), of the found robot, or of the base parameters alone.

        Friction at rest may have either sign: it is predicted as zero where no joint moves.

        Args:
            data: a recording.
            physical: as in `error`.
        """
        # where nothing moves, the sign of a rate is noise
        still = still_joints(self.robot.model, data).all(axis=1, keepdims=True)
        state = data.q, np.where(still, 0, data.dq), np.where(still, 0, data.ddq)
        if physical:
            own = self.robot.inverse_dynamics(*state)
            return own + self.sought.sensor_offsets(self.estimate.x)
        return self.sought.forces(*state, self.fit.beta, self.base.kept)

    def error(self, data: Recording | None = None, *, physical: bool = True) -> Array:
        """Root mean square error of each joint, (n,), on `data`, or on the held-out samples.

        Measured and predicted forces pass through the low-pass of the fit, if there is one: the
        noise of the sensors within that band is part of the error.

        Args:
            data: a recording; None: the held-out samples.
            physical: whether to use the physically possible robot; False: the base parameters
                alone.
        """
        data = self.test if data is None else data
        return self.rms(data, data.tau - self.predict(data, physical=physical))

    def unexplained(self) -> Array:
        """Error of each joint on the held-out samples over the measured force there, (n,).

        Dimensionless; 1: the result explains nothing of that force, which may be noise.
        """
        size = self.rms(self.test, self.test.tau)
        return np.where(size > 0, self.error() / np.where(size > 0, size, 1), 0)

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

    def summary(self) -> str:
        """The report as Markdown, without plots."""
        sections = [
            (f"# Identification of {markdown_text(self.robot.name)}", [overview(self)]),
            ("## Verdict", [markdown_text(conclusion(self)), _points(remarks_on(self))]),
            ("## Joint forces", [markdown_table(*force_rows(self)), low_pass_note(self)]),
            ("## Choices", [
                _points(choices_made(self)),
                markdown_table(*choice_rows(self)) if self.choices else "",
            ]),
            ("## Base parameters", [BASE, markdown_table(*base_rows(self))]),
            ("## The robot",
             [ROBOT.replace("'learned'", "`learned`"), markdown_table(*unknown_rows(self))]),
            ("## Not identifiable", [_points(unidentifiable(self)) or ALL]),
            ("## Notes", [_points(self.notes)]),
        ]  # fmt: skip
        parts = [[head, *(x for x in texts if x)] for head, texts in sections]
        return "\n\n".join(x for part in parts if len(part) > 1 for x in part) + "\n"

    def save_report(self, folder: str | PathLike[str]) -> Path:
        """Write report.md and its pictures into a folder, which is made if needed.

        Pictures: forces.png, cutoff.png (if rates were filtered), friction.png, errors.png and
        parameters.png.

        Args:
            folder: path of the folder.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        names, motors = self.robot.model.dof_names, motor_dofs(self.robot.model)
        text, (f, density) = self.summary(), self.error_spectrum()
        plot_forces(self, folder / "forces.png")
        plot_parameters(self, folder / "parameters.png")
        plot_friction(
            self.friction_curves(), f"{self.robot.name}: friction", folder / "friction.png"
        )
        plot_error_spectrum(
            f, density[:, motors], [names[k] for k in motors],
            f"{self.robot.name}: errors of the fit", folder / "errors.png",
        )  # fmt: skip
        pictures = ["![friction](friction.png)", "![spectrum of the errors](errors.png)"]
        if self.train.spectrum is not None:
            plot_spectrum(self.train.spectrum, str(folder / "cutoff.png"))
            pictures.insert(0, "![cutoff of the rates](cutoff.png)")
        for heading, picture in (
            ("## Choices", "![measured and predicted](forces.png)"),
            ("## Base parameters", "\n\n".join(pictures)),
            ("## The robot", "![base parameters](parameters.png)"),
        ):
            text = text.replace(f"\n{heading}\n", f"\n{picture}\n\n{heading}\n", 1)
        path = folder / "report.md"
        path.write_text(text, encoding="utf-8", newline="\n")
        return path

    def __repr__(self) -> str:
        error = ", ".join(f"{x:.3g}" for x in self.error())
        return (
            f"Identification({self.robot.name!r}, {len(self.fit.beta)} base parameters from "
            f"{len(self.train.q)} samples; error on held-out motion {error} N m or N)"
        )

    def _repr_html_(self) -> str:
        measured, described = self.rms(self.test, self.test.tau), self.described_error()
        now = self.error()
        names = self.robot.model.dof_names
        rows = zip(names, measured, described, now, self.fit.sigma, strict=True)
        head = ("joint", "rms", "error as described", "error now", "noise of the fit")
        title = f"{self.robot.name}: joint forces on held-out motion, N m or N"
        after = filter(None, [low_pass_note(self)])
        notes = (*after, conclusion(self), *remarks_on(self), *self.notes)
        return Table(title, head, list(rows), notes=notes).html()


def _quantile(level: float) -> float:
    """Standard errors on either side of an interval that covers with a probability."""
    if not 0 < level < 1:
        raise InputError(f"level is {level}; expected a probability, such as 0.95.")
    return NormalDist().inv_cdf(0.5 + level / 2)


def _points(texts: Iterable[str]) -> str:
    """Sentences as a list of Markdown; empty if there are none."""
    return "\n".join(f"- {markdown_text(x)}" for x in texts)


def overview(found: Identification) -> str:
    """A sentence on the number of parameters, the method and the data."""
    train, test = found.train, found.test
    held = "the same samples (none held out)" if test is train else f"{len(test)} samples held out"
    return (
        f"{found.base.r} base parameters of {len(found.sought.names)} unknowns, {found.method} "
        f"least squares on {len(train)} samples over {train.t[-1] - train.t[0]:.3g} s; tested on "
        f"{held}. Condition of the regressor: {found.fit.condition:.3g}."
    )


def conclusion(found: Identification) -> str:
    """The verdict in a few sentences, with the errors of the description beside it."""
    forces, verdict = found.sought.natural.forces, found.verdict
    now, before = ((x / forces).sum() for x in (found.error(), found.described_error()))
    where = "the samples of the fit" if found.test is found.train else "held-out motion"
    ratio = f"{now / before:.3g} times" if before > 0 else "not"
    start = f"{verdict.word} {verdict.use}".strip().capitalize()
    if verdict.undecided and not verdict.reasons:
        start += ", as far as this recording can show"
    text = f"{start}. The sum of the errors on {where} is {ratio} that of the description."
    names, share = found.robot.model.dof_names, found.unexplained()
    largest = int(share.argmax())
    text += f" Errors are {share.min():.2g} to {share[largest]:.2g} of the measured joint forces"
    text += f", the largest at {names[largest]!r}." if len(names) > 1 else "."
    if found.withheld:
        text += (
            f" Intervals of {len(found.withheld)} of {found.base.r} base parameters are withheld."
        )
    return text + " Reasons:" * bool(verdict.reasons)


def remarks_on(found: Identification) -> tuple[str, ...]:
    """Reasons of the verdict, other warnings, and what the recording cannot show, as sentences."""
    verdict = found.verdict
    remarks = dict.fromkeys((*verdict.reasons, *found.warnings, *verdict.undecided))
    return tuple(str(x) for x in remarks)


def choices_made(found: Identification) -> list[str]:
    """Sentences on what was chosen from the data, and on what was corrected."""
    train, lines = found.train, list[str]()
    bands = bands_of(train, found.cutoff)
    if train.cutoff is not None:
        source = "" if train.spectrum is None else ", from the spectrum of the motion"
        lines.append(f"Low-pass of rates and accelerations: {train.cutoff:.3g} Hz{source}")
    band = max(bands, key=lambda x: x.count)
    if band.reach:
        lines.append(
            f"Both sides of the equations pass a low-pass at {band.cutoff / train.dt:.3g} Hz; "
            f"{sum(x.rows for x in bands)} rows of {len(train)} samples are left"
        )
    if found.lag is not None:
        margin = f" (+- {1.96e3 * found.lag.error:.2g})" if found.lag.error else ", as given"
        done = "removed" if found.lag.sure else "not removed: it may be zero"
        lines.append(
            f"Joint forces are {1e3 * found.lag.value:.3g} ms{margin} later than the motion; {done}"
        )
    if found.gains is not None:
        lines.append(str(found.gains))
    if not found.choices:
        lines.append("Friction laws are those that were given")
    return lines


def choice_rows(found: Identification) -> Rows:
    """The friction chosen for each joint, and the errors of all candidates on unseen rows."""
    names = list(dict.fromkeys(name for x in found.choices for name in x.errors))
    rows = [
        [x.joint, _chosen(x), *(f"{x.errors[y]:.3g}" if y in x.errors else "-" for y in names)]
        for x in found.choices
    ]
    return ["joint", "chosen", *names], rows


def _chosen(choice: Choice) -> str:
    """The name of a choice among its candidates."""
    offset = choice.offset and choice.friction != "directional"
    return f"{choice.friction} with an offset" if offset else choice.friction


def force_rows(found: Identification) -> Rows:
    """Joint forces on held-out motion, and the errors of their predictions, joint by joint."""
    test = found.test
    before, size = found.described_error(), found.rms(test, test.tau)
    columns = (
        size, before, found.error(), found.error(physical=False), found.folds.mean(axis=0),
        found.fit.sigma,
    )  # fmt: skip
    header = ["joint", "rms", "error as described", "error of the robot", "error of the base",
              "error, cross-validated", "noise of the fit"]  # fmt: skip
    rows = [
        [name, *(f"{x[k]:.4g}" for x in columns)]
        for k, name in enumerate(found.robot.model.dof_names)
        if k in motor_dofs(found.robot.model)
    ]
    return header, rows


def low_pass_note(found: Identification) -> str:
    """A sentence on the low-pass of forces, errors and noise; empty if there is none."""
    band = max(bands_of(found.train, found.cutoff), key=lambda x: x.count)
    if not band.reach:
        return ""
    return (
        f"Forces, errors and noise are after the low-pass at {band.cutoff / found.train.dt:.3g} "
        "Hz; the sensors' own noise is larger."
    )


def described_base(found: Identification) -> tuple[Array, Array]:
    """Base parameters of the description, (r,), and which ones it lacks: shapes of other laws."""
    sought, model = found.sought, found.prior.model
    return found.base.K @ sought.values(model), sought.lacks(model)[list(found.base.kept)]


def base_rows(found: Identification) -> Rows:
    """Base parameters with their errors; the combination, which may be long, comes last."""
    interval, error = found.interval(), found.fit.standard_error
    described, lacks = described_base(found)
    rows = [
        [
            f"{found.fit.beta[k]:.5g}", f"{error[k]:.2g}",
            "withheld" if k in found.withheld else f"{interval[k, 0]:.5g} to {interval[k, 1]:.5g}",
            "-" if lacks[k] else f"{described[k]:.5g}",
            found.sought.units[at], found.base.formula(k),
        ]
        for k, at in enumerate(found.base.kept)
    ]  # fmt: skip
    header = ["value", "std. error", "95% interval", "described", "unit", "combination"]
    return header, rows


def unknown_rows(found: Identification) -> Rows:
    """Every unknown of the robot, and how much the data have contributed to its value."""
    described, status = found.sought.values(found.prior.model), found.base.status()
    lacks, margin = found.sought.lacks(found.prior.model), found.margin()
    determined = found.determined
    rows = [
        [
            name, f"{found.estimate.x[k]:.5g}" if determined[k] else "not determined",
            "-" if not determined[k] else "withheld" if np.isnan(margin[k])
            else f"{found.estimate.deviation[k]:.2g}",
            "-" if lacks[k] else f"{described[k]:.5g}",
            f"{found.estimate.learned[k]:.0%}", status[k], found.sought.units[k],
        ]
        for k, name in enumerate(found.sought.names)
    ]  # fmt: skip
    header = ["unknown", "value", "deviation", "described", "learned", "by itself", "unit"]
    return header, rows


def unidentifiable(found: Identification) -> list[str]:
    """Sentences on the unknowns that no motion, or not this one, can determine."""
    status, names = found.base.status(), found.sought.names
    none = [name for name, x in zip(names, status, strict=True) if x == "no effect"]
    still = [name for name in none if name in found.untold]
    silent = [name for name in none if name not in found.untold]
    mixed = [
        name
        for name, x, share in zip(names, status, found.estimate.learned, strict=True)
        if x == "in combination" and share < const.LEARNED_LEAST
    ]
    lines: list[str] = []
    if beyond := [name for name in found.untold if name not in names]:
        lines.append(f"This recording does not determine {', '.join(beyond)}; see the notes.")
    if silent:
        lines.append(f"No joint force depends on {', '.join(silent)}.")
    if still:
        lines.append(f"In this recording nothing depends on {', '.join(still)}.")
    if mixed:
        lines.append(
            f"Determined only in combination with others, and hardly: {', '.join(mixed)}. "
            "Their values are the description's."
        )
    return lines


@typed
def plot_forces(found: Identification, path: str | PathLike[str] | None = None) -> "Figure":
    """Held-out joint forces: measured, as described, as found, and errors; a matplotlib Figure.

    `path`: also save the figure there.

    Args:
        found: the result of `identify`.
        path: file for the figure; None: it is not saved.
    """
    data, motors = found.test, motor_dofs(found.robot.model)
    predicted, error = found.predict(data), found.error()
    described = found.prior.inverse_dynamics(data.q, data.dq, data.ddq)
    unit = "N m or N" if "prismatic" in found.robot.model.joint_types else "N m"
    fig = new_figure(10, 1.2 + 1.9 * len(motors))
    axes = fig.subplots(len(motors), 2, sharex=True, squeeze=False, width_ratios=(2, 1))
    some = slice(None, None, max(1, len(data) // const.PLOTTED_POINTS))
    for (left, right), k in zip(axes, motors, strict=True):
        left.plot(data.t[some], data.tau[some, k], color=MEASURED, lw=1.4, label="measured")
        left.plot(data.t[some], described[some, k], color=PRIOR, lw=0.8, label="described")
        left.plot(data.t[some], predicted[some, k], color=PREDICTED, lw=1, label="found")
        left.set_title(found.robot.dof_names[k], loc="left", fontsize=9, parse_math=False)
        left.set_ylabel(unit, fontsize=8)
        rest = data.tau[some, k] - predicted[some, k]
        right.plot(data.t[some], rest, ".", ms=1.5, color=MEASURED)
        for bound in (-2 * found.fit.sigma[k], 2 * found.fit.sigma[k]):
            right.axhline(bound, color=PREDICTED, lw=0.8, ls="--")
        right.set_title(f"error, rms {error[k]:.3g}; dashed: 2 sigma of the fit", loc="left",
                        fontsize=9)  # fmt: skip
        for ax in (left, right):
            ax.tick_params(labelsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("t, s", fontsize=8)
    return finished(fig, f"{found.robot.name}: joint forces on held-out motion", path, axes[0][0])


@typed
def plot_parameters(found: Identification, path: str | PathLike[str] | None = None) -> "Figure":
    """Base parameters with 95% intervals beside those of the description; a matplotlib Figure.

    Each line is scaled by the larger of its value and its error, so that all fit on one axis.
    `path`: also save the figure there.

    Args:
        found: the result of `identify`.
        path: file for the figure; None: it is not saved.
    """
    interval, beta, r = found.interval(), found.fit.beta, found.base.r
    described, lacks = described_base(found)
    scale = np.maximum(np.abs(beta), 2 * found.fit.standard_error)
    y = np.arange(r)[::-1]
    fig = new_figure(8, 1.2 + 0.2 * r)
    ax = fig.subplots()
    ax.hlines(y, interval[:, 0] / scale, interval[:, 1] / scale, color=PREDICTED, lw=2)
    ax.plot(beta / scale, y, "o", ms=4, color=PREDICTED, label="identified, with 95% interval")
    shown = np.clip(described / scale, -2.9, 2.9)
    shown[lacks] = np.nan
    ax.plot(shown, y, "x", ms=5, color=PRIOR, label="described")
    ax.axvline(0, color=MEASURED, lw=0.8)
    others = np.count_nonzero(found.base.K, axis=1) - 1
    labels = [
        found.sought.names[k] + (f" + {more} more" if more else "")
        for k, more in zip(found.base.kept, others, strict=True)
    ]
    ax.set_yticks(y, labels, fontsize=7, parse_math=False)  # names, in which $ is a character
    ax.set_xlim(-3, 3)
    ax.set_ylim(-1, r)
    ax.set_xlabel(
        "value over its size (descriptions beyond the edge are drawn at the edge)", fontsize=8
    )
    ax.tick_params(axis="x", labelsize=8)
    return finished(fig, f"{found.robot.name}: base parameters", path, ax)
