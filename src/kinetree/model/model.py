"""Model: the frozen data of a robot, the one input of every algorithm."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.description.records import Limits
from kinetree.errors import NameLookupError
from kinetree.spatial.inertia import spatial_inertia
from kinetree.spatial.se3 import inverse

WORLD = -1


@dataclass(frozen=True)
class JointFriction:
    """Friction of one joint, coefficients as (positive direction, negative direction)."""

    viscous: tuple[Any, Any] = (0, 0)
    coulomb: tuple[Any, Any] = (0, 0)
    function: Callable[[Any], Any] | None = None


@dataclass(frozen=True, eq=False)
class JointRotor:
    """A rotor driven by joint `joint`, carried by link `link`, spinning about s (unit, in {link})."""

    joint: int
    link: int
    inertia: Any
    ratio: Any
    s: Array


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed in link `link` (WORLD: in the base) at T_if."""

    link: int
    T_if: Array


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Model:
    """A tree of links; link i hangs on joint i, and parents have smaller numbers.

    M_pi: pose of {i} in its parent's frame at q = 0, (n, 4, 4). A: screw axis of joint i in {i},
    (n, 6). m, com, I_com: mass, centre and inertia about the centre in {i}. gravity: free fall
    (0, g) in {s}. base: (m, com, I_com) of what is fixed to the world.
    """

    name: str
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    link_names: tuple[str, ...]
    base_name: str
    parent: tuple[int, ...]
    M_pi: Array
    A: Array
    m: Array
    com: Array
    I_com: Array
    gravity: Array
    armature: Array
    friction: tuple[JointFriction, ...]
    rotors: tuple[JointRotor, ...]
    limits: tuple[Limits, ...]
    frames: Mapping[str, Frame]
    tool: str
    base: tuple[Any, Array, Array]
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of joints, which is the number of moving links."""
        return len(self.parent)

    @property
    def links(self) -> range:
        """Links from the base outward: every parent before its children."""
        return range(self.n)

    @cached_property
    def children(self) -> dict[int, tuple[int, ...]]:
        """Children of every link, and of WORLD."""
        kids: dict[int, list[int]] = {i: [] for i in (WORLD, *self.links)}
        for i in self.links:
            kids[self.parent[i]].append(i)
        return {i: tuple(c) for i, c in kids.items()}

    @cached_property
    def M_ip(self) -> Array:
        """Pose of the parent's frame in {i} at q = 0, (n, 4, 4)."""
        return np.array([inverse(M) for M in self.M_pi]).reshape(-1, 4, 4)

    @cached_property
    def G(self) -> Array:
        """Spatial inertia of link i about the origin of {i}, (n, 6, 6)."""
        bodies = zip(self.m, self.com, self.I_com, strict=True)
        return np.array([spatial_inertia(*body) for body in bodies]).reshape(-1, 6, 6)

    def path(self, i: int) -> list[int]:
        """Links from the base to link i, both ends included (empty for WORLD)."""
        chain = []
        while i != WORLD:
            chain.append(i)
            i = self.parent[i]
        return chain[::-1]

    def frame(self, name: str | None = None) -> Frame:
        """The frame of that name: a link, a tool or a fixed frame; None is the tool."""
        try:
            return self.frames[self.tool if name is None else name]
        except KeyError:
            known = ", ".join(self.frames)
            raise NameLookupError(
                f"{self.name!r} has no frame {name!r}; its frames are {known}."
            ) from None

    def joint(self, name: str) -> int:
        """Number of the joint of that name."""
        if name not in self.joint_names:
            raise NameLookupError(
                f"{self.name!r} has no joint {name!r}; its joints are "
                f"{', '.join(self.joint_names)}."
            )
        return self.joint_names.index(name)

    def with_gravity(self, gravity: Any) -> "Model":
        """The same robot under another gravity, 3-vector in {s}, m/s^2."""
        from kinetree.model.change import with_gravity

        return with_gravity(self, gravity)

    def with_payload(
        self, m: Any, com: Any = (0, 0, 0), I_com: Any = None, frame: str | None = None
    ) -> "Model":
        """The same robot with a body fixed to `frame` (the tool when None), given in that frame."""
        from kinetree.model.change import with_payload

        return with_payload(self, m, com, I_com, frame)

    def astype(self, scalar: Callable[[Any], Any]) -> "Model":
        """The same robot with every number converted, e.g. `model.astype(mpmath.mpf)`."""
        from kinetree.model.change import astype

        return astype(self, scalar)

    def replace(self, **changes: Any) -> "Model":
        """A copy with some fields changed."""
        return replace(self, **changes)

    def __repr__(self) -> str:
        joints = ", ".join(
            f"{name} ({kind})"
            for name, kind in zip(self.joint_names, self.joint_types, strict=True)
        )
        return f"Model({self.name!r}, {self.n} joints: {joints})"


FIELDS = tuple(field.name for field in fields(Model))
