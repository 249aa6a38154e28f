"""Frames of an SDF file: names, poses relative to each other, and attachment to bodies.

Links, joints, models and <frame> elements all are frames. A frame has a pose in its base (the frame
of relative_to, or the default of its kind) and is fixed to a body (a link or the world). All frames
of a file are in one dictionary: frame b of the nested model a of the robot r is `r::a::b`. Names in
the file are looked up behind the names of the models around them.

The pose of one frame in another is the product along the shortest way between them. A link that is
given relative to its parent therefore has exactly the pose of the file, without rounding.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from kinetree.core.arrays import Array, times
from kinetree.errors import ParseError
from kinetree.files.description.findings import fault
from kinetree.files.description.sdf.format import MODEL_FRAME, SEPARATOR, WORLD
from kinetree.files.description.tree import suggestion
from kinetree.files.description.xml import Element, show
from kinetree.spatial.se3 import inverse

LINK, JOINT, FRAME, MODEL = "link", "joint", "frame", "model"
MOST_STEPS = 4000  # of poses relative to each other in a row


@dataclass(eq=False)
class Frame:
    """A frame: its pose T in its base, and the names that it refers to.

    name: unique in the robot. known: all frames of the file. scope: put before the names that it
    refers to. model: that it stands in. inner: of a model, put before the names in it. placement:
    the frame in a model whose pose the pose of the model is.
    """

    name: str
    kind: str
    element: Element
    known: dict[str, "Frame"] = field(repr=False)
    scope: str = ""
    model: "Frame | None" = None
    T: Array = field(default_factory=lambda: np.eye(4))
    relative_to: str = ""
    attached_to: str = ""
    placement: str = ""
    inner: str = ""

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return WORLD if self.kind == WORLD else f"{self.kind} {show(self.name)}"

    def add(self, key: str) -> "Frame":
        """Put the frame among the others; raise ParseError if one of them has its key."""
        if key in self.known:
            first = self.known[key]
            text = f"a {self.kind} and a {first.kind} (line {first.element.line}) are both called "
            owner = self.model.label if self.model else WORLD
            raise fault(self.element, owner, f"{text}{show(self.name)}; rename one of them.")
        self.known[key] = self
        return self

    def lookup(self, name: str, what: str, element: Element | None = None) -> "Frame":
        """The frame of a name beside this one; `what`: the attribute or element that has it."""
        return self._found(name, self.scope, self.model, what, element)

    def _found(
        self, name: str, scope: str, model: "Frame | None", what: str, element: Element | None
    ) -> "Frame":
        if name == MODEL_FRAME and model is not None:
            return model
        key = f"{scope}{name}"  # files of SDF 1.7 have frames that are called a::__model__
        for known in (key, key.removesuffix(f"{SEPARATOR}{MODEL_FRAME}")):
            if known in self.known:
                return self.known[known]
        text = f"{what} is {show(name)}, which is not a frame of {model.label if model else WORLD}."
        if name == WORLD:
            text = f"{what} is 'world'; only <parent> of a joint in a model can name the world."
        names = [x.removeprefix(scope) for x in self.known if x.startswith(scope)]
        text += suggestion(name, [x for x in names if SEPARATOR not in x]) if names else ""
        raise fault(element or self.element, self.label, text)

    def inside(self, name: str, what: str) -> "Frame":
        """The frame of a name in this model."""
        return self._found(name, self.inner, self, what, None)

    def base(self) -> "Frame | None":
        """The frame that the pose is relative to; None for the world."""
        if self.relative_to:
            return self.lookup(self.relative_to, "relative_to of <pose>")
        if self.kind in (FRAME, JOINT) and self.attached_to:
            return self.attached()
        return self.model

    def attached(self) -> "Frame | None":
        """The frame that this one is fixed to; None for a link and the world."""
        if self.kind in (LINK, WORLD):
            return None
        if self.kind != MODEL:
            what = "<child>" if self.kind == JOINT else "attached_to"
            return self.lookup(self.attached_to, what) if self.attached_to else self.model
        if not self.attached_to:
            raise fault(self.element, self.label, "the model has no link to attach a frame to.")
        return self.inside(self.attached_to, "canonical_link of <model>")

    def edge(self) -> Array:
        """Pose in the base."""
        if not self.placement:
            return self.T
        return times(self.T, inverse(between(self, self.inside(self.placement, "placement_frame"))))


def _trail(frame: Frame, follow: Callable[[Frame], Frame | None], what: str) -> list[Frame]:
    """The frames from one to the next, up to the one after which `follow` gives None."""
    trail: dict[int, Frame] = {}
    after: Frame | None = frame
    while after is not None:
        if id(after) in trail or len(trail) > MOST_STEPS:
            names = " -> ".join(x.label for x in [*list(trail.values())[-6:], after])
            raise ParseError(f"{after.element.place}: {what} in a circle: {names}. Change one.")
        trail[id(after)] = after
        after = follow(after)
    return list(trail.values())


def _bases(frame: Frame) -> list[Frame]:
    return _trail(frame, Frame.base, "poses are relative to each other")


def body_of(frame: Frame) -> Frame:
    """The link, or the world, that a frame is fixed to."""
    return _trail(frame, Frame.attached, "frames are attached to each other")[-1]


def between(a: Frame, b: Frame) -> Array:
    """Pose of frame b in frame a, shape (4, 4)."""
    over_a, over_b = _bases(a), _bases(b)
    while over_a and over_b and over_a[-1] is over_b[-1]:
        over_a.pop()
        over_b.pop()
    T_xa, T_xb = (reduce(_moved, over, np.eye(4)) for over in (over_a, over_b))
    return times(inverse(T_xa), T_xb) if over_a else T_xb


def _moved(T: Array, frame: Frame) -> Array:
    return times(frame.edge(), T)


def check_references(frames: Iterable[Frame]) -> None:
    """Raise ParseError if a frame names one that does not exist, also where no pose needs it."""
    for frame in frames:
        if frame.attached_to or frame.kind == MODEL:
            body_of(frame)
        _bases(frame)
        frame.edge()
