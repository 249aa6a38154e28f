"""Frames of an SDF file: scopes of names, poses relative to each other, and attachment.

Links, joints, models and <frame> elements all are frames. A frame has a pose in its base (the frame
of relative_to, or the default of its kind) and is fixed to a body (a link or the world). Names are
looked up in the scope of the model that they stand in; `a::b` is frame b of the nested model a.

The pose of one frame in another is the product along the shortest way between them. A link that is
given relative to its parent therefore has exactly the pose of the file, without rounding.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

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

    name: unique in the robot. scope: in which `relative_to` and `attached_to` are looked up; of a
    model, that around it. inner: the scope of a model's own content. placement: the frame in
    `inner` whose pose the pose of a model is.
    """

    name: str
    kind: str
    element: Element
    scope: "Scope"
    T: Array
    relative_to: str = ""
    attached_to: str = ""
    placement: str = ""
    inner: "Scope | None" = None
    base: "Frame | None" = None  # set by `settle`
    depth: int = -1  # number of bases up to the world; -1: not known yet
    edge: Array | None = None  # pose in the base, placement frame applied

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return WORLD if self.kind == WORLD else f"{self.kind} {show(self.name)}"


@dataclass(eq=False)
class Scope:
    """The frames of a model or of the world by their local names, in the order of the file.

    prefix: put before a local name to make it unique in the robot.
    """

    prefix: str
    owner: str
    origin: Frame = field(init=False)
    frames: dict[str, Frame] = field(default_factory=dict)
    is_static: bool = False

    def add(self, local: str, frame: Frame) -> None:
        """Add a frame; raise ParseError if the scope has one of that name."""
        if local in self.frames:
            other = self.frames[local]
            raise fault(
                frame.element,
                self.owner,
                f"a {frame.kind} and a {other.kind} (line {other.element.line}) are both called "
                f"{show(local)}; links, joints, frames and models need different names.",
            )
        self.frames[local] = frame

    def every(self) -> list[Frame]:
        """All frames of the scope and of the models in it, in the order of the file."""
        found: dict[int, Frame] = {}
        waiting = list(reversed(self.frames.values()))
        while waiting:
            frame = waiting.pop()
            if id(frame) not in found:
                found[id(frame)] = frame
                waiting += [] if frame.inner is None else reversed(frame.inner.frames.values())
        return list(found.values())


def lookup(scope: Scope, name: str, element: Element, owner: str, what: str) -> Frame:
    """The frame of a name as seen from a scope; `what` is the attribute or element that has it."""
    here, rest = scope, name
    while True:
        if rest == MODEL_FRAME or (rest == WORLD and here.origin.kind == WORLD):
            return here.origin
        if rest in here.frames:
            return here.frames[rest]
        outer, separator, rest = rest.partition(SEPARATOR)
        inner = here.frames[outer].inner if separator and outer in here.frames else None
        if inner is None:
            break
        here = inner
    if name == WORLD:
        text = "only <parent> of a joint can name the world from inside a model"
        raise fault(element, owner, f"{what} is 'world'; {text}.")
    hint = suggestion(name, here.frames) if here.frames else ""
    text = f"{what} is {show(name)}, which is not a frame of {here.owner}."
    raise fault(element, owner, f"{text}{hint}")


def _trail(
    frame: Frame, follow: Callable[[Frame], Frame | None], what: str, remedy: str
) -> list[Frame]:
    """The frames from one to the next, up to the one after which `follow` gives None."""
    trail: dict[int, Frame] = {}
    after: Frame | None = frame
    while after is not None:
        if id(after) in trail:
            circle = list(trail.values())[list(trail).index(id(after)) :]
            names = " -> ".join(x.label for x in [*circle[:6], after])
            raise ParseError(f"{after.element.place}: {what} in a circle: {names}. {remedy}")
        trail[id(after)] = after
        after = follow(after)
    return list(trail.values())


def settle(frame: Frame) -> None:
    """Set base and depth of a frame and of all its bases; raise ParseError for a circle."""
    what, remedy = "poses are relative to each other", "Give one of them relative to the model."
    for x in reversed(_trail(frame, lambda x: _base(x) if x.depth < 0 else None, what, remedy)):
        if x.depth < 0:
            x.base = _base(x)
            x.depth = x.base.depth + 1
        if x.depth > MOST_STEPS:
            raise ParseError(
                f"{x.element.place}: {x.label} is the end of more than {MOST_STEPS} poses that are "
                "relative to each other; give some of them relative to the model."
            )


def _base(frame: Frame) -> Frame:
    """The frame that the pose of a frame is relative to."""
    name, scope = frame.relative_to, frame.scope
    if name:
        return lookup(scope, name, frame.element, frame.label, "relative_to of <pose>")
    if frame.kind in (FRAME, JOINT) and frame.attached_to:
        return attached(frame)
    return scope.origin


def attached(frame: Frame) -> Frame:
    """The frame that a frame names as the one that it is attached to."""
    what = {JOINT: "<child>", MODEL: "canonical_link of <model>"}.get(frame.kind, "attached_to")
    scope = frame.scope if frame.inner is None else frame.inner
    if not frame.attached_to:
        return scope.origin
    return lookup(scope, frame.attached_to, frame.element, frame.label, what)


def body_of(frame: Frame) -> Frame:
    """The link, or the world, that a frame is fixed to."""
    what, remedy = "frames are attached to each other", "Attach one of them to a link."
    return _trail(frame, _next_attached, what, remedy)[-1]


def _next_attached(frame: Frame) -> Frame | None:
    if frame.kind in (LINK, WORLD):
        return None
    if frame.kind == MODEL and not frame.attached_to:
        raise fault(frame.element, frame.label, "the model has no link to attach a frame to.")
    return attached(frame)


def check_references(frames: Iterable[Frame]) -> None:
    """Raise ParseError if a frame names one that does not exist, also where no pose needs it."""
    for frame in frames:
        if frame.attached_to:
            body_of(frame)
        settle(frame)
        if frame.placement and frame.inner is not None:
            _edge(frame)


def between(a: Frame, b: Frame) -> Array:
    """Pose of frame b in frame a, shape (4, 4)."""
    settle(a)
    settle(b)
    T_xa, T_xb = np.eye(4), np.eye(4)
    moved_a = False
    while a is not b:
        if a.depth >= b.depth:
            T_xa, a, moved_a = times(_edge(a), T_xa), a.base or a, True
        else:
            T_xb, b = times(_edge(b), T_xb), b.base or b
    return times(inverse(T_xa), T_xb) if moved_a else T_xb


def _edge(frame: Frame) -> Array:
    """Pose of a frame in its base."""
    if frame.edge is None:
        frame.edge = frame.T
        if frame.placement and frame.inner is not None:
            what = "placement_frame"
            placed = lookup(frame.inner, frame.placement, frame.element, frame.label, what)
            frame.edge = times(frame.T, inverse(between(frame, placed)))
    return frame.edge


def unique_name(name: str, taken: Iterable[str]) -> str:
    """`name`, with underscores behind it until it is not taken."""
    used = set(taken)
    while name in used:
        name += "_"
    return name


def new_world(element: Element) -> Scope:
    """The scope of the world, with the world as its origin."""
    scope = Scope("", WORLD)
    scope.origin = Frame(WORLD, WORLD, element, scope, np.eye(4), depth=0)
    return scope
