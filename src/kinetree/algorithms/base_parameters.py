"""Base parameters: the combinations of parameters that joint forces depend on, and no others.

Columns of Y that are linearly dependent at all states cannot be told apart by any measurement. With
the dependencies N (Y N^T = 0 everywhere), the parameters fall into kept ones and dropped ones, and
each kept one stands for a combination

    pi_base = K pi,    Y pi = Y[:, kept] pi_base

N comes from random states (numbers), or from the rules of `regrouping.py` (exact, also symbols).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.configuration import random
from kinetree.algorithms.parameters import LINK, Parameter, parameter_list
from kinetree.algorithms.regressor import regressor
from kinetree.algorithms.regrouping import regrouping_rules
from kinetree.arrays import Array
from kinetree.errors import InputError, ModelError
from kinetree.model import Model
from kinetree.notebook import table
from kinetree.scalars import home

GROUPS = ("link", "joint", "rotor")
DEPENDENT = 1e-9  # of the largest singular value; rounding leaves 1e-13, a real column 1e-4
DUST = 1e-9  # coefficient that is rounding
LAST_KEPT = ("m", "Iyy", "hz")  # what books hand to the parent, wherever a choice is left


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Which of the parameters are kept, and what each of them then stands for.

    parameters: those looked at, p of them; columns: where they stand in pi and Y. kept: places
    among `parameters`; K: (b, p), pi_base = K pi[columns].
    """

    parameters: tuple[Parameter, ...]
    columns: tuple[int, ...]
    kept: tuple[int, ...]
    K: Array

    def __repr__(self) -> str:
        return f"BaseParameters({self.count} combinations of {len(self.parameters)} parameters)"

    @property
    def count(self) -> int:
        """Number of base parameters: the rank of Y over all states."""
        return len(self.kept)

    @property
    def without_effect(self) -> tuple[Parameter, ...]:
        """Parameters that no joint force depends on."""
        empty = [all(_is_zero(x) for x in column) for column in self.K.T]
        return tuple(p for p, none in zip(self.parameters, empty, strict=True) if none)

    def values(self, pi: Any) -> Array:
        """pi_base, (b,), of a whole parameter vector."""
        return self.K @ np.asarray(pi)[list(self.columns)]

    def formulas(self, digits: int = 6) -> list[str]:
        """Each base parameter in words: "Izz[link1] + armature[joint1] + 0.25 m[link2]"."""
        return [
            _formula([(self.parameters[j], row[j]) for j in (k, *self._others(k))], digits)
            for k, row in zip(self.kept, self.K, strict=True)
        ]

    def _repr_html_(self) -> str:
        rows = [(k + 1, text) for k, text in enumerate(self.formulas())]
        title = f"{self.count} base parameters of {len(self.parameters)} parameters"
        return table(title, ("", "stands for"), rows, text=2)

    def _others(self, k: int) -> list[int]:
        return [j for j in range(len(self.parameters)) if j != k]


def base_parameters(
    model: Model, *, groups: Sequence[str] = GROUPS, seed: int = 0
) -> BaseParameters:
    """From the numeric rank of Y over random states.

    Args:
        model: the robot, of numbers.
        groups: which parameters: some of "link" (10 each), "joint" (friction and armature, 5 each)
            and "rotor".
        seed: of the random states.
    """
    columns = _columns(model, groups)
    if not columns:
        return BaseParameters((), (), (), np.zeros((0, 0)))
    W = _observations(model, len(columns), seed)[:, columns]
    size = np.linalg.norm(W, axis=0)
    size = np.where(size > DEPENDENT * size.max(initial=0), size, 1.0)
    _, s, rows = np.linalg.svd(W / size)
    rank = int((s > DEPENDENT * s.max(initial=0)).sum())
    return _from_dependencies(model, columns, rows[rank:] / size)


def base_parameters_by_rules(model: Model) -> BaseParameters:
    """Of the links, from the rules of regrouping; over any kind of scalar, symbols included.

    Raises:
        ModelError: a joint follows another, which ties motions together as no rule knows.
    """
    for joint in model.joints:
        if joint.follows is not None:
            raise ModelError(
                f"joint {joint.name!r} follows another, and the rules of regrouping know only "
                "joints that move by themselves; base_parameters finds the combinations from "
                "numbers, with such joints too."
            )
    return _from_dependencies(model, _columns(model, ("link",)), regrouping_rules(model))


def _columns(model: Model, groups: Sequence[str]) -> list[int]:
    unknown = [x for x in groups if x not in GROUPS]
    if unknown or isinstance(groups, str):
        raise InputError(f"groups is {groups!r}; expected a list of some of {', '.join(GROUPS)}.")
    return [k for k, x in enumerate(parameter_list(model)) if x.group in groups]


def _observations(model: Model, count: int, seed: int) -> Array:
    """Y of random states, one above the other, reduced to a triangle now and then."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((0, len(parameter_list(model))))
    for _ in range(3 * count // max(model.n, 1) + 12):
        motion = random(model, rng), 2 * rng.normal(size=model.n), 4 * rng.normal(size=model.n)
        Y = np.concatenate([Y, np.asarray(regressor(model, *motion), float)])
        if len(Y) > 4 * Y.shape[1]:
            Y = np.asarray(np.linalg.qr(Y, mode="r"))
    return Y


def _from_dependencies(model: Model, columns: list[int], N: Any) -> BaseParameters:
    """Drop one parameter for each dependency, outer links and `LAST_KEPT` first."""
    found = tuple(parameter_list(model)[k] for k in columns)
    order = sorted(range(len(found)), key=lambda j: _readiness(found[j], columns[j]), reverse=True)
    rows, dropped = reduce_rows([list(row) for row in N], order)
    kept = tuple(j for j in range(len(found)) if j not in dropped)
    K = [
        [int(j == k) if j not in dropped else -rows[dropped.index(j)][k] for j in range(len(found))]
        for k in kept
    ]
    return BaseParameters(found, tuple(columns), kept, np.array(K).reshape(len(kept), len(found)))


def _readiness(parameter: Parameter, column: int) -> tuple[int, int, int]:
    """Larger is dropped more readily: drives, then outer links, then what books hand on."""
    group = GROUPS.index(parameter.group)
    late = LAST_KEPT[::-1].index(parameter.kind) + 1 if parameter.kind in LAST_KEPT else 0
    link = column // len(LINK) if group == 0 else column
    return group, link, late


def reduce_rows(rows: list[list[Any]], order: Sequence[int]) -> tuple[list[list[Any]], list[int]]:
    """Reduced echelon form with pivots in the columns of `order` that come first; the pivots."""
    rows = [row for row in rows if not all(_is_zero(x) for x in row)]
    pivots: list[int] = []
    for j in order:
        k = len(pivots)
        candidates = [r for r in range(k, len(rows)) if not _is_zero(rows[r][j])]
        if not candidates:
            continue
        best = max(candidates, key=lambda r: _magnitude(rows[r][j]))
        rows[k], rows[best] = rows[best], rows[k]
        rows[k] = [_tidy(x / rows[k][j]) for x in rows[k]]
        for r in range(len(rows)):
            factor = rows[r][j]
            if r != k and not _is_zero(factor):
                rows[r] = [_tidy(x - factor * y) for x, y in zip(rows[r], rows[k], strict=True)]
        pivots.append(j)
    return rows[: len(pivots)], pivots


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.number)


def _is_zero(x: Any) -> bool:
    return abs(x) <= DUST if _is_number(x) else bool(x == 0)


def _magnitude(x: Any) -> float:
    """Numbers pivot by size; among symbols plain numbers come first."""
    try:
        return abs(float(x))
    except TypeError:
        return 0.0


def _tidy(x: Any) -> Any:
    """Zeros exact, and symbols in their simplest form."""
    if _is_number(x):
        return 0.0 if abs(x) <= DUST else x
    module = home(x)
    return module.simplify(x) if module.__name__ == "sympy" else x


def _formula(terms: Sequence[tuple[Parameter, Any]], digits: int) -> str:
    text = ""
    for parameter, x in terms:
        if _is_zero(x):
            continue
        if not _is_number(x):
            word, sign = ("" if x == 1 else f"({x}) "), "+"
        else:
            size = f"{abs(float(x)):.{digits}g}"
            word, sign = ("" if size == "1" else f"{size} "), "-" if x < 0 else "+"
        text += f" {sign} {word}{parameter}"
    return text.removeprefix(" + ").removeprefix(" ")
