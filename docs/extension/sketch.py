"""Line drawings of points in space as SVG: lines, arrows, frames, joints, dimensions, labels.

A drawing collects marks in space (metres) and labels, and `svg` projects them without perspective,
fits them to a width, and places each label where it covers least. Colours are classes of
docs/_static/figures.css, so that a drawing follows the light and dark theme of the page.

Labels are text with subscripts and superscripts: "V_1", "F_{ext,1}", "T_{sb}", "dV_i" (a V with a
dot), "tau_1" (Greek letters by name), "{s}" (the name of a frame).
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from math import cos, hypot, pi, radians, sin

import numpy as np

Point = Sequence[float]
FONT = 15  # pixels
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eta": "η", "theta": "θ",
    "lambda": "λ", "mu": "μ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "Phi": "Φ",
    "omega": "ω", "Lambda": "Λ", "Delta": "Δ", "pi": "π",
}  # fmt: skip
DOTTED = {"dV": ("V", "˙"), "dq": ("q", "˙"), "ddq": ("q", "¨"), "dtheta": ("θ", "˙")}
ADVANCE = {"V": 0.6, "M": 0.97, "F": 0.65, "I": 0.45, "m": 0.88, "ω": 0.63, "w": 0.72, "i": 0.35,
           "t": 0.37, "l": 0.3, "r": 0.46, "f": 0.5}  # of letters of the math font, em  # fmt: skip
NARROW = " ,.;:{}()[]|ijltfr'"
PIECE = re.compile(r"([_^])(?:\{([^}]*)\}|(\w))|([A-Za-z]+)|(.)", re.DOTALL)


@dataclass(frozen=True)
class View:
    """A direction of sight: unit vectors to the right and up, of the picture."""

    right: np.ndarray
    up: np.ndarray

    @property
    def eye(self) -> np.ndarray:
        """Direction from the scene to the eye."""
        return np.cross(self.right, self.up)

    def flat(self, p: Point) -> np.ndarray:
        """Coordinates of a point in the picture, still in metres."""
        return np.array([self.right @ p, self.up @ p])


def plane(name: str) -> View:
    """A view onto a plane: "xy" has x to the right and y up."""
    axes = dict(zip("xyz", np.eye(3), strict=True))
    return View(axes[name[0]], axes[name[1]])


def above(azimuth: float = 35.0, elevation: float = 20.0) -> View:
    """A view from above, z up; azimuth of the eye from x about z, degrees."""
    a, e = radians(azimuth), radians(elevation)
    eye = np.array([cos(e) * cos(a), cos(e) * sin(a), sin(e)])
    right = np.array([-sin(a), cos(a), 0.0])
    return View(right, np.cross(eye, right))


@dataclass
class Mark:
    """A mark: a path through points in space, or a symbol of fixed size in pixels at a point."""

    points: list[np.ndarray]
    kind: str
    symbol: str = ""  # "", head, dot, ring, com, toward, away
    size: float = 0.0
    closed: bool = False


@dataclass
class Label:
    """Words beside a point in space."""

    point: np.ndarray
    words: str
    kind: str
    toward: tuple[float, float]  # preferred side, in the picture, x right and y up
    distance: float


@dataclass
class Sketch:
    """A drawing; coordinates are in metres, sizes of symbols in pixels."""

    view: View = field(default_factory=above)
    marks: list[Mark] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def line(self, points: Iterable[Point], kind: str = "ink", *, closed: bool = False) -> None:
        """A line through points."""
        self.marks.append(Mark([np.asarray(p, float) for p in points], kind, closed=closed))

    def arrow(
        self,
        start: Point,
        end: Point,
        kind: str = "accent",
        label: str = "",
        *,
        double: bool = False,
    ) -> None:
        """An arrow, with its label at the tip; double: two heads, for a moment."""
        a, b = np.asarray(start, float), np.asarray(end, float)
        if np.linalg.norm(self.view.flat(b - a)) < 0.12 * max(np.linalg.norm(b - a), 1e-12):
            way = "toward" if (b - a) @ self.view.eye > 0 else "away"
            self.marks.append(Mark([a], kind, way, 6.0))
            if label:
                self.label(a, label, kind, distance=9.0)
            return
        self.marks.append(Mark([a, b], kind))
        self.marks.append(Mark([a, b], kind, "head", 10.0))
        if double:
            self.marks.append(Mark([a, b - 1e-9 * (b - a)], kind, "head2", 10.0))
        if label:
            flat = self.view.flat(b - a)
            x, y = flat / (np.linalg.norm(flat) or 1.0)
            self.label(b, label, kind, (float(x), float(y)))

    def dot(self, p: Point, kind: str = "ink", label: str = "", size: float = 3.5) -> None:
        """A dot."""
        self.marks.append(Mark([np.asarray(p, float)], kind, "dot", size))
        if label:
            self.label(p, label, kind)

    def ring(self, p: Point, kind: str = "ink", size: float = 6.0) -> None:
        """A joint seen along its axis, or a point."""
        self.marks.append(Mark([np.asarray(p, float)], kind, "ring", size))

    def com(self, p: Point, label: str = "", kind: str = "mass", size: float = 8.0) -> None:
        """A centre of mass: a disc with two filled quarters."""
        self.marks.append(Mark([np.asarray(p, float)], kind, "com", size))
        if label:
            self.label(p, label, kind, distance=size + 4)

    def link(self, start: Point, end: Point, kind: str = "link") -> None:
        """A body between two points: a thick line with round ends."""
        self.line([start, end], kind)

    def frame(self, T: np.ndarray, size: float, name: str = "", axes: str = "xyz") -> None:
        """A frame: its axes in red, green and blue, with its name at the origin."""
        T = np.asarray(T, float)
        for k, axis in enumerate("xyz"):
            if axis in axes:
                self.arrow(T[:3, 3], T[:3, 3] + size * T[:3, k], f"axis-{axis}")
        if name:
            middle = -T[:3, :3].sum(axis=1) if axes == "xyz" else -T[:3, 0] - T[:3, 1]
            x, y = self.view.flat(middle)
            length = hypot(x, y) or 1.0
            self.label(T[:3, 3], name, "frame", (x / length, y / length), distance=10.0)

    def turn(
        self,
        centre: Point,
        axis: Point,
        radius: float,
        kind: str = "accent",
        label: str = "",
        *,
        start: float = -40.0,
        sweep: float = 280.0,
        first: Point | None = None,
    ) -> None:
        """An arc with an arrow head about an axis; angles in degrees, from `first`."""
        z = np.asarray(axis, float) / np.linalg.norm(axis)
        helper = np.asarray(first, float) if first is not None else np.eye(3)[np.argmin(np.abs(z))]
        x = helper - (helper @ z) * z
        x /= np.linalg.norm(x)
        y = np.cross(z, x)
        count = max(8, round(abs(sweep) / 6))
        angles = [radians(start + sweep * k / count) for k in range(count + 1)]
        points = [np.asarray(centre, float) + radius * (cos(a) * x + sin(a) * y) for a in angles]
        self.marks.append(Mark(points, kind))
        self.marks.append(Mark([points[-2], points[-1]], kind, "head", 9.0))
        if label:
            middle = points[len(points) // 2]
            out = self.view.flat(middle - np.asarray(centre, float))
            out = out / (np.linalg.norm(out) or 1.0)
            self.label(middle, label, kind, (float(out[0]), float(out[1])))

    def dimension(self, start: Point, end: Point, label: str, off: Point = (0, 0, 0)) -> None:
        """A length between two points, drawn at an offset, with thin lines to the points."""
        a, b, off = (np.asarray(x, float) for x in (start, end, off))
        if np.linalg.norm(off) > 0:
            self.line([a, a + 1.15 * off], "thin")
            self.line([b, b + 1.15 * off], "thin")
        a, b = a + off, b + off
        self.line([a, b], "measure")
        self.marks.append(Mark([a, b], "measure", "head", 7.0))
        self.marks.append(Mark([b, a], "measure", "head", 7.0))
        x, y = self.view.flat(off)
        length = hypot(x, y) or 1.0
        self.label((a + b) / 2, label, "measure", (x / length, y / length), distance=7.0)

    def ground(self, p: Point, along: Point, width: float, depth: Point) -> None:
        """A hatched line through p: what does not move."""
        a, d = np.asarray(along, float), np.asarray(depth, float)
        p = np.asarray(p, float)
        self.line([p - width / 2 * a, p + width / 2 * a], "ground")
        for k in range(7):
            foot = p + (k / 6 - 0.5) * width * a
            self.line([foot, foot + d], "thin")

    def label(
        self,
        p: Point,
        words: str,
        kind: str = "ink",
        toward: tuple[float, float] = (0.7, 0.7),
        distance: float = 6.0,
    ) -> None:
        """Words beside a point."""
        self.labels.append(Label(np.asarray(p, float), words, kind, toward, distance))

    def svg(self, title: str, width: float = 560.0, *, height: float = 380.0) -> str:
        """The drawing, at most this wide and high, in pixels."""
        return _Fitted(self, width, height).svg(title)


class _Fitted:
    """A sketch with the scale that fits it into a picture."""

    def __init__(self, sketch: Sketch, width: float, height: float) -> None:
        self.sketch = sketch
        flat = [sketch.view.flat(p) for mark in sketch.marks for p in mark.points]
        low, high = np.min(flat, axis=0), np.max(flat, axis=0)
        margin = 44.0
        span = np.maximum(high - low, 1e-9)
        self.scale = float(min((width - 2 * margin) / span[0], (height - 2 * margin) / span[1]))
        self.low, self.high, self.margin = low, high, margin
        self.boxes: list[tuple[float, float, float, float]] = []
        self.covered: list[tuple[float, float]] = []

    def pixel(self, p: np.ndarray) -> tuple[float, float]:
        """A point in pixels, y down."""
        x, y = self.sketch.view.flat(p)
        return (
            self.margin + self.scale * (x - self.low[0]),
            self.margin + self.scale * (self.high[1] - y),
        )

    def svg(self, title: str) -> str:
        body = [self.mark(mark) for mark in self.sketch.marks]
        words = [self.place(label) for label in self.sketch.labels]
        xs = [x for x, _ in self.covered] + [x for box in self.boxes for x in (box[0], box[2])]
        ys = [y for _, y in self.covered] + [y for box in self.boxes for y in (box[1], box[3])]
        left, top = min(xs) - 10, min(ys) - 10
        width, height = max(xs) + 10 - left, max(ys) + 10 - top
        return (
            f'<svg class="sketch" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" '
            f'aria-label="{escape(title, quote=True)}">{"".join(body)}{"".join(words)}</svg>'
        )

    def mark(self, mark: Mark) -> str:
        points = [self.pixel(p) for p in mark.points]
        if mark.symbol in ("head", "head2"):
            return self.head(points[0], points[-1], mark)
        x, y = points[0]
        r = mark.size
        if not mark.symbol:
            self.cover(points)
            d = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points) + ("Z" if mark.closed else "")
            return f'<path class="k-{mark.kind}" d="{d}"/>'
        self.covered += [(x + r * cos(k), y + r * sin(k)) for k in np.arange(0, 2 * pi, pi / 4)]
        if mark.symbol == "dot":
            return f'<circle class="k-{mark.kind} full" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
        ring = f'<circle class="k-{mark.kind} hollow" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
        if mark.symbol == "toward":
            return ring + f'<circle class="k-{mark.kind} full" cx="{x:.1f}" cy="{y:.1f}" r="2"/>'
        if mark.symbol == "away":
            s = 0.6 * r
            cross = (
                f"M{x - s:.1f} {y - s:.1f}L{x + s:.1f} {y + s:.1f}"
                f"M{x - s:.1f} {y + s:.1f}L{x + s:.1f} {y - s:.1f}"
            )
            return ring + f'<path class="k-{mark.kind}" d="{cross}"/>'
        if mark.symbol == "com":
            quarters = (
                f"M{x:.1f} {y:.1f}V{y - r:.1f}A{r} {r} 0 0 1 {x + r:.1f} {y:.1f}Z"
                f"M{x:.1f} {y:.1f}V{y + r:.1f}A{r} {r} 0 0 1 {x - r:.1f} {y:.1f}Z"
            )
            return ring + f'<path class="k-{mark.kind} full" d="{quarters}"/>'
        return ring

    def head(self, tail: tuple[float, float], tip: tuple[float, float], mark: Mark) -> str:
        dx, dy = tip[0] - tail[0], tip[1] - tail[1]
        length = hypot(dx, dy) or 1.0
        dx, dy, size = dx / length, dy / length, min(mark.size, max(0.6 * length, 5.0))
        if mark.kind != "measure" and len(mark.points) == 2 and mark.size == 9.0:
            size = mark.size  # an arc: its last piece is short
        x, y = tip
        if mark.symbol == "head2":
            x, y = x - 0.8 * size * dx, y - 0.8 * size * dy
        back, side = (x - size * dx, y - size * dy), 0.36 * size
        d = (
            f"M{x:.1f} {y:.1f}L{back[0] - side * dy:.1f} {back[1] + side * dx:.1f}"
            f"L{back[0] + side * dy:.1f} {back[1] - side * dx:.1f}Z"
        )
        return f'<path class="k-{mark.kind} full" d="{d}"/>'

    def cover(self, points: list[tuple[float, float]]) -> None:
        """Note where a line runs, so that labels avoid it."""
        for (a, b), (c, d) in itertools.pairwise(points):
            steps = max(2, int(hypot(c - a, d - b) / 6))
            self.covered += [
                (a + (c - a) * k / steps, b + (d - b) * k / steps) for k in range(steps + 1)
            ]

    def place(self, label: Label) -> str:
        """Put a label where it covers least, near its preferred side."""
        x, y = self.pixel(label.point)
        wide, high = text_width(label.words), 0.78 * FONT
        best, choice = float("inf"), (x, y)
        for ring in (0.0, 7.0, 16.0):
            for k in range(16):
                u, v = cos(k * pi / 8), sin(k * pi / 8)
                reach = label.distance + ring
                cx = x + u * (reach + wide / 2)
                cy = y - v * (reach + high / 2)
                box = (cx - wide / 2 - 2, cy - high / 2 - 2, cx + wide / 2 + 2, cy + high / 2 + 2)
                cost = 1.6 * (1 - (u * label.toward[0] + v * label.toward[1])) + 0.09 * ring
                cost += sum(
                    0.8 for p in self.covered if box[0] < p[0] < box[2] and box[1] < p[1] < box[3]
                )
                cost += sum(9.0 for other in self.boxes if overlap(box, other))
                if cost < best:
                    best, choice, chosen = cost, (cx, cy), box
        self.boxes.append(chosen)
        return text(choice[0], choice[1] + 0.34 * FONT, label.words, f"k-{label.kind}")


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    """Whether two boxes (left, top, right, bottom) share area."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def pieces(words: str) -> list[tuple[str, str]]:
    """Parts of a label: (text, kind), kind "sub", "sup", "letter", "dot" (above) or "plain".

    If words contain `$`, only what stands between two of them is set as letters.
    """
    if "$" in words:
        parts = [part for part in enumerate(words.split("$")) if part[1]]
        return [x for k, part in parts for x in (pieces(part) if k % 2 else [(part, "plain")])]
    if re.search(
        r"(?<![A-Za-z])(?!tau|omega|theta|ddq|dq|dV|lambda|eta|mu|alpha)[A-Za-z]{2,}_", words
    ):
        return [(words, "plain")]  # a name of a file
    if re.fullmatch(r"\{[^}]*\}|[\d.,]+ ?[A-Za-z/ ]*", words):  # a frame, or a number
        return [(words, "plain")]
    found: list[tuple[str, str]] = []
    for shift, group, single, word, other in PIECE.findall(words):
        if shift:
            inner = group or single
            inner = re.sub(r"[A-Za-z]+", lambda m: GREEK.get(m[0], m[0]), inner)
            found.append((inner, "sub" if shift == "_" else "sup"))
        elif word in DOTTED:
            found += [(DOTTED[word][0], "letter"), (DOTTED[word][1], "dot")]
        elif word in GREEK:
            found.append((GREEK[word], "letter"))
        elif word:
            found.append((word, "letter" if len(word) == 1 else "plain"))
        else:
            found.append((other, "plain"))
    return found


def piece_width(part: str, kind: str, size: float = FONT) -> float:
    """Estimated width of one part of a label in pixels; letters are those of the math font."""
    if kind == "letter":
        return 1.13 * size * ADVANCE.get(part, 0.72 if part.isupper() else 0.5)
    share = {"sub": 0.46, "sup": 0.46, "plain": 0.62, "dot": 0.0}[kind]
    return size * sum(0.34 if x in NARROW else share for x in part)


def text_width(words: str, size: float = FONT) -> float:
    """Estimated width in pixels."""
    return sum(piece_width(part, kind, size) for part, kind in pieces(words))


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    """A label at a point in pixels, with subscripts, and dots above letters."""
    parts = pieces(words)
    if any(what == "dot" for _, what in parts):
        return _dotted(x, y, words, kind, anchor)
    spans, raised = [], 0.0
    for part, what in parts:
        wanted = {"sub": 0.24 * FONT, "sup": -0.36 * FONT}.get(what, 0.0)
        shift = f' dy="{wanted - raised:.1f}"' if wanted != raised else ""
        raised = wanted
        style = {"sub": ' class="small"', "sup": ' class="small"', "letter": ' class="letter"'}
        spans.append(f"<tspan{style.get(what, '')}{shift}>{escape(part)}</tspan>")
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{''.join(spans)}</text>"
    )


def _dotted(x: float, y: float, words: str, kind: str, anchor: str) -> str:
    """A label whose parts are placed one by one, so that dots stand above their letters."""
    place = x - text_width(words) * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
    found, middle, letter = [], place, ""
    for part, what in pieces(words):
        if what == "dot":
            top = y - (0.98 if letter.isupper() else 0.74) * FONT
            for shift in (0.0,) if part == "˙" else (-2.2, 2.2):
                found.append(
                    f'<circle class="{kind} full" cx="{middle + 1.4 + shift:.1f}" cy="{top:.1f}" '
                    'r="0.8"/>'
                )
            continue
        wide = piece_width(part, what)
        middle, letter = place + wide / 2, part
        down = {"sub": 0.24 * FONT, "sup": -0.36 * FONT}.get(what, 0.0)
        style = {"sub": " small", "sup": " small", "letter": " letter"}.get(what, "")
        if part.strip():
            found.append(
                f'<text class="{kind}{style}" x="{middle:.1f}" y="{y + down:.1f}" '
                f'text-anchor="middle">{escape(part)}</text>'
            )
        place += wide
    return "".join(found)
