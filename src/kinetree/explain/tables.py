"""An explanation as tables: text for a terminal, and HTML that unfolds without a script."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate

import numpy as np

from kinetree.core.arrays import Array, known
from kinetree.core.text import ROUNDING, without_rounding
from kinetree.errors import visible
from kinetree.explain.causes import Torque
from kinetree.explain.node import Node, Quantity, Value, mathml
from kinetree.explain.numbers import column_cells, expression, is_listed
from kinetree.explain.recursion import SYMBOLS, LinkSteps, is_zero
from kinetree.present.tables import escape, text_table
from kinetree.scalars import Scalar

TITLE = "recursion in 6-vectors of the link frames"
CONSTRAINT_TITLE = "Forces of the constraints; lambda acts on frame_b, in the axes of frame_a"
FORCES_TITLE = "Joint forces by cause"
NOTE = 'Rows add up to the row "=". Gravity has its own row; "motion" excludes gravity.'
FORCES = ("F", "tau")  # symbols of forces and moments
POSES = {"in the parent": r"T_{pi} = M_{pi} T(q)", "in {s}": r"T_{si} = T_{sp} T_{pi}"}
HALVES = {"V": ("ω", "v"), "dV": ("dω", "dv"), "F": ("n", "f")}  # letters of the components
MAX_OPEN_LINKS = 8  # the blocks of a robot with more links are closed at first
MAX_ROWS = 1500  # rows of the unfolded joint forces; deeper levels are left out


@dataclass(frozen=True, eq=False)
class Row:
    """A part with its equation in LaTeX and values; or the total of the rows before it."""

    name: str
    latex: str
    values: Array


@dataclass(frozen=True, eq=False)
class Section:
    """One quantity: rows of numbers under the names of its components.

    groups: numbers of neighbouring columns that share their decimals. by_cause: rows are degrees of
    freedom, and columns are causes.
    """

    head: str
    columns: tuple[str, ...]
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
        for end, size in zip(accumulate(self.groups), self.groups, strict=True):
            block = values[:, end - size : end]
            found = column_cells(block, every_row=self.by_cause)
            columns += np.array(found, object).reshape(block.shape).T.tolist()
        return [list(row) for row in zip(*columns, strict=True)]

    def entries(self) -> list[tuple[str, str, str]]:
        """Name of the row, of the component, and number; components that are zero are left out."""
        lines: list[tuple[str, str, str]] = []
        for row in self.rows:
            pairs: list[tuple[str, Scalar]]
            pairs = [*zip(self.columns, row.values, strict=True)]
            pairs = [(name, x) for name, x in pairs if expression(x) != "0"] or [("", 0)]
            names = [row.name] + [""] * (len(pairs) - 1)
            lines += [(a, b, expression(x)) for a, (b, x) in zip(names, pairs, strict=True)]
        return lines


Sheets = list[tuple[str, tuple[Section, ...]]]  # titles, and the sections below them


def sheets_of(links: Sequence[LinkSteps], torque: Torque) -> tuple[Sheets, str]:
    """One sheet per link, one for the joint forces, and a sentence on what is zero.

    Forces that are rounding errors alone are shown as 0.
    """
    size = _largest_force(links)
    shares = {cause: _cleared(x, size) for cause, x in torque.shares.items()}
    sheets: Sheets = [
        (f"{x.name}, on {x.parent} by {x.joint} ({x.type})", _link_sections(x, size)) for x in links
    ]
    idle = [cause for cause, x in shares.items() if is_zero(x)]
    ending = f"No contribution: {', '.join(idle)}." if idle else ""
    if torque.names:
        used = {name: x for name, x in shares.items() if not is_zero(x)}
        table = _by_cause(torque, {**used, "tau": _cleared(torque.tau, size)})
        sheets.append((FORCES_TITLE, (table,)))
    carried = torque.constraints
    if carried is not None and torque.names:
        joints = _by_cause(torque, {**carried.joints, "constraints": shares["constraints"]})
        pairs = carried.forces.items()
        rows = tuple(Row(f"{x}  {carried.units[x]}", "", np.array([y])) for x, y in pairs)
        sheets.append((CONSTRAINT_TITLE, (joints, Section("", ("lambda",), rows, (1,), True))))
        ending = f"{carried.open} {ending}".strip()
    return sheets, ending


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


def _link_sections(steps: LinkSteps, size: float) -> tuple[Section, ...]:
    """Pose, outward pass and inward pass of one link."""
    poses = {"in the parent": steps.T_pi[:3], "in {s}": steps.T_si[:3]}
    if any(is_listed(T) for T in poses.values()):  # entry by entry
        names = tuple(name for k in "123" for name in (f"R{k}1", f"R{k}2", f"R{k}3", f"p{k}"))
        rows = [Row(f"  {name}", POSES[name], T.ravel()) for name, T in poses.items()]
        pose = Section("T  p in m", names, tuple(rows), (12,))
    else:
        rows = [
            Row(f"  {name}" if k == 0 else "", POSES[name] if k == 0 else "", T[k])
            for name, T in poses.items()
            for k in range(3)
        ]
        pose = Section("T  p in m", ("x", "y", "z", "p"), tuple(rows), (3, 1))
    return (pose, *(_section(symbol, x, steps, size) for symbol, x in steps.terms.items()))


def _section(symbol: str, term: Node, steps: LinkSteps, size: float) -> Section:
    """The parts of a vector and their total."""
    if symbol == "tau":
        names = [name.rpartition(".")[2] for name in steps.rates]
        columns = tuple(names) if len(names) > 1 else ("",)
        groups = (1,) * len(columns)
    else:
        columns = tuple(f"{letter}{x}" for letter in HALVES[symbol] for x in "xyz")
        groups = (3, 3)
    largest = size if symbol in FORCES else 0.0
    nodes = [(f"  {x.name}", x.latex, x.value) for x in term.children]
    nodes.append((f"= {symbol}", SYMBOLS[symbol][0], term.value))
    rows = tuple(Row(name, f, _cleared(np.array(value), largest)) for name, f, value in nodes)
    head = f"{symbol}  {term.unit.replace('^2', '²')}"
    return Section(head, columns, rows, groups)


def _by_cause(torque: Torque, columns: Mapping[str, Array]) -> Section:
    """One row per degree of freedom, one column per cause."""
    values = zip(torque.names, torque.units, np.array([*columns.values()]).T, strict=True)
    rows = tuple(Row(f"{name}  {unit}", "", row) for name, unit, row in values)
    return Section("", tuple(columns), rows, (len(columns),), True)


# text


def text(name: str, links: Sequence[LinkSteps], torque: Torque, width: int) -> str:
    """Tables for a terminal of that width; those that do not fit have one entry a line."""
    sheets, ending = sheets_of(links, torque)
    lines = [f"{name}: {TITLE}", NOTE, ""]
    for title, sections in sheets:
        lines.append(f"{title} ".ljust(width, "─"))
        for section in sections:
            table = text_table(
                [(section.head, *section.columns)]
                + [(row.name, *x) for row, x in zip(section.rows, section.cells(), strict=True)]
            )
            if section.listed or max(map(len, table)) > width:
                entries = section.entries()
                first = max(len(section.head), *(len(x[0]) for x in entries))
                table = [section.head, *(f"{a:{first}}  {b:11}  {c}" for a, b, c in entries)]
            lines += [*table, ""]
    lines += [ending] if ending else []
    return "\n".join(visible(line).rstrip() for line in lines) + "\n"


# HTML


@cache
def own_style() -> str:
    """The style sheet of explanations."""
    return files(__package__ or "").joinpath("style.css").read_text(encoding="utf-8")


def markup(links: Sequence[LinkSteps], torque: Torque, trees: Sequence[Node]) -> str:
    """Joint forces, their unfolding, then the links; trees: empty for symbols."""
    sheets, ending = sheets_of(links, torque)
    forces = [x for x in sheets if x[1][0].by_cause]
    lines = [f"<p>{escape(NOTE)}</p>"]
    for title, sections in forces:
        lines += _sheet(title, sections, opened=True)
    lines += unfolded(trees) if trees else []
    for title, sections in sheets[: len(links)]:
        lines += _sheet(title, sections, opened=len(links) <= MAX_OPEN_LINKS)
    lines += [f"<p>{escape(ending)}</p>"] if ending else []
    return "\n".join(lines)


def _sheet(title: str, sections: Sequence[Section], *, opened: bool) -> Iterator[str]:
    yield f"<details{' open' if opened else ''}><summary>{escape(title)}</summary>"
    for section in sections:
        yield '<div class="scroll"><table>'
        if section.listed:
            yield f"<tr><th>{escape(section.head)}</th><th></th><th></th></tr>"
            for a, b, c in section.entries():
                cells = f"<td>{escape(a)}</td><td>{escape(b)}</td><td><code>{escape(c)}</code></td>"
                yield f"<tr>{cells}</tr>"
        else:
            yield from _table(section)
        yield "</table></div>"
    yield "</details>"


def _table(section: Section) -> Iterator[str]:
    heads = "".join(f'<th class="n">{escape(x)}</th>' for x in section.columns)
    yield f"<tr><th>{escape(section.head)}</th><th></th>{heads}</tr>"
    for row, cells in zip(section.rows, section.cells(), strict=True):
        numbers = "".join(f'<td class="n">{escape(x)}</td>' for x in cells)
        formula = f"<math>{mathml(row.latex)}</math>" if row.latex else ""
        total = ' class="total"' if row.name.startswith("= ") else ""
        yield f"<tr{total}><td>{escape(row.name)}</td><td>{formula}</td>{numbers}</tr>"


def unfolded(trees: Sequence[Node]) -> Iterator[str]:
    """Joint forces as nested <details>, as deep as MAX_ROWS rows allow."""
    depth, count, level = 0, 0, list(trees)
    while level and (depth < 2 or count + len(level) <= MAX_ROWS):
        depth, count = depth + 1, count + len(level)
        level = [child for node in level for child in node.children if not _is_product(node)]
    yield '<details class="unfold" open><summary>Joint forces, unfolded</summary>'
    for tree in trees:
        yield from _node(tree, depth)
    if level:
        yield f"<p>{len(level)} parts of the next level are left out here.</p>"
    yield "</details>"


def _is_product(node: Node) -> bool:
    """Return True if the children are the products of the components of two vectors."""
    return all(child.name in ("x", "y", "z") for child in node.children)


def _node(node: Node, depth: int) -> Iterator[str]:
    children = () if depth <= 1 or _is_product(node) else node.children
    yield f"<details><summary>{node.symbol} {escape(node.name)} "
    yield f"<b>{escape(_value(node.value))} {escape(node.unit)}</b></summary>"
    if node.numbers:
        yield f"<table>{''.join(map(_factor, node.numbers))}</table>"
    if node.code is not None:
        line = f"{node.code.file}, line {node.code.line}"
        yield f"<p>{escape(line)}: <code>{escape(node.code.text)}</code></p>"
    for child in children:
        yield from _node(child, depth - 1)
    yield "</details>"


def _factor(x: Quantity) -> str:
    place = f"in {x.frame}" if x.frame else ""
    cells = x.name, _value(x.value), x.unit.replace("^2", "²"), place
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _value(value: Value) -> str:
    """A number, a vector in parentheses, or a matrix with semicolons between its rows."""
    if not isinstance(value, tuple):
        return expression(value)
    rows = [_value(x) for x in value if isinstance(x, tuple)]
    numbers = [expression(x) for x in value if not isinstance(x, tuple)]
    return f"({', '.join(numbers)})" if numbers else "; ".join(rows)
