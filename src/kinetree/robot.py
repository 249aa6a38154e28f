"""Robot: the front door. It holds a model and hands out what can be computed of it."""

from typing import Any

from kinetree.description import (
    describe_dh,
    describe_points,
    describe_screws,
    describe_transforms,
)
from kinetree.model import Model, build_model


class Robot:
    """A robot: its frozen `model` and the quantities of its dynamics."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @classmethod
    def from_screws(
        cls, S: Any, M: Any, G: Any, *, unphysical: str = "error", **rest: Any
    ) -> "Robot":
        """From screw axes and home poses in {s}; see `kinetree.description.describe_screws`."""
        return cls(build_model(describe_screws(S, M, G, **rest), unphysical=unphysical))

    @classmethod
    def from_transforms(cls, M: Any, G: Any, *, unphysical: str = "error", **rest: Any) -> "Robot":
        """From parent-to-child poses; see `kinetree.description.describe_transforms`."""
        return cls(build_model(describe_transforms(M, G, **rest), unphysical=unphysical))

    @classmethod
    def from_dh(cls, table: Any, *, unphysical: str = "error", **rest: Any) -> "Robot":
        """From a Denavit-Hartenberg table; see `kinetree.description.describe_dh`."""
        return cls(build_model(describe_dh(table, **rest), unphysical=unphysical))

    @classmethod
    def from_points(
        cls, P: Any, C: Any, k: Any, *, unphysical: str = "error", **rest: Any
    ) -> "Robot":
        """From points and axes at q = 0; see `kinetree.description.describe_points`."""
        return cls(build_model(describe_points(P, C, k, **rest), unphysical=unphysical))
