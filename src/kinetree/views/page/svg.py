"""The few elements of SVG that plots are made of; coordinates in pixels, all text escaped."""

from collections.abc import Iterable
from html import escape
from math import ceil, floor, log10


def svg(kind: str, width: float, height: float, title: str, elements: Iterable[str]) -> str:
    """A picture of a class of the style sheet; `title` is told to those who cannot see it."""
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}">{"".join(elements)}</svg>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Words at a point: start, middle or end of them."""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def path(kind: str, d: str) -> str:
    """A line."""
    return f'<path class="{kind}" d="{d}"/>'


def rect(kind: str, x: float, y: float, width: float, height: float, rest: str = "") -> str:
    """A filled rectangle; `rest` are further attributes."""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}"{rest}/>'
    )


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two bounds: multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** floor(log10(rough))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough)
    return [k * step for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def label(x: float) -> str:
    """A tick's number."""
    return f"{x:.6g}".replace("-", "−") if abs(x) > 1e-12 else "0"


def clip(words: str, most: int = 20) -> str:
    """A name short enough for its column."""
    return words if len(words) <= most else words[: most - 1] + "…"
