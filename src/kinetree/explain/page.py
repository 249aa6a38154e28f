"""Page: an explanation as titles, sections and rows, which the writers turn into text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array, known
from kinetree.explain.numbers import ROUNDING, column_cells, expression, is_listed
from kinetree.explain.record import Carried, LinkSteps, Term, Torque
from kinetree.explain.words import SYMBOLS, TITLES, Equation, components
from kinetree.scalars import Scalar

CAUSES = "by cause"  # meaning of the section of joint forces
# parts that are left out if they are zero
OPTIONAL = {
    "external wrench", "rotors", "rotor and armature", "friction", "spring", "base", "constraints",
}  # fmt: skip
CONSTRAINT_TITLE = "Forces of the constraints; lambda acts on frame_b, in the axes of frame_a"
NOTE = 'Rows add up to the row "=". Gravity has its own row; "motion" excludes gravity.'
FORCES = ("F", "f", "n", "tau")  # symbols of forces and moments
POSES = {
    "in the parent": ("T_pi = M_pi T(q)", r"T_{pi} = M_{pi} T(q)"),
    "in {s}": ("T_si = T_sp T_pi", r"T_{si} = T_{sp} T_{pi}"),
}


@dataclass(frozen=True, eq=False)
class Row:
    """A part with its equation and values; or the total of the rows before it."""

    name: str
    equation: Equation
    values: Array
    total: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """One quantity: rows of numbers under the names of its components.

    groups: numbers of neighbouring columns that share their decimals. every_row: the rows are of
    different sizes, and each gets enough decimals.
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
        """True if rows are degrees of freedom and columns are causes."""
        return self.meaning == CAUSES

    @property
    def listed(self) -> bool:
        """True if an entry is a long expression; every entry then has a line of its own."""
        return any(is_listed(row.values) for row in self.rows)

    def cells(self) -> list[list[str]]:
        """The rows as text, with decimal points in line within a column."""
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

    def entries(self, row: Row) -> list[tuple[Equation, Scalar]]:
        """Components of a row that are not zero, with their names; a single 0 if all are zero."""
        pairs = zip(self.columns, row.values, strict=True)
        return [(name, x) for name, x in pairs if expression(x) != "0"] or [(("", ""), 0)]


@dataclass(frozen=True, eq=False)
class Sheet:
    """A title and the sections below it."""

    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, eq=False)
class Page:
    """One sheet per link and one for the joint forces; `ending` is a sentence, or empty."""

    title: str
    sheets: tuple[Sheet, ...]
    ending: str
    links: int


def page_of(name: str, formulation: str, links: Sequence[LinkSteps], torque: Torque) -> Page:
    """The page of the robot `name`; forces that are rounding errors alone are shown as 0."""
    size = rounding_size(links)
    shares = {cause: cleared(x, size) for cause, x in torque.shares.items()}
    torque = replace(torque, shares=shares, tau=cleared(torque.tau, size))
    sheets = [link_sheet(steps, size) for steps in links]
    if torque.names:
        sheets.append(Sheet("Joint forces by cause", (torque_section(torque),)))
    carried = torque.constraints
    if carried is not None and torque.names:
        sections = constraint_section(torque, carried), force_section(carried)
        sheets.append(Sheet(CONSTRAINT_TITLE, sections))
    idle = [cause for cause, x in torque.shares.items() if _is_zero(x)]
    ending = f"No contribution: {', '.join(idle)}." if idle else ""
    if carried is not None and carried.open:
        ending = f"{carried.open} {ending}".strip()
    return Page(f"{name}: {TITLES[formulation]}", tuple(sheets), ending, len(links))


def rounding_size(links: Sequence[LinkSteps]) -> float:
    """Size of rounding errors in forces and moments, N and N m: that of forces times lengths."""
    parts = [x.value for steps in links for key in FORCES if key in steps.terms
             for x in steps[key].parts]  # fmt: skip
    lengths = [1.0, *(_largest(steps["T"].value[:3, 3]) for steps in links)]
    return ROUNDING * max(map(_largest, parts), default=0.0) * max(lengths)


def _largest(x: Array) -> float:
    """The largest finite magnitude; 0 for symbols."""
    numbers = known(np.asarray(x))
    if numbers is None:
        return 0.0
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0))


def cleared(x: Array, size: float) -> Array:
    """x with 0 for numbers of at most that size; symbols stay."""
    numbers = known(np.asarray(x))
    return x if numbers is None else np.where(np.abs(numbers) <= size, 0.0, numbers)


def link_sheet(steps: LinkSteps, size: float) -> Sheet:
    """Poses, outward pass and inward pass of one link; forces of at most `size` are 0."""
    title = f"{steps.name}, on {steps.parent} by {steps.joint} ({steps.type})"
    vectors = [term for symbol, term in steps.terms.items() if symbol != "T"]
    sections = (pose_section(steps["T"]), *(vector_section(term, steps, size) for term in vectors))
    return Sheet(title, sections)


def pose_section(term: Term) -> Section:
    """T_pi and T_si: three rows each, with the axes and the origin as columns."""
    latex, meaning, units = SYMBOLS["T"]
    T_pi = term["home"] @ term["joint"]
    poses = {"in the parent": T_pi[:3], "in {s}": term.value[:3]}
    if any(is_listed(T) for T in poses.values()):  # entry by entry
        names = [name for k in "123" for name in (f"R{k}1", f"R{k}2", f"R{k}3", f"p{k}")]
        columns = tuple((name, f"{name[0]}_{{{name[1:]}}}") for name in names)
        rows = [Row(name, POSES[name], T.ravel()) for name, T in poses.items()]
        groups: tuple[int, ...] = (12,)
    else:
        columns = tuple((name, name) for name in ("x", "y", "z", "p"))
        rows = [
            Row(name if k == 0 else "", POSES[name] if k == 0 else ("", ""), T[k])
            for name, T in poses.items()
            for k in range(3)
        ]
        groups = (3, 1)
    return Section("T", latex, meaning, f"p in {units[0]}", columns, tuple(rows), groups)


def vector_section(term: Term, steps: LinkSteps, size: float) -> Section:
    """The parts of a vector and their total; forces of at most `size` are 0."""
    size = size if term.symbol in FORCES else 0.0
    latex, meaning, units = SYMBOLS[term.symbol]
    if term.symbol == "tau":
        names = [name.rpartition(".")[2] for name in steps.rates]
        columns = [(name, name) for name in names] if len(names) > 1 else [("", "")]
        unit, groups = joint_unit(steps), (1,) * len(columns)
    else:
        columns, unit = components(term.symbol), ", ".join(units)
        groups = (3,) * (len(columns) // 3)
    rows = [
        Row(part.name, (part.equation, part.latex), np.atleast_1d(cleared(part.value, size)))
        for part in term.parts
        if part.name not in OPTIONAL or not _is_zero(part.value)
    ]
    total = np.atleast_1d(cleared(term.value, size))
    rows.append(Row(f"= {term.symbol}", ("", ""), total, total=True))
    return Section(term.symbol, latex, meaning, unit, tuple(columns), tuple(rows), groups)


def joint_unit(steps: LinkSteps) -> str:
    """Unit of a joint's force; a joint that turns and slides has both."""
    if len(steps.rates) == 1:
        return "N" if steps.type == "prismatic" else "N m"
    return "N m" if steps.type == "spherical" else "N m, N"


def torque_section(torque: Torque) -> Section:
    """One row per degree of freedom, one column per cause; causes that are zero are left out."""
    shares = {name: x for name, x in torque.shares.items() if not _is_zero(x)}
    columns = [*((name, name) for name in shares), ("tau", r"\tau")]
    values = np.array([*shares.values(), torque.tau]).T
    rows = [
        Row(name, (unit, unit), row)
        for name, unit, row in zip(torque.names, torque.units, values, strict=True)
    ]
    groups = (len(columns),)
    return Section("tau", r"\tau", CAUSES, "", tuple(columns), tuple(rows), groups, True)


def constraint_section(torque: Torque, carried: Carried) -> Section:
    """One row per degree of freedom, one column per constraint, and their sum."""
    columns = [*((name, name) for name in carried.joints), ("constraints", "constraints")]
    values = np.array([*carried.joints.values(), torque["constraints"]]).T
    rows = [
        Row(name, (unit, unit), row)
        for name, unit, row in zip(torque.names, torque.units, values, strict=True)
    ]
    return Section("tau", r"\tau", CAUSES, "", tuple(columns), tuple(rows), (len(columns),), True)


def force_section(carried: Carried) -> Section:
    """One row per equation of the constraints, with its force lambda."""
    rows = [
        Row(name, (carried.units[name], carried.units[name]), np.array([force]))
        for name, force in carried.forces.items()
    ]
    columns = (("lambda", r"\lambda"),)
    return Section("lambda", r"\lambda", CAUSES, "", columns, tuple(rows), (1,), True)


def _is_zero(x: Array) -> bool:
    """Return True if x is known to be zero everywhere."""
    numbers = known(np.asarray(x))
    return numbers is not None and not numbers.any()
