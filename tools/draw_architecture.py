"""Draw the rooms of kinetree and their imports: docs/pictures/architecture.svg.

    python tools/draw_architecture.py          write the drawing
    python tools/draw_architecture.py --check  compare it with the code, exit 1 where it differs

An arrow leads from a room to one that it imports. Arrows that follow from others are left out: if
A imports B and B imports C, the arrow from A to C is not drawn.
"""

import sys
from itertools import pairwise

from source_map import ROOT, cycles, room_graph

PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
FRONT = ("__init__", "__main__", "files")  # import everything that is public, or nothing; not drawn
BOX, GAP, ROW = 120, 22, 62  # width of a box, distance of boxes and of rows, px

# A picture has no access to the style of the page, and follows the colours of the reader's system.
STYLE = """<style>
rect { fill: #e8f0f7; stroke: #5b7083; } text { fill: #1c2430; }
.edge { fill: none; stroke: #5b7083; } .tip { fill: #5b7083; }
@media (prefers-color-scheme: dark) {
rect { fill: #1d232b; stroke: #9aa6b4; } text { fill: #e4e9f0; }
.edge { stroke: #9aa6b4; } .tip { fill: #9aa6b4; }
}
</style>"""

Graph = dict[str, set[str]]


def rooms() -> Graph:
    """The room graph without the package's own front files."""
    return {
        name: {x for x in others if x not in FRONT}
        for name, others in room_graph().items()
        if name not in FRONT
    }


def levels(graph: Graph) -> dict[str, int]:
    """Row of every room: one below the lowest room that it imports."""
    found: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in found:
            found[name] = 1 + max((level(x) for x in graph[name]), default=-1)
        return found[name]

    for name in graph:
        level(name)
    return found


def reduction(graph: Graph) -> Graph:
    """The graph without edges that follow from longer ways."""

    def reach(name: str) -> set[str]:
        return {name}.union(*(reach(x) for x in graph[name]))

    return {
        name: {x for x in others if not any(x in reach(y) for y in others - {x})}
        for name, others in graph.items()
    }


def rows_of(graph: Graph) -> tuple[list[list[str]], Graph]:
    """Rooms by row, and what each is drawn below; long arrows pass a row at a node of their own."""
    level, drawn = levels(graph), reduction(graph)
    rows: list[list[str]] = [[] for _ in range(1 + max(level.values()))]
    above: Graph = {name: set() for name in graph}
    for name in graph:
        rows[level[name]].append(name)
    for name, others in drawn.items():
        for other in others:
            way = [name, *(f"{name}>{other}" for _ in range(level[other] + 1, level[name])), other]
            nodes = [x if x in graph else f"{x}@{level[name] - k}" for k, x in enumerate(way)]
            for k, (node, following) in enumerate(pairwise(nodes)):
                above.setdefault(node, set()).add(following)
                if k:
                    rows[level[name] - k].append(node)
    return rows, above


def placed(graph: Graph) -> dict[str, tuple[float, float]]:
    """Centre of every box and of every bend; within a row they stand below what they lead to."""
    rows, above = rows_of(graph)
    centres: dict[str, tuple[float, float]] = {}

    def wish(name: str) -> tuple[float, str]:
        places = [centres[x][0] for x in above[name]]
        return (sum(places) / len(places) if places else 0.0, name)

    for row, names in enumerate(rows):
        names.sort(key=wish)
        widths = [BOX + GAP if name in graph else GAP for name in names]
        left = -sum(widths) / 2
        for name, width in zip(names, widths, strict=True):
            centres[name] = left + width / 2, row * ROW + 30.0
            left += width
    shift = BOX / 2 + GAP - min(x for x, _ in centres.values())
    return {name: (x + shift, y) for name, (x, y) in centres.items()}


def svg(graph: Graph) -> str:
    """The drawing as text."""
    centres, (_, above) = placed(graph), rows_of(graph)
    width = max(x for x, _ in centres.values()) + BOX / 2 + GAP
    height = max(y for _, y in centres.values()) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="sans-serif" font-size="13">',
        STYLE,
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto">'
        '<path class="tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>',
    ]
    for name, others in sorted(reduction(graph).items()):
        for other in sorted(others):
            lines.append(arrow(name, other, graph, centres, above))
    for name in sorted(graph):
        x, y = centres[name]
        lines.append(
            f'<rect x="{x - BOX / 2:.0f}" y="{y - 14:.0f}" width="{BOX}" height="28" rx="5"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}" '
            f'text-anchor="middle">{name}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def arrow(
    name: str, other: str, graph: Graph, centres: dict[str, tuple[float, float]], above: Graph
) -> str:
    """One arrow, from the top of a box through its bends to the bottom of another."""
    x, y = centres[name][0], centres[name][1] - 14
    path, node = f"M{x:.0f},{y:.0f}", name
    while node != other:
        bends = [n for n in above[node] if n.startswith(f"{name}>{other}@")]
        node = bends[0] if bends else other
        u, v = centres[node]
        v = v + 14 if node in graph else v
        path += f" C{x:.0f},{(y + v) / 2:.0f} {u:.0f},{(y + v) / 2:.0f} {u:.0f},{v:.0f}"
        x, y = u, v
    return f'<path class="edge" data-edge="{name}>{other}" d="{path}" marker-end="url(#tip)"/>'


def main() -> int:
    """Write the drawing, or compare it with the code."""
    graph = rooms()
    for knot in cycles(graph):
        print(f"These rooms import one another: {', '.join(knot)}.")
        return 1
    drawing = svg(graph)
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(drawing)
    elif PICTURE.read_text() != drawing:
        print(f"{PICTURE.relative_to(ROOT)} does not show the imports of the code.")
        print("Run python tools/draw_architecture.py and commit what it writes.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
