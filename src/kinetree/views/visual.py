"""Visual: one shape of the look that a robot's file gives to a link."""

from dataclasses import dataclass

from kinetree.base.arrays import Array
from kinetree.views.shapes import BODY, Colour, TriangleMesh


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape in the frame of the link called `link`; kind and size as in Shape.

    path: of a mesh, as the file writes it; `size` is then the scale along x, y, z.
    """

    link: str
    kind: str
    T: Array
    size: tuple[float, ...]
    colour: Colour = BODY
    path: str = ""
    mesh: TriangleMesh | None = None
