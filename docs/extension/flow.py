"""Diagrams of boxes and arrows, as SVG in the style of the sketches; coordinates are pixels."""

from dataclasses import dataclass, field
from html import escape
from math import hypot

from extension.sketch import FONT, text, text_width

LINE = 19.0  # pixels from one line of text to the next


@dataclass(frozen=True)
class Box:
    """A box: its centre and size."""

    x: float
    y: float
    width: float
    height: float

    def edge(self, toward: "Box") -> tuple[float, float]:
        """Where the line from the centre to another box leaves this one."""
        dx, dy = toward.x - self.x, toward.y - self.y
        across = self.width / 2 / abs(dx) if dx else float("inf")
        down = self.height / 2 / abs(dy) if dy else float("inf")
        share = min(across, down, 1.0)
        return self.x + share * dx, self.y + share * dy


@dataclass
class Flow:
    """A diagram that grows by boxes, arrows and words."""

    down: bool = False  # arrows leave boxes below and enter them above
    parts: list[str] = field(default_factory=list)
    arrows: list[str] = field(default_factory=list)  # below the boxes
    spans: list[tuple[float, float]] = field(default_factory=list)

    def box(self, x: float, y: float, words: str, *, kind: str = "fill", width: float = 0.0) -> Box:
        """A box around lines of words, letters between `$`; the first of several is strong."""
        lines = [plain(line) for line in words.split("\n")]
        wide = (
            width
            or max(text_width(line) * (1.1 if k == 0 else 0.92) for k, line in enumerate(lines))
            + 26
        )
        high = LINE * len(lines) + 13
        left, top = x - wide / 2, y - high / 2
        self.parts.append(
            f'<rect class="k-{kind}" x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" '
            f'height="{high:.1f}" rx="6"/>'
        )
        first = y - LINE * (len(lines) - 1) / 2 + 0.34 * FONT
        for k, line in enumerate(lines):
            kind_of = "strong" if k == 0 and len(lines) > 1 else "k-soft" if k else ""
            self.parts.append(text(x, first + k * LINE, line, kind_of))
        self.spans += [(left, top), (left + wide, top + high)]
        return Box(x, y, wide, high)

    def arrow(
        self, a: Box, b: Box, words: str = "", *, kind: str = "accent", bend: float = 0.0
    ) -> None:
        """An arrow between boxes, bent to its left by `bend` pixels, with words at its middle."""
        apart = abs(b.x - a.x) - (a.width + b.width) / 2
        if self.down and not bend:
            x1, y1, x2, y2 = a.x, a.y + a.height / 2, b.x, b.y - b.height / 2
            reach = min(0.5 * (y2 - y1), 60.0)
            c1, c2, end = (x1, y1 + reach), (x2, y2 - reach), (0.0, 1.0)
        elif apart > 12 and not bend:
            sign = 1 if b.x > a.x else -1
            x1, y1, x2, y2 = a.x + sign * a.width / 2, a.y, b.x - sign * b.width / 2, b.y
            c1, c2, end = (x1 + sign * apart / 2, y1), (x2 - sign * apart / 2, y2), (sign, 0.0)
        else:
            (x1, y1), (x2, y2) = a.edge(b), b.edge(a)
            length = hypot(x2 - x1, y2 - y1) or 1.0
            nx, ny = (y2 - y1) / length, -(x2 - x1) / length
            c1 = c2 = ((x1 + x2) / 2 + 1.4 * bend * nx, (y1 + y2) / 2 + 1.4 * bend * ny)
            size = hypot(x2 - c2[0], y2 - c2[1]) or 1.0
            end = ((x2 - c2[0]) / size, (y2 - c2[1]) / size)
        mx, my = (x1 + x2 + 3 * c1[0] + 3 * c2[0]) / 8, (y1 + y2 + 3 * c1[1] + 3 * c2[1]) / 8
        self.arrows.append(
            f'<path class="k-{kind}" d="M{x1:.1f} {y1:.1f}C{c1[0]:.1f} {c1[1]:.1f} '
            f'{c2[0]:.1f} {c2[1]:.1f} {x2:.1f} {y2:.1f}"/>'
        )
        self.head(x2, y2, *end, kind)
        if words:
            words = plain(words)
            level = abs(x2 - x1) > abs(y2 - y1)  # an arrow to the side has its words above it
            shift = (0, -8) if level else (text_width(words) / 2 + 8, 0.3 * FONT)
            self.parts.append(text(mx + shift[0], my + shift[1], words, f"k-{kind}"))
            wide = text_width(words) / 2
            self.spans += [
                (mx + shift[0] - wide, my + shift[1] - 14),
                (mx + shift[0] + wide, my + shift[1] + 6),
            ]
        self.spans += [(mx, my)]

    def path(self, points: list[tuple[float, float]], *, kind: str = "accent") -> None:
        """An arrow along straight pieces."""
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.parts.append(f'<path class="k-{kind}" d="M{way}"/>')
        (x1, y1), (x2, y2) = points[-2:]
        length = hypot(x2 - x1, y2 - y1) or 1.0
        self.head(x2, y2, (x2 - x1) / length, (y2 - y1) / length, kind)
        self.spans += points

    def head(self, x: float, y: float, dx: float, dy: float, kind: str, size: float = 9.0) -> None:
        """An arrow head with its tip at a point."""
        bx, by, side = x - size * dx, y - size * dy, 0.38 * size
        self.parts.append(
            f'<path class="k-{kind} full" d="M{x:.1f} {y:.1f}L{bx - side * dy:.1f} '
            f'{by + side * dx:.1f}L{bx + side * dy:.1f} {by - side * dx:.1f}Z"/>'
        )

    def words(
        self, x: float, y: float, words: str, kind: str = "k-soft", anchor: str = "middle"
    ) -> None:
        """Words at a point, letters between `$`."""
        words = plain(words)
        self.parts.append(text(x, y + 0.34 * FONT, words, kind, anchor))
        wide = 1.15 * text_width(words)  # an estimate: other fonts are wider
        left = x - {"middle": wide / 2, "start": 0.0, "end": wide}[anchor]
        self.spans += [(left, y - 10), (left + wide, y + 10)]

    def cell(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """A filled rectangle with its upper left corner at a point."""
        self.parts.append(
            f'<rect class="k-{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}"/>'
        )
        self.spans += [(x, y), (x + width, y + height)]

    def svg(self, title: str) -> str:
        """The diagram."""
        left, top = min(x for x, _ in self.spans) - 8, min(y for _, y in self.spans) - 8
        width = max(x for x, _ in self.spans) + 8 - left
        height = max(y for _, y in self.spans) + 8 - top
        return (
            f'<svg class="sketch" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" '
            f'aria-label="{escape(title, quote=True)}">{"".join(self.arrows + self.parts)}</svg>'
        )


def plain(words: str) -> str:
    """Words in which only letters between `$` are set as such."""
    return words if "$" in words else f"{words}$$"
