"""Base parameters: the combinations of parameters that joint forces depend on.

Parameters whose columns of Y are linearly dependent at all states cannot be separated by any
measurement. With the dependencies N (Y N^T = 0 everywhere), some parameters are kept and the others
dropped, and each kept one stands for a combination

    pi_base = K pi,    Y pi = Y[:, kept] pi_base

Dependencies come from the rank of Y over random states, in the robot's natural units and with
columns at length 1, so that the result does not depend on units. Y = Y[:, kept] K is then checked
at other states.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from warnings import warn

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import refuse_labels
from kinetree.core.options import count, is_one_of
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closing import CUTOFF, Closed, close, textbook
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.dynamics import motor_matrix
from kinetree.dynamics.constraints.ranks import beside, decomposed, least_squares
from kinetree.dynamics.joints.configuration import integrate
from kinetree.dynamics.natural_units import NaturalUnits, natural_units, parameter_units
from kinetree.dynamics.parameters import GROUPS, LINK, Parameter, parameter_list
from kinetree.dynamics.regressor import regressor
from kinetree.errors import InputError, KinetreeWarning, ModelError, SingularityError
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.model import HasModel, Model, model_of
from kinetree.model.constrain import constraints_of
from kinetree.present.tables import Table

# lengths and coefficients in natural units, singular values relative to the largest
ROUNDED_COEFFICIENT = 1e-9  # coefficient up to which it is rounding
SILENT = 1e-12  # length of a column up to which it is rounding
ROUNDING = 1e-14  # singular value up to which it is rounding
FAINTEST = 1e-7  # singular value above which columns are independent without a gap
CLEAR = 100.0  # ratio of singular values from which it is a gap
WRONG = 1e-8  # share of a column that its combination may miss at other states
WALK = 0.7  # steps from one closed position to the next, rad or natural lengths
LARGEST_LEVER = 100.0  # of a joint on a motor, in natural units: near dead centres it is larger
LAST_KEPT = ("m", "Iyy", "hz")  # dropped first where there is a choice, as in textbooks


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The parameters that are kept, and the combination that each of them stands for.

    Args:
        parameters: the p candidates.
        columns: indices of the candidates in pi and Y.
        kept: indices into `parameters` of those that are kept.
        K: combinations, shape (b, p), in the units of the kept parameter per unit of each: pi_base
            = K pi[columns].
        error: largest share of a column of Y that Y[:, kept] K missed at other states,
            dimensionless.
    """

    parameters: tuple[Parameter, ...]
    columns: tuple[int, ...]
    kept: tuple[int, ...]
    K: Array
    error: float

    def __repr__(self) -> str:
        return f"BaseParameters({self.count} combinations of {len(self.parameters)} parameters)"

    @property
    def count(self) -> int:
        """Number of base parameters: the rank of Y over all states."""
        return len(self.kept)

    def values(self, pi: ArrayLike) -> Array:
        """pi_base, (b,), of a whole parameter vector.

        Args:
            pi: all parameters in the order of `parameter_list`, shape (p,), in their own units.
        """
        refuse_labels(pi, "pi")
        return self.K @ np.asarray(pi)[list(self.columns)]

    def formulas(self, digits: int = 6) -> list[str]:
        """Each base parameter as text: "Izz[link1] + armature[joint1] + 0.25 m[link2]".

        Args:
            digits: significant digits of the coefficients.
        """
        pairs = [list(zip(self.parameters, row, strict=True)) for row in self.K]
        return [
            _formula([row[k], *row[:k], *row[k + 1 :]], digits)
            for k, row in zip(self.kept, pairs, strict=True)
        ]

    def _repr_html_(self) -> str:
        rows = [(k + 1, text) for k, text in enumerate(self.formulas())]
        title = f"{self.count} base parameters of {len(self.parameters)} parameters"
        return Table(title, ("", "stands for"), rows, text=2).html()


def base_parameters(
    robot: Model | HasModel, *, groups: Sequence[str] = GROUPS, seed: int = 0
) -> BaseParameters:
    """Base parameters from the numeric rank of Y over random states.

    Args:
        robot: a Robot or a Model, of numbers.
        groups: kinds of parameters: some of "link" (10 each), "joint" (friction and armature, 5
            each), "rotor", "spring" (stiffness and preload) and "motor" (5 each).
        seed: seed of the random states.

    Raises:
        ModelError: no set of parameters gives Y at other states to 1e-8 of every column.

    Warns:
        KinetreeWarning: the number of independent parameters is unclear because of rounding.

    Example:
        >>> len(kt.identify.base_parameters(kt.robots.planar_2r(), groups=["link"]).kept)
        6
    """
    model = model_of(robot)
    listed, columns = parameter_list(model), _columns(model, groups)
    if not columns:
        return BaseParameters((), (), (), np.zeros((0, 0)), 0.0)
    candidates = tuple(listed[k] for k in columns)
    seed = count(seed, "seed")
    W = _observations(model, columns, np.random.default_rng(seed), 3 * len(columns) // model.n + 12)
    order = sorted(
        reversed(range(len(columns))), key=lambda j: _readiness(candidates[j], columns[j])
    )
    kept, K, gap = independent_columns(W, order)
    if gap < CLEAR:
        warn(
            f"rounding does not tell how many of the {len(columns)} parameters of {model.name!r} "
            f"are independent: {len(kept)} are kept, and the next would be {gap:.3g} times "
            f"fainter; expected {CLEAR:g} times. Look for axes that are parallel, and lengths that "
            "are zero, but for rounding in the description.",
            KinetreeWarning,
            stacklevel=2,
        )
    others = _observations(model, columns, np.random.default_rng((seed, 1)), 4)
    share = missed_shares(others, kept, K)
    if share.max(initial=0) > WRONG:
        worst = int(share.argmax())
        raise ModelError(
            f"{len(kept)} base parameters of {model.name!r} do not give its joint forces at other "
            f"states: {share[worst]:.2g} of what {candidates[worst]} does is missed, expected at "
            f"most {WRONG:g}. Lengths or gear ratios of very different size in one robot may be "
            "the reason: leave some of the groups out, or the parts that are too small to matter."
        )
    scale = parameter_units(model, natural_units(model))[columns]
    K = K * scale[kept][:, None] / scale
    return BaseParameters(candidates, tuple(columns), tuple(kept), K, float(share.max(initial=0)))


def independent_columns(
    W: Array, order: Sequence[int], silent: float = SILENT
) -> tuple[list[int], Array, float]:
    """Columns to keep, K with W = W[:, kept] K, and the gap between kept and dropped ones.

    The rank is where the singular values of W, columns at length 1, have their largest gap; columns
    are taken in `order` if they are independent of those before.

    W: rows of the regressor in natural units, (rows, p). order: the columns, those that should be
    kept first. silent: columns that are shorter, over the root of the number of rows, are zero.

    Returns:
        kept: indices of columns, increasing. K: (kept, p). gap: the ratio of the last singular
        value that counts to the first that does not, infinite if all count.
    """
    length = np.linalg.norm(W, axis=0)
    length[length <= silent * np.sqrt(max(len(W), 1))] = 0
    unit = np.where(length > 0, W, 0) / np.where(length > 0, length, 1)
    s = np.linalg.svd(unit, compute_uv=False)[: np.count_nonzero(length)]
    s = s / s.max(initial=1e-300)
    rank, gap = rank_of(s)
    edge = np.sqrt(s[rank - 1] * max(s[rank] if rank < len(s) else 0.0, ROUNDING)) if rank else 1.0
    kept = first_independent(unit, order, edge)
    for small in edge * 10 ** np.linspace(-2, 2, 17):  # an order may keep columns that are close
        if len(kept) == rank:
            break
        kept = first_independent(unit, order, small)
    kept = sorted(kept)
    K = _combinations(unit, kept) * (length / length[kept][:, None])
    K[:, kept] = np.eye(len(kept))
    return kept, K, gap if len(kept) == rank else 1.0


def rank_of(s: Array) -> tuple[int, float]:
    """Number of singular values that count, the largest being 1, and the ratio at the gap."""
    s = np.maximum(s, ROUNDING)
    if len(s) == 0 or s[-1] > FAINTEST:
        return len(s), np.inf
    ratio = s / np.append(s[1:], ROUNDING)
    ratio[np.append(s[1:], ROUNDING) > FAINTEST] = 0
    rank = int(ratio.argmax()) + 1
    return rank, float(ratio[rank - 1])


def first_independent(unit: Array, order: Sequence[int], small: float) -> list[int]:
    """Columns, one after the other, whose part outside the span of those before exceeds `small`."""
    kept: list[int] = []
    Q = np.zeros((len(unit), 0))
    for k in order:
        rest = unit[:, k]
        for _ in range(2):  # the second pass removes the rounding of the first
            rest = rest - Q @ (Q.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > small:
            kept.append(k)
            Q = np.column_stack([Q, rest / size])
    return kept


def _combinations(unit: Array, kept: list[int]) -> Array:
    """K with unit = unit[:, kept] K; coefficients that are rounding are set to zero."""
    A = unit[:, kept]
    K = np.linalg.lstsq(A, unit, rcond=None)[0]
    for k in range(unit.shape[1]):
        large = np.abs(K[:, k]) > ROUNDED_COEFFICIENT
        if large.any() and not large.all():
            K[large, k] = np.linalg.lstsq(A[:, large], unit[:, k], rcond=None)[0]
        K[~large, k] = 0
    return K


def _columns(model: Model, groups: Sequence[str]) -> list[int]:
    listed = isinstance(groups, list | tuple | set | frozenset)
    if not listed or not all(is_one_of(x, GROUPS) for x in groups):
        raise InputError(
            f"groups is {groups!r:.60}; expected a list of some of {', '.join(GROUPS)}."
        )
    return [k for k, x in enumerate(parameter_list(model)) if x.group in groups]


def _observations(model: Model, columns: list[int], rng: np.random.Generator, count: int) -> Array:
    """Y of random states in natural units, stacked, and reduced to a triangle when it grows."""
    units = natural_units(model)
    scale = parameter_units(model, units)[columns] / units.forces[:, None]
    W = np.zeros((0, len(columns)))
    for state in zip(*lively_states(model, units, rng, count), strict=True):
        Y = np.asarray(regressor(model, *state), float)[:, columns]
        W = np.concatenate([W, Y * scale])
        if len(W) > 4 * W.shape[1]:
            W = np.asarray(np.linalg.qr(W, mode="r"))
    return W


def lively_states(
    model: Model, units: NaturalUnits, rng: np.random.Generator, count: int
) -> tuple[Array, Array, Array]:
    """Random motions whose inertial, centrifugal and gravity forces are of one size.

    Joint limits are ignored. With constraints, positions are those of a random walk from the
    neutral one, so that a mechanism stays in the way in which it is assembled.

    Returns:
        q: (count, nq). dq, ddq: (count, n).
    """
    moved = _lively_state if model.constraints is None else _LivelyWalk(model)
    q, dq, ddq = zip(*(moved(model, units, rng) for _ in range(count)), strict=True)
    return np.array(q), np.array(dq), np.array(ddq)


class _LivelyWalk:
    """Motions that the constraints of a robot allow, one after the other."""

    def __init__(self, model: Model) -> None:
        self.q = np.array(constraints_of(model, "base_parameters").home, float)
        self.evaluate = textbook(model)

    def __call__(
        self, model: Model, units: NaturalUnits, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        unit = units.rates

        def allowed() -> Array:
            J = self.evaluate(self.q)[1] * unit
            return unit * beside(decomposed(J, CUTOFF).V, rng.normal(size=model.n))

        for attempt in range(12):
            step = allowed() * units.time * WALK / 2 ** (attempt // 2)
            at = close(model, integrate(model, self.q, step), self.evaluate)
            if _is_regular(model, units, at):
                self.q = at.q
                break
        dq, y = allowed(), allowed() / units.time
        there = tree_constraints(book_tree(model, self.q), placed(model), self.q, dq)
        J, gamma = np.asarray(there.J, float), np.asarray(there.gamma, float)
        return self.q, dq, y - unit * least_squares(J * unit, gamma, CUTOFF)


def _is_regular(model: Model, units: NaturalUnits, at: Closed) -> bool:
    """Whether a position is closed, and away from dead centres and singular positions."""
    constraints = constraints_of(model, "base_parameters")
    if not at.residual <= constraints.tolerance:
        return False
    try:
        J = tree_constraints(book_tree(model, at.q), placed(model), at.q).J
        P = motor_matrix(model, np.asarray(J, float))
    except SingularityError:
        return False
    levers = np.asarray(P, float) * units.levers / units.levers[:, None]
    return bool(np.abs(levers).max(initial=0) < LARGEST_LEVER)


def _lively_state(
    model: Model, units: NaturalUnits, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    q = rng.uniform(-1, 1, model.nq) * np.where(units.positions, units.length, np.pi)
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE):
            turn = rng.normal(size=4)
            q[list(joint.coords[:4])] = turn / np.linalg.norm(turn)
    dq, ddq = rng.normal(size=(2, model.n))
    return q, dq * units.rates, ddq * (units.rates / units.time)


def missed_shares(W: Array, kept: Sequence[int], K: Array) -> Array:
    """Share of each column of W, (rows, p), that W[:, kept] K misses, (p,)."""
    missed = np.linalg.norm(W - W[:, list(kept)] @ K, axis=0)
    return missed / np.maximum(np.linalg.norm(W, axis=0), SILENT / WRONG)


def _readiness(parameter: Parameter, column: int) -> tuple[int, int, int]:
    """Sort key, larger for what is dropped first: drives, then outer links, then LAST_KEPT."""
    group = GROUPS.index(parameter.group)
    late = LAST_KEPT[::-1].index(parameter.kind) + 1 if parameter.kind in LAST_KEPT else 0
    link = column // len(LINK) if group == 0 else column
    return group, link, late


def _formula(terms: Sequence[tuple[Parameter, float]], digits: int) -> str:
    text = ""
    for parameter, x in terms:
        if x == 0:
            continue
        size = f"{abs(x):.{digits}g}"
        text += f" {'-' if x < 0 else '+'} {'' if size == '1' else size + ' '}{parameter}"
    return text.removeprefix(" + ").removeprefix(" ")
