"""Hypotheses on what is wrong with a recording, each fitted and compared with the plain model.

Measured joint forces are y = W beta and noise. A hypothesis adds columns D with unknown factors
phi: derivatives of the predicted forces by a scale of time, by the zero of an encoder or by the
gear of a joint; friction that is late where a joint reverses, because it sticks; a body that
appears at some time; friction that changes with time; a function of the motion that the model
lacks. `twins` tests whether a hypothesis explains more than noise can.
Columns that lie in those of W have no effect of their own: there the recording cannot decide.

Hypotheses that pass the test are fitted again, those on the motion with steps of Gauss and Newton
instead of derivatives, and compared by their likelihood. So are two hypotheses that have no small
version: joint forces without gravity, and forces of two joints exchanged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import argument
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of, in_band
from kinetree.identify.equations import linear_rows
from kinetree.identify.findings import named
from kinetree.identify.identification import Identification
from kinetree.identify.lag import late_signs, rubbing_dofs
from kinetree.identify.least_squares import stacked
from kinetree.identify.loops import closed_motion, forces_at_motors, motor_dofs
from kinetree.identify.recording import Recording, joined_recordings
from kinetree.identify.unknowns import in_blocks
from kinetree.model.bounds import bounds_of

Motion = tuple[Array, ...]  # q, dq, ddq
UNKNOWN = (
    "gravity and inertia do not agree with one another, for a cause that is not identified: are "
    "gravity, the direction of the base and what tau contains as described?"
)
ORDER = "fits the motion: are the columns in the order of the joints?"
PATTERNS = {
    "speed": ("speed", "friction of another shape"),
    "load": ("joint force and direction", "friction that grows with the load, or an elastic drive"),
    "position": ("position", "an uneven gear, a spring or a cable"),
}


@dataclass(frozen=True, eq=False)
class Rows:
    """Equations y = W beta of a result, on all its samples or on stretches of a long recording.

    Args:
        result: the result of `identify`.
        W: columns of the base parameters and shapes, shape (rows, n, r), each in its unit.
        y: measured joint forces less known ones, shape (rows, n), N m or N; outliers are clipped.
        breaks: lengths of the stretches without a gap.
        q, dq, ddq: motion at the rows, each of shape (rows, n), rad or m, per s and s^2.
        time: of the rows, shape (rows,), dimensionless, 0 to 1.
        data: the samples from which the low-pass makes the rows.
    """

    result: Identification
    W: Array
    y: Array
    breaks: tuple[int, ...]
    q: Array
    dq: Array
    ddq: Array
    time: Array
    data: Recording

    @cached_property
    def solution(self) -> tuple[Array, Array]:
        """beta, (r,), and the noise of each joint, (n,)."""
        return weighted(self.W, self.y)

    @property
    def predicted(self) -> Array:
        """Joint forces of the fit, (rows, n)."""
        return self.W @ self.solution[0]

    @cached_property
    def linear(self) -> list[int]:
        """Unknowns of the columns of W that are not derivatives by shapes."""
        return [k for k in self.result.base.kept if k < self.result.sought.p]

    def columns(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Columns of W of another motion, (rows, n, r), without the low-pass; 0 for shapes."""
        whole = np.zeros(self.W.shape)
        count = len(self.linear)
        whole[..., :count] = self.result.sought.regressor(q, dq, ddq)[..., self.linear]
        return whole

    def forces(self, motion: Motion) -> Array:
        """Joint forces of the fit at each sample of another motion, (T, n), without shapes."""
        x = np.zeros(len(self.result.sought.names))
        x[self.linear] = self.solution[0][: len(self.linear)]
        q, dq, ddq = motion
        of = self.result.sought.linear_forces
        return in_blocks(lambda q, dq, ddq: of(q, dq, ddq, x), q, dq, ddq)

    @property
    def has_loops(self) -> bool:
        """Return True if joints follow from others by constraints."""
        return self.result.robot.model.constraints is not None

    def closed(self, motion: Motion) -> Motion:
        """The motion of the samples with another one of the motors, which the others follow."""
        if not self.has_loops:
            return motion
        robot, (q, dq, ddq) = self.result.prior, motion
        coords = bounds_of(robot.model).coords[motor_dofs(robot.model)]
        return closed_motion(robot, self.data.t, self.data.q, q[:, coords], dq, ddq)

    def low_passed(self, samples: Array) -> Array:
        """Rows of samples of `data`, (T, ...), in the band of W and y."""
        return in_band(self.data, samples, self.result.cutoff)

    @cached_property
    def unfiltered(self) -> Array:
        """Columns of W of the recorded motion without the low-pass, (rows, n, r)."""
        return self.columns(self.q, self.dq, self.ddq)


def comparison_rows(result: Identification) -> Rows:
    """The rows of a result of `identify`, its held-out samples included."""
    data = result.train
    if result.test is not data:
        data = joined_recordings([data, result.test])
    step = max(band.step for band in bands_of(data, result.cutoff))
    if len(data) > const.TESTED_ROWS * step:
        length = const.TESTED_ROWS * step // const.TESTED_STRETCHES
        starts = np.linspace(0, len(data) - length, const.TESTED_STRETCHES).round().astype(int)
        data = data.part(np.unique(np.add.outer(starts, np.arange(length))))
    bands = bands_of(data, result.cutoff)
    W, y = linear_rows(result.sought, data, result.cutoff, result.base.kept, result.fit.beta)
    at = np.concatenate([x.first + x.start + x.step * np.arange(x.rows) for x in bands])
    t = data.t[at]
    rows = Rows(
        result, W, y, tuple(band.rows for band in bands), data.q[at], data.dq[at], data.ddq[at],
        (t - t[0]) / max(float(t[-1] - t[0]), 1e-300), data,
    )  # fmt: skip
    error = y - rows.predicted
    limit = const.CLIPPED_ERROR * 1.4826 * np.median(np.abs(error), axis=0)
    least = const.FINEST_ERROR * np.sqrt((y**2).mean(axis=0))
    noise = least * np.random.default_rng(0).normal(size=y.shape)  # no test is finer than this
    return replace(rows, y=rows.predicted + np.clip(error, -limit, limit) + noise)


def weighted(W: Array, y: Array) -> tuple[Array, Array]:
    """beta, (r,), of shortest length, and the noise of each joint, (n,), by weighted least squares.

    W: columns, (rows, n, r), in any units. y: joint forces, (rows, n), N m or N.
    """
    R = stacked(np.concatenate([W, y[..., None]], axis=-1).transpose(1, 0, 2))
    return from_squares(R, len(y))


def from_squares(R: Array, count: int) -> tuple[Array, Array]:
    """`weighted` of triangles [W y] of each joint, (n, r + 1, r + 1), of so many rows."""
    size = np.sqrt((R[..., -1] ** 2).sum(axis=1) / count)
    sigma, beta = np.where(size > 0, size, 1), np.zeros(R.shape[-1] - 1)
    least = 1e-9 * sigma
    for _ in range(const.PHI_STEPS):
        flat = (R / sigma[:, None, None]).reshape(-1, R.shape[-1])
        length = np.linalg.norm(flat[:, :-1], axis=0)
        length = np.where(length > 0, length, 1)
        beta = (
            np.linalg.lstsq(flat[:, :-1] / length, flat[:, -1], rcond=const.SINGULAR_VALUE)[0]
            / length
        )
        error = R[..., -1] - R[..., :-1] @ beta
        sigma = np.maximum(np.sqrt((error**2).sum(axis=1) / count), least)
    return beta, sigma


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """Something that may be wrong with a recording.

    Args:
        kind: key of the cause; see `notes.Finding`.
        dofs: degrees of freedom concerned; empty: all.
        D: columns for small phi, shape (rows, n, k), N m or N per unit of phi.
        text: gives a sentence from phi and its standard error, in words of the recording.
        at: gives the columns W for any phi, shape (rows, n, r); None: the hypothesis is linear.
    """

    kind: str
    dofs: tuple[int, ...]
    D: Array
    text: Callable[[float, float], str]
    at: Callable[[float], Array] | None = None


def list_hypotheses(rows: Rows) -> list[Hypothesis]:
    """All hypotheses on the recording of a result."""
    return [
        *_of_motion(rows),
        *_of_reversals(rows),
        *_of_surroundings(rows),
        *_of_time(rows),
        *_of_forces(rows),
    ]


def _of_motion(rows: Rows) -> Iterator[Hypothesis]:
    """Another scale of time, other zeros and other gears; not for quaternions."""
    n, names = rows.result.robot.n, rows.result.robot.model.dof_names
    measured = rows.data.q, rows.data.dq, rows.data.ddq
    plain = rows.forces(measured)

    def moved(
        kind: str, dofs: tuple[int, ...], motion: Callable[[Motion, float], Motion],
        text: Callable[[float, float], str],
    ) -> Hypothesis:  # fmt: skip
        def at(phi: float) -> Array:
            changed = motion((rows.q, rows.dq, rows.ddq), phi)
            return rows.W + rows.columns(*changed) - rows.unfiltered

        changed = rows.closed(motion(measured, const.PHI_STEP))
        D = rows.low_passed((rows.forces(changed) - plain) / const.PHI_STEP)[..., None]
        return Hypothesis(kind, dofs, D, text, None if rows.has_loops else at)

    yield moved(
        "time-scale", (), lambda m, x: (m[0], m[1] * (1 + x), m[2] * (1 + x) ** 2),
        lambda x, s: f"the clock runs {abs(x):.2%} (+- {2 * s:.1%}) {'slow' if x < 0 else 'fast'}: "
        f"gravity and inertia agree if rates are {1 + x:.4g} times those recorded. Wrong lengths "
        "or axes of the description look the same",
    )  # fmt: skip
    natural, zeros = rows.result.sought.natural, list[Array]()
    for j in motor_dofs(rows.result.robot.model) if rows.q.shape == rows.dq.shape else ():
        one, name = np.eye(n)[j], names[j]
        unit, length = ("m", natural.length) if natural.sliding[j] else ("rad", 1.0)
        zero = moved(
            "encoder-zero", (j,), lambda m, x, one=length * one: (m[0] + x * one, *m[1:]),
            lambda x, s, name=name, unit=unit, length=length: f"the zero of {name!r} is off: "
            f"{x * length:.3g} {unit} (+- {2 * s * length:.1g}) added to q explains the forces",
        )  # fmt: skip
        zeros.append(zero.D)
        yield zero
        yield moved(
            "gear-ratio", (j,),
            lambda m, x, one=one: tuple(y * (1 + x * one) for y in m),
            lambda x, s, name=name: f"q of {name!r} has another scale: {1 + x:.4g} times q "
            f"(+- {2 * s:.1g}) explains the forces. Is its gear ratio right?",
        )  # fmt: skip
        yield Hypothesis(
            "gear-ratio", (j,), (rows.predicted * one)[..., None],
            lambda x, s, name=name: f"tau of {name!r} is {1 + x:.4g} (+- {2 * s:.1g}) times what "
            "the other joints say. Is its gear ratio, or the gain of its sensor, right?",
            lambda x, one=one: rows.W * (1 + x * one)[:, None],
        )  # fmt: skip
        late = -np.gradient(plain[:, j], rows.data.t)
        yield Hypothesis(
            "lag", (j,), rows.low_passed(late[:, None] * one)[..., None],
            lambda x, s, name=name: f"tau of {name!r} is {1e3 * abs(x):.3g} ms (+- {2e3 * s:.1g}) "
            f"{'later' if x > 0 else 'earlier'} than that of the other joints, or "
            f"{'is smoothed' if x > 0 else 'q of another joint is later'}",
        )  # fmt: skip
    if len(zeros) > 1:
        yield Hypothesis(
            "encoder-zero",
            (),
            np.concatenate(zeros, axis=-1),
            lambda x, s: (
                "zeros of several joints are off: constants added to their q explain the forces"
            ),
        )


def _of_reversals(rows: Rows) -> Iterator[Hypothesis]:
    """Friction that changes its sign after the motion does, at some joints."""
    late = rows.low_passed(late_signs(rows.data))
    dofs = [j for j in rubbing_dofs(rows.result.robot.model) if late[:, j].any()]
    D = late[..., None] * np.eye(late.shape[1])[:, dofs]
    sides = np.concatenate([rows.W, rows.y[..., None], D], axis=-1) / rows.solution[1][:, None]
    Z, r = sides.reshape(-1, sides.shape[-1]), rows.W.shape[-1]
    Q = np.linalg.qr(Z[:, :r])[0]
    beside = Z[:, r:] - Q @ (Q.T @ Z[:, r:])
    inverse = np.linalg.pinv(beside[:, 1:].T @ beside[:, 1:], rcond=const.SMALLEST_EIGENVALUE)
    phi, error = inverse @ beside[:, 1:].T @ beside[:, 0], np.sqrt(np.maximum(np.diag(inverse), 0))
    later = np.flatnonzero(phi > const.SURE_LAW * error).tolist()
    if later:
        joints = [rows.result.robot.model.dof_names[dofs[k]] for k in later]
        yield Hypothesis(
            "sticking", tuple(dofs[k] for k in later), D[..., later],
            lambda x, s: f"friction of {named(joints)} changes its sign after the motion does: the "
            f"{'joint sticks' if len(joints) == 1 else 'joints stick'} where the motion reverses",
        )  # fmt: skip


def _of_surroundings(rows: Rows) -> Iterator[Hypothesis]:
    """Another direction of gravity, and a constant force on the last link of a branch."""
    model, q = rows.result.robot.model, rows.data.q
    if q.shape != rows.data.dq.shape:
        return
    m, com = np.asarray(model.m, float), np.asarray(model.com, float)
    leaves = sorted(set(range(len(m))) - set(model.parent))

    def places(q: Array) -> Array:
        """Centres of mass of the leaves and first moment of all links in {s}, (T, k + 1, 3)."""
        T = rows.result.prior.link_poses(q)  # whose kernel serves all results
        x = np.einsum("tiab,ib->tia", T[..., :3, :3], com) + T[..., :3, 3]
        return np.concatenate([x[:, leaves], np.einsum("i,tia->ta", m, x)[:, None]], axis=1)

    natural = rows.result.sought.natural
    steps = const.PHI_STEP * np.where(natural.sliding, natural.length, 1)
    slopes = [
        (places(q + step * one) - places(q - step * one)) / (2 * step)
        for step, one in zip(steps, np.eye(model.n), strict=True)
    ]
    J = np.stack(slopes, axis=1)
    J = forces_at_motors(rows.result.prior, q, J).transpose(2, 0, 1, 3)  # (k + 1, T, n, 3)
    g = np.asarray(model.gravity[3:], float)
    size = float(np.linalg.norm(g))
    if size > 0:
        level = np.linalg.svd(g[None])[2][1:].T * size  # two directions across gravity
        yield Hypothesis(
            "gravity-direction", (), rows.low_passed(-J[-1] @ level),
            lambda x, s: "gravity has another direction: is the base tilted against the "
            "description?",
        )  # fmt: skip
    for link, J_com in zip(leaves, J[:-1], strict=True):
        yield Hypothesis(
            "external-force", (), rows.low_passed(-J_com),
            lambda x, s, name=model.link_names[link]: f"a constant force acts on {name!r}: does a "
            "cable, a hose or a contact pull at it?",
        )  # fmt: skip


def _of_time(rows: Rows) -> Iterator[Hypothesis]:
    """A body that appears at some time, friction that changes with time, two different halves."""
    result, (count, n) = rows.result, rows.y.shape
    names, sought = result.robot.model.dof_names, rows.result.sought
    plain = sought.plain(rows.q, rows.dq, rows.ddq)
    leaves = set(range(sought.layout.links)) - set(result.robot.model.parent)
    for share in const.CHANGE_TIMES:
        after = rows.time > share
        for link in sorted(leaves):
            D = plain[..., sought.layout.link(link)][..., :4] * after[:, None, None]
            name = result.robot.model.link_names[link]
            yield Hypothesis(
                "payload-change", (), D,
                lambda x, s, share=share, name=name: f"the load of {name!r} changes after about "
                f"{share:.0%} of the recording: a body was added or removed",
            )  # fmt: skip
    age = rows.time - 0.5
    each = list[Array]()
    for j in motor_dofs(result.robot.model):
        D = np.zeros((count, n, 2))
        D[:, j, 0], D[:, j, 1] = rows.dq[:, j] * age, np.sign(rows.dq[:, j]) * age
        each.append(D)
        yield Hypothesis(
            "drift", (j,), D,
            lambda x, s, name=names[j]: f"friction of {name!r} changes during the recording: does "
            "the drive warm up?",
        )  # fmt: skip
    yield Hypothesis(
        "drift",
        (),
        np.concatenate(each, axis=-1),
        lambda x, s: "friction of all joints changes during the recording: do the drives warm up?",
    )
    yield Hypothesis(
        "misfit", (), rows.W * np.sign(age)[:, None, None],
        lambda x, s: "the halves of the recording have different parameters: the machine, or its "
        "motion, was different there",
    )  # fmt: skip


def _of_forces(rows: Rows) -> Iterator[Hypothesis]:
    """Functions of a joint's own force and motion: saturation, and patterns the model lacks."""
    result, (count, n) = rows.result, rows.y.shape
    names, sliding = result.robot.model.dof_names, bounds_of(result.robot.model).sliding
    predicted, plain_q = rows.predicted, rows.q.shape == rows.dq.shape
    for j in motor_dofs(result.robot.model):
        name = names[j]
        p, v = predicted[:, j], rows.dq[:, j] / max(float(np.abs(rows.dq[:, j]).max()), 1e-300)
        load = np.abs(p)
        functions = {
            "speed": [*(np.sign(v) * np.exp(-((v / x) ** 2)) for x in (0.05, 0.2)), v * np.abs(v),
                      np.abs(v)],
            "load": [load * np.sign(v), load * v],
        }  # fmt: skip
        if plain_q:
            span = max(float(np.ptp(rows.q[:, j])), 1e-300)
            angle = np.pi * (rows.q[:, j] / span if sliding[j] else rows.q[:, j] / np.pi)
            functions["position"] = [f(k * angle) for k in (1, 2, 3) for f in (np.sin, np.cos)]

        def of_joint(columns: Sequence[Array], j: int = j) -> Array:
            D = np.zeros((count, n, len(columns)))
            D[:, j] = np.stack(columns, axis=-1)
            return D

        if not {f"tau_offset[{name}]", f"coulomb-[{name}]"} & set(result.sought.names):
            size = float(np.sqrt((rows.y[:, j] ** 2).mean()))
            yield Hypothesis(
                "offset", (j,), of_joint([np.full(count, size)]),
                lambda x, s, name=name, size=size: f"tau of {name!r} has an offset of "
                f"{x * size:.3g} (+- {2 * s * size:.1g}), or friction that differs by direction: "
                f"{argument('offsets', True)} or {argument('friction', 'directional')} finds it",
            )  # fmt: skip
        for b in (b for b in range(n) if 0 < abs(b - j) <= const.COUPLED_JOINTS):
            yield Hypothesis(
                "coupled", (j, b), of_joint([rows.dq[:, b], np.sign(rows.dq[:, b])]),
                lambda x, s, name=name, other=names[b]: f"tau of {name!r} follows the rate of "
                f"{other!r}: a coupled transmission, whose motor turns with both joints",
            )  # fmt: skip
        beyond = np.maximum(load - np.quantile(np.abs(rows.y[:, j]), const.TOP_FORCE), 0)
        yield Hypothesis(
            "saturation", (j,), of_joint([-np.sign(p) * beyond]),
            lambda x, s, name=name: f"tau of {name!r} is smaller than predicted where it is "
            "largest: was the drive or the sensor saturated?",
        )  # fmt: skip
        for key, columns in functions.items():
            what, cause = PATTERNS[key]
            yield Hypothesis(
                "pattern", (j,), of_joint(columns),
                lambda x, s, name=name, what=what, cause=cause: f"errors of {name!r} depend on "
                f"{what}, in a way that the model does not have: {cause}",
            )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Explanation:
    """A hypothesis with its best phi.

    Args:
        kind, dofs: as in `Hypothesis`.
        text: a sentence on it.
        rows: the equations with the hypothesis taken into account.
        gain: twice the logarithm of the likelihood over that of the plain model, less the price of
            its unknowns.
    """

    kind: str
    dofs: tuple[int, ...]
    text: str
    rows: Rows
    gain: float


def fitted(rows: Rows, hypothesis: Hypothesis, error: float) -> Explanation:
    """A hypothesis at its best phi; `error` is its standard error, for the sentence."""
    D, at, r = hypothesis.D, hypothesis.at, rows.W.shape[-1]
    both = np.concatenate([rows.W, D], axis=-1)
    beta, sigma = weighted(both, rows.y)
    phi = float(beta[r]) if at is None else 0.0
    for _ in range(const.PHI_STEPS):
        if at is None:
            break
        step = float(np.clip(beta[r], -const.LONGEST_PHI_STEP, const.LONGEST_PHI_STEP))
        phi += step
        W = at(phi)
        D = ((at(phi + const.PHI_STEP) - W) @ beta[:r] / const.PHI_STEP)[..., None]
        both = np.concatenate([W, D], axis=-1)
        beta, sigma = weighted(both, rows.y)
        if abs(step) < const.PHI_STEP:
            break
    price = D.shape[-1] * np.log(rows.y.size)
    kind, text = hypothesis.kind, hypothesis.text(phi, error)
    if kind == "time-scale" and not const.CLOCK_RANGE[0] < 1 + phi < const.CLOCK_RANGE[1]:
        kind, text = "misfit", UNKNOWN  # that large, it stands for something else
    return Explanation(
        kind, hypothesis.dofs, text, replace(rows, W=both), _gain(rows, sigma) - price
    )  # fmt: skip


def _gain(rows: Rows, sigma: Array) -> float:
    """Twice the logarithm of the ratio of likelihoods of a noise of joints, (n,)."""
    return float(2 * len(rows.y) * np.log(rows.solution[1] / sigma).sum())


def without_small_version(rows: Rows) -> Iterator[Explanation]:
    """Explanations that are not small changes of the recording."""
    result, n = rows.result, rows.y.shape[1]
    names, links = result.robot.model.dof_names, result.sought.layout.bodies
    still = np.zeros_like(rows.dq)
    bodies = np.array([k < links for k in result.base.kept])
    weightless = rows.W - np.where(bodies, rows.columns(rows.q, still, still), 0)
    yield Explanation(
        "gravity-compensated", (),
        "joint forces fit a robot without gravity: does the controller report torques with gravity "
        "compensated?", replace(rows, W=weightless), _gain(rows, weighted(weightless, rows.y)[1]),
    )  # fmt: skip
    slides = bounds_of(result.robot.model).sliding
    pairs = [
        (a, b) for a, b in combinations(motor_dofs(result.robot.model), 2) if slides[a] == slides[b]
    ]
    every = np.broadcast_to(rows.y[:, None, :], (len(rows.y), n, n))
    R = stacked(np.concatenate([rows.W, every], axis=-1).transpose(1, 0, 2))
    r = rows.W.shape[-1]
    poor = np.any(rows.solution[1] > const.POOR_FIT * np.sqrt((rows.y**2).mean(axis=0)))
    for a, b in pairs:
        order = np.arange(n)
        order[[a, b]] = b, a
        R_swapped = np.stack([R[j][:, [*range(r), r + order[j]]] for j in range(n)])
        text = f"of {names[a]!r} and {names[b]!r} exchanged {ORDER}"
        yield Explanation(
            "swapped-channels", (a, b), f"tau {text}", replace(rows, y=rows.y[:, order]),
            _gain(rows, from_squares(R_swapped, len(rows.y))[1]),
        )  # fmt: skip
        if poor and rows.q.shape == rows.dq.shape and not rows.has_loops:
            W = rows.columns(*(x[:, order] for x in (rows.q, rows.dq, rows.ddq)))
            gain = _gain(rows, weighted(W, rows.y)[1])
            yield Explanation("swapped-channels", (a, b), f"q {text}", replace(rows, W=W), gain)
