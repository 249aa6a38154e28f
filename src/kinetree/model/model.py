"""Model: the frozen data of a robot, the one input of every algorithm."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, frozen
from kinetree.base.tables import counted
from kinetree.description.records import Friction, Note
from kinetree.errors import NameLookupError
from kinetree.model.joint import Joint, coordinate_names, rate_names
from kinetree.spatial.inertia import spatial_inertia
from kinetree.spatial.se3 import inverse

WORLD = -1


@dataclass(frozen=True, eq=False)
class JointRotor:
    """A rotor of joint `joint` on link `link`, spinning at ratio * dq[dof] about s in {link}."""

    joint: int
    dof: int
    link: int
    inertia: Any
    ratio: Any
    s: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", frozen(self.s))


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed in link `link` (WORLD: in the base) at T_if."""

    link: int
    T_if: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_if", frozen(self.T_if))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Model:
    """A tree of links; link i hangs on joints[i], and parents have smaller numbers.

    M_pi: pose of {i} in its parent's frame at q = 0, (links, 4, 4). m, com, I_com: mass, centre and
    inertia about the centre in {i}. gravity: free fall (0, g) in {s}. base: (m, com, I_com) of
    what is fixed to the world.
    """

    name: str
    joints: tuple[Joint, ...]
    link_names: tuple[str, ...]
    base_name: str
    parent: tuple[int, ...]
    M_pi: Array
    m: Array
    com: Array
    I_com: Array
    gravity: Array
    rotors: tuple[JointRotor, ...]
    frames: Mapping[str, Frame]
    tool: str
    base: tuple[Any, Array, Array]
    notes: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        for name in ("M_pi", "m", "com", "I_com", "gravity"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        m, com, I_com = self.base
        object.__setattr__(self, "base", (m, frozen(com), frozen(I_com)))
        object.__setattr__(self, "frames", MappingProxyType(dict(self.frames)))

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "frames": dict(self.frames)}  # a read-only view has no pickle
        state.pop("_memo", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def memo(self) -> dict[Hashable, Any]:
        """Forms derived from this model by `kinetree.kernels.memo`; freed with it, never pickled."""
        return self.__dict__.setdefault("_memo", {})  # atomic: all threads get the same one

    @cached_property
    def n(self) -> int:
        """Degrees of freedom: the length of dq, ddq and tau."""
        return sum(len(joint.dofs) for joint in self.joints if joint.follows is None)

    @cached_property
    def nq(self) -> int:
        """Coordinates: the length of q, n or more (a quaternion has four for three)."""
        return sum(len(joint.coords) for joint in self.joints if joint.follows is None)

    @property
    def links(self) -> range:
        """Links from the base outward: every parent before its children."""
        return range(len(self.joints))

    @cached_property
    def A(self) -> tuple[Array, ...]:
        """Twist of link i in {i} for unit rates of its joint, each (6, k)."""
        return tuple(joint.A for joint in self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that move by themselves, in the order of q and dq."""
        return tuple(joint.name for joint in self.joints if joint.follows is None)

    @property
    def joint_types(self) -> tuple[str, ...]:
        """The types of `joint_names`."""
        return tuple(joint.type for joint in self.joints if joint.follows is None)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        own = [joint for joint in self.joints if joint.follows is None]
        return tuple(name for joint in own for name in coordinate_names(joint))

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """Names of the entries of dq, ddq and tau."""
        own = [joint for joint in self.joints if joint.follows is None]
        return tuple(name for joint in own for name in rate_names(joint))

    @cached_property
    def children(self) -> dict[int, tuple[int, ...]]:
        """Children of every link, and of WORLD."""
        kids: dict[int, list[int]] = {i: [] for i in (WORLD, *self.links)}
        for i in self.links:
            kids[self.parent[i]].append(i)
        return {i: tuple(c) for i, c in kids.items()}

    @cached_property
    def M_ip(self) -> Array:
        """Pose of the parent's frame in {i} at q = 0, (links, 4, 4)."""
        return frozen(np.array([inverse(M) for M in self.M_pi]).reshape(-1, 4, 4))

    @cached_property
    def G(self) -> Array:
        """Spatial inertia of link i about the origin of {i}, (links, 6, 6)."""
        bodies = zip(self.m, self.com, self.I_com, strict=True)
        return frozen(np.array([spatial_inertia(*body) for body in bodies]).reshape(-1, 6, 6))

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

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        names = ", ".join(joint.name for joint in self.joints)
        raise NameLookupError(f"{self.name!r} has no joint {name!r}; its joints are {names}.")

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

    def with_friction(self, friction: Mapping[str, Friction]) -> "Model":
        """The same robot with other friction at some joints, {name: Friction(...)}."""
        from kinetree.model.change import with_friction

        return with_friction(self, friction)

    def astype(self, scalar: Callable[[Any], Any]) -> "Model":
        """The same robot with every number converted, e.g. `model.astype(mpmath.mpf)`."""
        from kinetree.model.change import astype

        return astype(self, scalar)

    def replace(self, **changes: Any) -> "Model":
        """A copy with some fields changed."""
        return replace(self, **changes)

    def _repr_html_(self) -> str:
        from kinetree.model.table import model_table

        return model_table(self)

    def __repr__(self) -> str:
        joints = ", ".join(f"{joint.name} ({joint.type})" for joint in self.joints)
        size = counted(self.n, "degree", "of freedom")
        return f"Model({self.name!r}, {size}: {joints})"
