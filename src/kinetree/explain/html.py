"""An explanation in HTML: joint forces that unfold, then one block per link.

It needs no script: blocks and rows open by <details>, and the term of an open or hovered row is
highlighted in the equation above it by the style. `views/page/explain.py` makes a page of it.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from kinetree.explain.node import Node, Quantity, Value, marked, mathml
from kinetree.explain.numbers import expression
from kinetree.explain.sections import NOTE, Page, Row, Section, Sheet
from kinetree.present.mathml import formula_style
from kinetree.present.tables import escape

MAX_OPEN_LINKS = 8  # the blocks of a robot with more links are closed at first
MAX_ROWS = 1500  # rows of the unfolded joint forces; deeper levels are left out
MARKS = 24  # terms of an equation that are highlighted


def html(page: Page, trees: Sequence[Node] = ()) -> str:
    """A `div` with its own style, which can be put into any page.

    trees: the joint forces as trees; empty for symbols.
    """
    style = own_style() + highlights() + formula_style()
    title = f"<h2>{escape(page.title)}</h2>"
    return (
        f'<div class="kinetree">\n<style>{style}</style>\n{title}\n{markup(page, trees)}\n</div>\n'
    )


@cache
def own_style() -> str:
    """The style sheet of explanations."""
    return files(__package__ or "").joinpath("style.css").read_text(encoding="utf-8")


def markup(page: Page, trees: Sequence[Node] = (), max_rows: int = MAX_ROWS) -> str:
    """The explanation without style and title: joint forces, their unfolding, then the links."""
    lines = [f"<p>{escape(NOTE)}</p>"]
    forces = [sheet for sheet in page.sheets if sheet.sections[0].by_cause]
    for sheet in forces:
        lines += _sheet(sheet, "forces", opened=True)
    if trees:
        lines += unfolded(trees, max_rows)
    for sheet in page.sheets:
        if sheet not in forces:
            lines += _sheet(sheet, "link", opened=page.links <= MAX_OPEN_LINKS)
    if page.ending:
        lines.append(f"<p>{escape(page.ending)}</p>")
    return "\n".join(lines)


def highlights() -> str:
    """Style rules: the term of a hovered or opened row is marked in the equation above it.

    CSS cannot compare the names of two elements, so each place in a sum has a rule of its own.
    """
    rules = "background: #f5b83d66; outline: 2px solid #f5b83d66;"
    return "\n".join(
        f'.kinetree .part:has(> table [data-k="{k}"]:hover) > .equation [data-k="{k}"], '
        f'.kinetree .part:has(> [data-k="{k}"][open]) > .equation [data-k="{k}"] {{ {rules} }}'
        for k in range(MARKS)
    )


def _sheet(sheet: Sheet, kind: str, *, opened: bool) -> Iterator[str]:
    start = f"<details class='{kind}'{' open' if opened else ''}>"
    yield f"{start}<summary>{escape(sheet.title)}</summary>"
    for section in sheet.sections:
        yield '<div class="scroll part">'
        if not section.by_cause and not section.listed and section.symbol != "T":
            yield _equation(section)
        yield f'<table data-symbol="{escape(section.symbol)}">'
        yield from _listed(section) if section.listed else _table(section)
        yield "</table></div>"
    yield "</details>"


def _equation(section: Section) -> str:
    parts = [row for row in section.rows if not row.total]
    terms = [_term(row.name, row.latex, k) for k, row in enumerate(parts)]
    left = f"<math>{mathml(section.latex + ' =')}</math>"
    return f'<div class="equation">{left} {" ".join(terms)}</div>'


def _term(name: str, latex: str, k: int) -> str:
    term = marked(name, latex, first=k == 0)
    return term.replace("<mrow data-term", f'<mrow data-k="{k}" data-term', 1)


def _table(section: Section) -> Iterator[str]:
    names = "".join(f'<th class="n">{escape(text)}</th>' for text, _ in section.columns)
    yield f"<tr>{_head(section)}<th><small>{_meaning(section)}</small></th>{names}</tr>"
    for k, (row, cells) in enumerate(zip(section.rows, section.cells(), strict=True)):
        columns = [text for text, _ in section.columns]
        numbers = "".join(map(_number, cells, columns if section.by_cause else [""] * len(cells)))
        kind, text = "formula", f"<math>{mathml(row.latex)}</math>" if row.latex else ""
        if section.by_cause:
            kind, text = "soft", escape(row.latex)
        mark = _total(row) or f' data-k="{k}"'
        name = f'<td class="name">{_name(section, row)}</td>'
        yield f'<tr{mark}>{name}<td class="{kind}">{text}</td>{numbers}</tr>'


def _listed(section: Section) -> Iterator[str]:
    yield f"<tr>{_head(section)}<th></th><th><small>{_meaning(section)}</small></th></tr>"
    for row in section.rows:
        for k, (label, x) in enumerate(section.entries(row)):
            name = _name(section, row) if k == 0 else ""
            mark = _total(row) if k == 0 else ' class="more"' if row.total else ""
            yield (
                f"<tr{mark}><td class='name'>{name}</td><td class='soft'>{escape(label)}</td>"
                f"<td><code>{escape(expression(x))}</code></td></tr>"
            )


def _head(section: Section) -> str:
    if section.by_cause:
        return "<th></th>"
    unit = section.unit.replace("^2", "²")
    return f"<th><math>{mathml(section.latex)}</math> <small>{escape(unit)}</small></th>"


def _meaning(section: Section) -> str:
    return "" if section.by_cause else escape(section.meaning)


def _number(cell: str, cause: str = "") -> str:
    # the spaces after a zero align it with the decimals of the other rows
    kind = "n zero" if cell.strip() == "0" else "n"
    mark = f' data-cause="{escape(cause)}"' if cause else ""
    return f'<td class="{kind}"{mark}>{escape(cell)}</td>'


def _name(section: Section, row: Row) -> str:
    """A total has its symbol as name, a part has words that may come from a file."""
    if row.total:
        return f"= <math>{mathml(section.latex)}</math>"
    return escape(row.name)


def _total(row: Row) -> str:
    return ' class="total"' if row.total else ""


def unfolded(trees: Sequence[Node], max_rows: int = MAX_ROWS) -> Iterator[str]:
    """Joint forces as nested <details>, as deep as `max_rows` rows allow."""
    depth, count, level = 0, 0, list(trees)
    while level and (depth < 2 or count + len(level) <= max_rows):
        depth, count = depth + 1, count + len(level)
        level = [child for node in level for child in node.children if not _is_product(node)]
    yield '<details class="unfold static"><summary>Joint forces, unfolded</summary>'
    for tree in trees:
        yield from _node(tree, 0, depth, "")
    if level:
        yield f"<p>{len(level)} parts of the next level are left out here.</p>"
    yield "</details>"


def _is_product(node: Node) -> bool:
    """Return True if the children are the products of the components of two vectors."""
    return all(child.name in ("x", "y", "z") for child in node.children)


def _node(node: Node, level: int, depth: int, mark: str) -> Iterator[str]:
    children = () if level + 1 >= depth or _is_product(node) else node.children
    yield f"<details class='part'{mark}><summary>{node.symbol} {escape(node.name)} "
    yield f"<b>{escape(_text(node.value))} {escape(node.unit)}</b></summary>"
    if children:
        terms = [_term(x.name, x.latex, k) for k, x in enumerate(children)]
        left = f"<math>{mathml(node.latex + ' =')}</math>"
        yield f'<div class="equation">{left} {" ".join(terms)}</div>'
    if node.numbers:
        yield f"<table>{''.join(map(_factor, node.numbers))}</table>"
    if node.code is not None:
        line = f"{node.code.file}, line {node.code.line}"
        yield f"<p>{escape(line)}: <code>{escape(node.code.text)}</code></p>"
    for k, child in enumerate(children):
        yield from _node(child, level + 1, depth, f' data-k="{k}"')
    yield "</details>"


def _factor(x: Quantity) -> str:
    place = f"in {x.frame}" if x.frame else ""
    unit = x.unit.replace("^2", "²")
    return (
        f"<tr><td>{escape(x.name)}</td><td>{escape(_text(x.value))}</td>"
        f"<td class='soft'>{escape(unit)}</td><td class='soft'>{escape(place)}</td></tr>"
    )


def _text(value: Value) -> str:
    """A number, a vector in parentheses, or a matrix with semicolons between its rows."""
    if not isinstance(value, tuple):
        return expression(value)
    rows = ["; ".join(_text(x) for x in value if isinstance(x, tuple))]
    numbers = [expression(x) for x in value if not isinstance(x, tuple)]
    return f"({', '.join(numbers)})" if numbers else rows[0]
