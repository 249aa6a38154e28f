"""Shape and Scene: what is drawn of a robot, as plain records for pages and the workbench."""

from dataclasses import dataclass

from kinetree.core.arrays import Array
from kinetree.files.description.meshes import TriangleMesh

Colour = tuple[int, int, int]  # red, green, blue, 0 to 255

# Distinct with any kind of colour vision, on white and on black.
BODY: Colour = (176, 184, 196)
HOUSING: Colour = (146, 155, 169)
JOINT: Colour = (230, 126, 34)
BASE: Colour = (92, 101, 115)
INERTIA: Colour = (46, 134, 193)
LOOP: Colour = (196, 44, 122)
AXES: tuple[Colour, Colour, Colour] = ((214, 64, 69), (61, 153, 80), (58, 110, 220))

GROUPS = ("body", "joint", "loop", "contact", "ground", "visual", "inertia", "frame")


@dataclass(frozen=True, eq=False)
class Shape:
    """One thing to draw, fixed at a pose in the frame of a link.

    The sizes of kinds, in metres, centred at the origin of T: sphere (radius,); ellipsoid (three
    semi-axes); box (three edges); cylinder (radius, length) along z; capsule (radius, length
    without its round ends) along z; frame (length of its axes,); mesh ().

    Args:
        kind: "sphere", "ellipsoid", "box", "cylinder", "capsule", "frame" or "mesh".
        group: "body" and "joint" are made from the joints, "visual" comes from the robot's file,
            "inertia" is the inertia ellipsoid of a link, "frame" the space and tool frames, "loop"
            the frames that constraints tie, "contact" the points that may touch, "ground" what they
            touch.
        link: number of the link; -1: fixed in {s}.
        T: pose in the link's frame, shape (4, 4), position in m.
        size: sizes as above, m.
        colour: red, green and blue, 0 to 255.
        label: plain text from the robot's file. Escape it before it is put into markup.
        mesh: corners and triangles of a mesh; None: another kind.
    """

    kind: str
    group: str
    link: int
    T: Array
    size: tuple[float, ...]
    colour: Colour
    label: str
    mesh: TriangleMesh | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """The shapes of a robot; `extent`, m, is the size of the robot, which scales what is drawn.

    Args:
        name: name of the robot.
        extent: size of the robot, m, which scales what is drawn.
        shapes: the shapes.
        remarks: notes on parts that could not be drawn.
    """

    name: str
    extent: float
    shapes: tuple[Shape, ...]
    remarks: tuple[str, ...] = ()  # visuals of the file that could not be drawn, and why

    def of(self, *groups: str) -> tuple[Shape, ...]:
        """Shapes of the given groups.

        Args:
            groups: some of GROUPS: "body", "joint", "loop", "contact", "ground", "visual",
                "inertia", "frame".
        """
        return tuple(shape for shape in self.shapes if shape.group in groups)

    @property
    def shown(self) -> tuple[str, ...]:
        """Groups that are drawn at first: the file's visuals if complete, else the bodies too."""
        groups = {shape.group for shape in self.shapes}
        has_visuals = "visual" in groups
        loops = tuple(x for x in ("loop", "ground") if x in groups)
        if has_visuals and not self.remarks:
            return ("visual", *loops, "frame")
        return ("body", "joint", *loops, "visual", "frame")
