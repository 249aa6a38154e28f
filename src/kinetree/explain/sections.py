"""Page: an explanation as titles, sections and rows, which the writers turn into text and HTML."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array, known
from kinetree.core.text import ROUNDING, without_rounding
from kinetree.explain.causes import Torque
from kinetree.explain.node import Node
from kinetree.explain.numbers import column_cells, expression, is_listed
from kinetree.explain.recursion import SYMBOLS, LinkSteps, is_zero
from kinetree.scalars import Scalar

TITLE = "recursion in 6-vectors of the link frames"
CONSTRAINT_TITLE = "Forces of the constraints; lambda acts on frame_b, in the axes of frame_a"
NOTE = 'Rows add up to the row "=". Gravity has its own row; "motion" excludes gravity.'
FORCES = ("F", "tau")  # symbols of forces and moments
POSES = {"in the parent": r"T_{pi} = M_{pi} T(q)", "in {s}": r"T_{si} = T_{sp} T_{pi}"}
# names of the components of the angular and the linear half, in text and LaTeX
HALVES = {
    "V": (("ω", r"\omega"), ("v", "v")),
    "dV": (("dω", r"\dot\omega"), ("dv", r"\dot v")),
    "F": (("n", "n"), ("f", "f")),
}
# LaTeX -> text, in this order
WORDS = (
    (r"\\mathrm\{ad\}_(\w)", r"ad(\1)"),
    (r"\\mathrm\{(\w+)\}", r"\1"),
    (r"\\ddot ", "dd"),
    (r"\\dot ", "d"),
    (r"\\times", "x"),
    (r"\\cdot", "."),
    (r"\\,|[\\{}]", ""),
)
Equation = tuple[str, str]  # in text and in LaTeX


@dataclass(frozen=True, eq=False)
class Row:
    """A part with its equation in LaTeX and values; or the total of the rows before it."""

    name: str
    latex: str
    values: Array
    total: bool = False

    @property
    def text(self) -> str:
        """The equation as text."""
        words = self.latex
        for pattern, word in WORDS:
            words = re.sub(pattern, word, words)
        return words


@dataclass(frozen=True, eq=False)
class Section:
    """One quantity: rows of numbers under the names of its components.

    groups: numbers of neighbouring columns that share their decimals. by_cause: rows are degrees of
    freedom, whose units stand in place of equations, and columns are causes.
    """

    symbol: str
    latex: str
    meaning: str
    unit: str
    columns: tuple[Equation, ...]
    rows: tuple[Row, ...]
    groups: tuple[int, ...]
    by_cause: bool = False

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
            found = column_cells(block, every_row=self.by_cause)
            columns += np.array(found, object).reshape(block.shape).T.tolist()
            start += size
        return [list(row) for row in zip(*columns, strict=True)]

    def entries(self, row: Row) -> list[tuple[str, Scalar]]:
        """Components of a row that are not zero, with their names; a single 0 if all are zero."""
        pairs = zip(self.columns, row.values, strict=True)
        return [(name[0], x) for name, x in pairs if expression(x) != "0"] or [("", 0)]


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


def page_of(name: str, links: Sequence[LinkSteps], torque: Torque) -> Page:
    """The page of the robot `name`; forces that are rounding errors alone are shown as 0."""
    size = _largest_force(links)
    shares = {cause: _cleared(x, size) for cause, x in torque.shares.items()}
    torque = replace(torque, shares=shares, tau=_cleared(torque.tau, size))
    sheets = [_link_sheet(steps, size) for steps in links]
    idle = [cause for cause, x in shares.items() if is_zero(x)]
    ending = f"No contribution: {', '.join(idle)}." if idle else ""
    if torque.names:
        sheets.append(Sheet("Joint forces by cause", (_torque_section(torque),)))
    if torque.constraints is not None and torque.names:
        sheets.append(Sheet(CONSTRAINT_TITLE, _constraint_sections(torque)))
        ending = f"{torque.constraints.open} {ending}".strip()
    return Page(f"{name}: {TITLE}", tuple(sheets), ending, len(links))


def _largest_force(links: Sequence[LinkSteps]) -> float:
    """The largest force times the largest length, beside which forces are rounding, N and N m."""
    parts = [
        np.array(part.value) for steps in links for key in FORCES for part in steps[key].children
    ]
    lengths = [1.0, *(_largest(steps.T_si[:3, 3]) for steps in links)]
    return max(map(_largest, parts), default=0.0) * max(lengths) * 1e-15 / ROUNDING


def _largest(x: Array) -> float:
    """The largest finite magnitude; 0 for symbols."""
    numbers = known(np.asarray(x))
    return 0.0 if numbers is None else float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0))


def _cleared(x: Array, largest: float) -> Array:
    numbers = known(np.asarray(x))
    return x if numbers is None else without_rounding(numbers, largest)


def _link_sheet(steps: LinkSteps, size: float) -> Sheet:
    """Pose, outward pass and inward pass of one link."""
    title = f"{steps.name}, on {steps.parent} by {steps.joint} ({steps.type})"
    vectors = (_vector_section(symbol, x, steps, size) for symbol, x in steps.terms.items())
    return Sheet(title, (_pose_section(steps), *vectors))


def _pose_section(steps: LinkSteps) -> Section:
    """T_pi and T_si: three rows each, with the axes and the origin as columns."""
    poses = {"in the parent": steps.T_pi[:3], "in {s}": steps.T_si[:3]}
    if any(is_listed(T) for T in poses.values()):  # entry by entry
        names = [name for k in "123" for name in (f"R{k}1", f"R{k}2", f"R{k}3", f"p{k}")]
        rows = [Row(name, POSES[name], T.ravel()) for name, T in poses.items()]
        groups: tuple[int, ...] = (12,)
    else:
        names = ["x", "y", "z", "p"]
        rows = [
            Row(name if k == 0 else "", POSES[name] if k == 0 else "", T[k])
            for name, T in poses.items()
            for k in range(3)
        ]
        groups = (3, 1)
    columns = tuple((name, name) for name in names)
    return Section("T", "T_{si}", "pose", "p in m", columns, tuple(rows), groups)


def _vector_section(symbol: str, term: Node, steps: LinkSteps, size: float) -> Section:
    """The parts of a vector and their total."""
    latex, meaning, _ = SYMBOLS[symbol]
    if symbol == "tau":
        names = [name.rpartition(".")[2] for name in steps.rates]
        columns = [(name, name) for name in names] if len(names) > 1 else [("", "")]
        groups = (1,) * len(columns)
    else:
        columns = [(f"{a}{x}", f"{b}_{x}") for a, b in HALVES[symbol] for x in "xyz"]
        groups = (3, 3)
    nodes = [*((x.name, x.latex, x.value) for x in term.children), (f"= {symbol}", "", term.value)]
    rows = tuple(
        Row(
            name,
            formula,
            _cleared(np.array(value), size if symbol in FORCES else 0.0),
            total=name == f"= {symbol}",
        )
        for name, formula, value in nodes
    )
    return Section(symbol, latex, meaning, term.unit, tuple(columns), rows, groups)


def _torque_section(torque: Torque) -> Section:
    """One row per degree of freedom, one column per cause; causes that are zero are left out."""
    shares = {name: x for name, x in torque.shares.items() if not is_zero(x)}
    return _by_cause(torque, {**shares, "tau": torque.tau})


def _by_cause(torque: Torque, columns: Mapping[str, Array]) -> Section:
    names = tuple((name, r"\tau" if name == "tau" else name) for name in columns)
    values = zip(torque.names, torque.units, np.array([*columns.values()]).T, strict=True)
    rows = tuple(Row(name, unit, row) for name, unit, row in values)
    return Section("tau", r"\tau", "", "", names, rows, (len(names),), True)


def _constraint_sections(torque: Torque) -> tuple[Section, Section]:
    """Forces at the joints by constraint, and lambda of every equation."""
    carried = torque.constraints
    assert carried is not None  # page_of has asked
    joints = _by_cause(torque, {**carried.joints, "constraints": torque["constraints"]})
    rows = tuple(
        Row(name, carried.units[name], np.array([x])) for name, x in carried.forces.items()
    )
    column = (("lambda", r"\lambda"),)
    return joints, Section("lambda", r"\lambda", "", "", column, rows, (1,), True)
