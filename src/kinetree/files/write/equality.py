"""Constraints of a model as <equality> of MJCF, with the sites that they need.

MuJoCo has connect (points), weld (poses) and joint (a polynomial of one other joint, of degree 4 at
most). A hinge is written as two connects, of points 0.1 m apart on its axis. A frame that is a site
already is used; other frames get a site CONSTRAINT/1 or CONSTRAINT/2. Rods, planes and couplings of
several joints are losses.
"""

from collections.abc import Iterator

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.collisions import unused
from kinetree.files.description.constraints import shifted
from kinetree.files.write.losses import Losses
from kinetree.files.write.xml import Tag, numbers
from kinetree.model import WORLD, Frame, Model
from kinetree.model.constraints import Closure, Constraints, Coupling
from kinetree.spatial.se3 import translation

APART = 0.1  # of the two points of a hinge, m
HIGHEST = 4  # power of a polynomial of MuJoCo


class Equalities:
    """The element <equality> of a model, and the frames to write as sites besides its own."""

    def __init__(self, model: Model, losses: Losses) -> None:
        self.model, self.losses = model, losses
        self.own = model.own_frames
        self.sites: dict[str, Frame] = {}
        self.taken = set(model.frames)
        self.tag = Tag("equality")
        items = () if model.constraints is None else model.constraints.items
        for item in items:
            tags = self._closure(item) if isinstance(item, Closure) else self._coupling(item)
            losses.into(self.tag, *tags)
        if model.constraints is not None:
            self._lose_motors(model.constraints)

    def _lose_motors(self, given: Constraints) -> None:
        """Lose the motors, unless they are those of the actuators, which readers take."""
        model, names = self.model, self.model.dof_names
        driven = {model.coordinate_names[k] for x in model.actuators for k in x.coords}
        motors = [names[k] for k in given.actuated]
        if set(motors) != (driven or set(names)):
            listed = ", ".join(motors) or "none"
            self.losses.add(f"the joints with motors, which are {listed}")
            self.losses.into(self.tag)

    def _closure(self, x: Closure) -> Iterator[Tag]:
        if x.kind not in ("point", "axis", "pose"):
            self.losses.add(f"constraint {x.name!r}, a {x.kind}")
            return
        if any(i != WORLD and is_massless(self.model, i) for i in (x.link_a, x.link_b)):
            self.losses.add(f"constraint {x.name!r} of a link without mass")
            return
        self.losses.found.append(f"constraint {x.name!r} as an exact one (it is soft in MuJoCo)")
        kind = "weld" if x.kind == "pose" else "connect"
        yield self._tag(kind, x.name, x, np.eye(4))
        if x.kind == "axis":
            step = APART * np.eye(3)[x.axis]
            yield self._tag(kind, f"{x.name}/axis", x, translation(step))

    def _tag(self, kind: str, name: str, x: Closure, T: Array) -> Tag:
        first = self._site(f"{name}/1", x.link_a, x.T_a @ T)
        second = self._site(f"{name}/2", x.link_b, x.T_b @ T)
        return Tag(kind, {"name": name, "site1": first, "site2": second})

    def _site(self, name: str, link: int, T: Array) -> str:
        """Name of a site at T of a link, new if the model has none there."""
        for known, frame in (self.own | self.sites).items():
            same = frame.link == link and np.array_equal(frame.T_if, T)
            if same and known not in (self.model.tool, "world"):
                return known
        site_name = unused(name, self.taken, "_")
        self.sites[site_name] = Frame(link, T)
        return site_name

    def _coupling(self, x: Coupling) -> Iterator[Tag]:
        """q_1 - r_1 = p(q_2 - r_2): powers about the references, where the joints have offsets."""
        first, others = x.terms[0], x.terms[1:]
        is_plain = all(t.scale == 1 and t.offset == 0 for t in x.terms)
        if len(others) > 1 or not is_plain or any(len(t.powers) > HIGHEST for t in others):
            self.losses.add(f"constraint {x.name!r}, a coupling beyond one joint to degree 4")
            return
        self.losses.found.append(f"constraint {x.name!r} as an exact one (it is soft in MuJoCo)")
        names, c = self.model.coordinate_names, [float(x.constant)] + [0.0] * HIGHEST
        pair = {"joint1": names[first.coord]}
        if others:
            pair["joint2"] = names[others[0].coord]
            for k, power in enumerate(others[0].powers, 1):
                c[k] = -float(power)
            if r := self._reference(others[0].coord):
                c = shifted(c, r)
        c[0] -= self._reference(first.coord)
        yield Tag("joint", {"name": x.name, **pair, "polycoef": numbers(c)})

    def _reference(self, coord: int) -> float:
        """Position of a joint in MuJoCo's reference, which is q where the joint is at zero."""
        joint = next(j for j in self.model.joints if j.follows is None and j.coords[0] == coord)
        return -float(joint.offset)


def is_massless(model: Model, i: int) -> bool:
    """Return True for a link without mass and moments."""
    return not (model.m[i] or np.any(model.I_com[i]))
