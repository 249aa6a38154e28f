"""Robots from tables, changed robots, and robots as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self, Unpack

from kinetree.base.arrays import ArrayLike
from kinetree.description import Friction, Spring
from kinetree.model import build_model, model_of
from kinetree.robot.core import RobotCore
from kinetree.scalars import Scalar

if TYPE_CHECKING:
    from kinetree.description.tables import JointOptions

Unphysical = Literal["error", "warn", "allow"]
Losses = Literal["warn", "error", "allow"]


class Construction(RobotCore):
    """Robots from tables, changed robots, and robots as text."""

    @classmethod
    def from_screws(
        cls,
        S: ArrayLike,
        M: ArrayLike,
        G: ArrayLike,
        *,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Self:
        """Build a robot from screw axes S and home poses M in {s}, and spatial inertias G.

        Arguments as in `kinetree.description.describe_screws`.
        """
        from kinetree.description.tables.screws import describe_screws

        found = describe_screws(S, M, G, parent=parent, **options)
        return cls(build_model(found, unphysical=unphysical))

    @classmethod
    def from_transforms(
        cls,
        M: ArrayLike,
        G: ArrayLike,
        *,
        S: ArrayLike | None = None,
        A: ArrayLike | None = None,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Self:
        """Build a robot from poses M of each link in its parent's frame, and spatial inertias G.

        Arguments as in `kinetree.description.describe_transforms`.
        """
        from kinetree.description.tables.screws import describe_transforms

        found = describe_transforms(M, G, S=S, A=A, parent=parent, **options)
        return cls(build_model(found, unphysical=unphysical))

    @classmethod
    def from_dh(
        cls,
        table: ArrayLike,
        *,
        m: ArrayLike,
        com: ArrayLike,
        I_com: ArrayLike,
        convention: Literal["standard", "modified"] = "standard",
        types: str | Sequence[str] = "revolute",
        tool: ArrayLike | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Self:
        """Build a robot from a Denavit-Hartenberg table; see `kinetree.description.describe_dh`."""
        from kinetree.description.tables.dh import describe_dh

        found = describe_dh(
            table, m=m, com=com, I_com=I_com, convention=convention, types=types, tool=tool,
            **options,
        )  # fmt: skip
        return cls(build_model(found, unphysical=unphysical))

    @classmethod
    def from_points(
        cls,
        P: ArrayLike,
        C: ArrayLike,
        k: ArrayLike,
        *,
        m: ArrayLike,
        I_com: ArrayLike,
        types: str | Sequence[str] = "revolute",
        pitch: ArrayLike = 0,
        R: ArrayLike | None = None,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Self:
        """Build a robot from joint points P, mass centres C and axes k at q = 0, in {s}.

        Arguments as in `kinetree.description.describe_points`.
        """
        from kinetree.description.tables.points import describe_points

        found = describe_points(
            P, C, k, m=m, I_com=I_com, types=types, pitch=pitch, R=R, parent=parent, **options
        )
        return cls(build_model(found, unphysical=unphysical))

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """The same robot under another gravity, 3-vector in {s}, m/s^2."""
        return type(self)(self.model.with_gravity(gravity))

    def with_payload(
        self,
        m: Scalar,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Self:
        """The same robot with a body fixed to a frame, the tool when None."""
        return type(self)(self.model.with_payload(m, com, I_com, frame))

    def with_friction(self, friction: Mapping[str, Friction]) -> Self:
        """The same robot with other friction at some joints: {name: kt.Friction(...)}."""
        return type(self)(self.model.with_friction(friction))

    def with_springs(self, springs: Mapping[str, Spring | None]) -> Self:
        """The same robot with springs added, replaced by name, or removed (None).

        Args:
            springs: by name. A spring that lists no joints belongs to the joint of its name; one
                between joints lists them with their coefficients; see `kt.Spring`.

        Example:
            >>> arm = kt.robots.planar_2r().with_springs({"joint2": kt.Spring(50, rest=0.5)})
            >>> arm.spring_forces([0, 0])
            array([  0., -25.])
        """
        return type(self)(self.model.with_springs(springs))

    def with_tool(
        self,
        name: str,
        at: ArrayLike = (0, 0, 0),
        frame: str | None = None,
        *,
        m: Scalar | None = None,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
    ) -> Self:
        """Add a tool frame, and a body there if m is given; see `kinetree.model.reshape`."""
        from kinetree.model import reshape

        return type(self)(reshape.with_tool(self.model, name, at, frame, m, com, I_com))

    def lock(self, values: Mapping[str, ArrayLike]) -> Self:
        """The robot with joints fixed at given positions; see `kinetree.model.reshape.lock`."""
        from kinetree.model import reshape

        return type(self)(reshape.lock(self.model, values))

    def subtree(self, link: str) -> Self:
        """The robot from a link outward; see `kinetree.model.reshape.subtree`."""
        from kinetree.model import reshape

        return type(self)(reshape.subtree(self.model, link))

    def attach(self, other: RobotCore, frame: str | None = None, prefix: str = "") -> Self:
        """Join two robots, the other's base on a frame; see `kinetree.model.reshape.attach`."""
        from kinetree.model import reshape

        return type(self)(reshape.attach(self.model, model_of(other), frame, prefix))

    def to_urdf(self, *, losses: Losses = "warn", infinity: float = 1e30) -> str:
        """The robot as URDF text; see `kinetree.write.to_urdf`."""
        from kinetree.write import to_urdf

        return to_urdf(self.model, losses=losses, infinity=infinity)

    def to_mjcf(self, *, losses: Losses = "warn") -> str:
        """The robot as MJCF text; see `kinetree.write.to_mjcf`."""
        from kinetree.write import to_mjcf

        return to_mjcf(self.model, losses=losses)
