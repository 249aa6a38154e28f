"""The page: an explanation as titles, sections and rows, before it becomes text of any kind."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array, known
from kinetree.explain.numbers import column_cells, is_listed
from kinetree.explain.record import Explanation, LinkSteps, Term
from kinetree.explain.torque import Torque
from kinetree.explain.words import SYMBOLS, TITLES, Equation, components

CAUSES = "by cause"  # what a section of joint forces is called
# parts that are left out where they are zero
OPTIONAL = {"external wrench", "rotors", "rotor and armature", "friction", "base"}
NOTE = 'Rows add up to the row "=". Gravity is a row of its own; "motion" marks what is without it.'


POSES = {
    "in the parent": ("T_pi = M_pi T(q)", r"T_{pi} = M_{pi} T(q)"),
    "in {s}": ("T_si = T_sp T_pi", r"T_{si} = T_{sp} T_{pi}"),
}


@dataclass(frozen=True, eq=False)
class Row:
    """A part with its equation and values; or the total of those before it."""

    name: str
    equation: Equation
    values: Array
    total: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """One quantity: rows of numbers under the names of its components.

    groups: how many columns share their decimals, one after the other. every_row: the rows are of
    different sizes, and each must be readable.
    """

    symbol: str
    latex: str
    meaning: str
    unit: str
    columns: tuple[Equation, ...]
    rows: tuple[Row, ...]
    groups: tuple[int, ...]
    every_row: bool = False

    @property
    def by_cause(self) -> bool:
        """Whether rows are degrees of freedom and columns are causes."""
        return self.meaning == CAUSES

    @property
    def listed(self) -> bool:
        """Whether every entry has a line of its own, because it is a long expression."""
        return any(is_listed(row.values) for row in self.rows)

    def cells(self) -> list[list[str]]:
        """The rows as text; points are in line within a column."""
        values = np.array([row.values for row in self.rows])
        columns: list[list[str]] = []
        start = 0
        for size in self.groups:
            block = values[:, start : start + size]
            found = column_cells(block, every_row=self.every_row)
            cells = np.array(found, object).reshape(block.shape)
            columns += cells.T.tolist()
            start += size
        return [list(row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True, eq=False)
class Sheet:
    """A title, and what stands below it."""

    title: str
    sections: tuple[Section, ...]


def page_title(explanation: Explanation) -> str:
    """What the page is about."""
    return f"{explanation.model.name}: {TITLES[explanation.formulation]}"


def sheets(explanation: Explanation) -> Iterator[Sheet]:
    """One sheet a link, and one for the joint forces."""
    for steps in explanation.links:
        yield link_sheet(steps)
    if explanation.torque.names:
        yield Sheet("Where the joint forces go", (torque_section(explanation.torque),))


def link_sheet(steps: LinkSteps) -> Sheet:
    """Poses, the outward pass, the inward pass."""
    title = f"{steps.name}, on {steps.parent} by {steps.joint} ({steps.type})"
    sections = [pose_section(steps["T"])]
    sections += [
        vector_section(term, steps) for symbol, term in steps.terms.items() if symbol != "T"
    ]
    return Sheet(title, tuple(sections))


def pose_section(term: Term) -> Section:
    """T_pi and T_si, three rows each: the axes and the origin."""
    latex, meaning, (unit,) = SYMBOLS["T"]
    T_pi = term["home"] @ term["joint"]
    poses = {"in the parent": T_pi[:3], "in {s}": term.value[:3]}
    if any(is_listed(T) for T in poses.values()):
        return _listed_poses(poses, latex, meaning, unit)
    rows = [
        Row(name if k == 0 else "", POSES[name] if k == 0 else ("", ""), T[k])
        for name, T in poses.items()
        for k in range(3)
    ]
    columns = tuple((name, name) for name in ("x", "y", "z", "p"))
    return Section("T", latex, meaning, f"p in {unit}", columns, tuple(rows), (3, 1))


def _listed_poses(poses: dict[str, Array], latex: str, meaning: str, unit: str) -> Section:
    """The same with long expressions, entry by entry."""
    names = [name for k in "123" for name in (f"R{k}1", f"R{k}2", f"R{k}3", f"p{k}")]
    columns = tuple((name, f"{name[0]}_{{{name[1:]}}}") for name in names)
    rows = tuple(Row(name, POSES[name], T.ravel()) for name, T in poses.items())
    return Section("T", latex, meaning, f"p in {unit}", columns, rows, (12,))


def vector_section(term: Term, steps: LinkSteps) -> Section:
    """The parts of a vector and their total."""
    latex, meaning, units = SYMBOLS[term.symbol]
    if term.symbol == "tau":
        names = [name.rpartition(".")[2] for name in steps.rates]
        columns = [(name, name) for name in names] if len(names) > 1 else [("", "")]
        unit, groups = joint_unit(steps), (1,) * len(columns)
    else:
        columns, unit = components(term.symbol), ", ".join(units)
        groups = (3,) * (len(columns) // 3)
    rows = [
        Row(part.name, (part.equation, part.latex), np.atleast_1d(part.value))
        for part in term.parts
        if part.name not in OPTIONAL or not _is_zero(part.value)
    ]
    rows.append(Row(f"= {term.symbol}", ("", ""), np.atleast_1d(term.value), total=True))
    return Section(term.symbol, latex, meaning, unit, tuple(columns), tuple(rows), groups)


def joint_unit(steps: LinkSteps) -> str:
    """Unit of a joint's force; a joint that turns and slides has both."""
    if len(steps.rates) == 1:
        return "N" if steps.type == "prismatic" else "N m"
    return "N m" if steps.type == "spherical" else "N m, N"


def torque_section(torque: Torque) -> Section:
    """One row a degree of freedom, one column a cause; causes that do nothing are left out."""
    shares = {name: x for name, x in torque.shares.items() if not _is_zero(x)}
    columns = [*((name, name) for name in shares), ("tau", r"\tau")]
    values = np.array([*shares.values(), torque.tau]).T
    rows = [
        Row(name, (unit, unit), row)
        for name, unit, row in zip(torque.names, torque.units, values, strict=True)
    ]
    groups = (len(columns),)
    return Section("tau", r"\tau", CAUSES, "", tuple(columns), tuple(rows), groups, True)


def idle_causes(torque: Torque) -> list[str]:
    """The causes that contribute nothing to any joint."""
    return [name for name, x in torque.shares.items() if _is_zero(x)]


def _is_zero(x: Array) -> bool:
    """Known to be zero everywhere."""
    numbers = known(np.asarray(x))
    return numbers is not None and not numbers.any()
