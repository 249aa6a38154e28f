"""Ways to trace a function of a Tree for a kernel: in lean frames, with few operations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.algorithms.configuration import random
from kinetree.base.arrays import is_numeric
from kinetree.model import Model
from kinetree.model.constrain import tree_of
from kinetree.model.inputs import zeros
from kinetree.model.quantity import Make

SOLID = 1e-12  # share of the whole robot's inertia that counts as inertia


def over_tree(
    function: Callable[..., Any],
    rates: int,
    *,
    of: Callable[[Model], Model] = lambda model: model,
    whole: bool = False,
    solves: bool = False,
) -> Make:
    """Trace a function of a tree and of some rates, in lean frames.

    Args:
        function: takes the tree and, besides q, `rates` further arguments; F_ext may follow them.
        rates: the number of arguments besides q and F_ext.
        of: the robot whose tree it is.
        whole: masses stay on their own links, because the result is not only about joint forces.
        solves: the mass matrix must not be singular.
    """

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
        from kinetree.algorithms.lean import lean_model, lean_tree  # not needed without a kernel

        if solves and regrouped:
            check_inertia(model)
        lean = lean_model(of(model), regrouped=regrouped and not whole)
        return lambda q, *rest: function(lean_tree(lean, q, *rest[rates:]), *rest[:rates])

    return make


def of_frame(function: Callable[..., Any]) -> Make:
    """Trace a function of a tree, a frame, the axes of its twist, and some rates."""

    def make(
        model: Model, regrouped: bool, frame: str | None, expressed: str
    ) -> Callable[..., Any]:
        from kinetree.algorithms.lean import lean_frame, lean_model, lean_tree

        lean = lean_model(model, regrouped=regrouped)
        place = lean_frame(lean, frame)
        return lambda q, *motion: function(lean_tree(lean, q), place, expressed, *motion)

    return make


def solving(make: Make) -> Make:
    """The same, after a check that the mass matrix of the tree is not singular."""

    def checked(
        model: Model, regrouped: bool, frame: str | None, **choices: Any
    ) -> Callable[..., Any]:
        if regrouped:
            check_inertia(model)
        return make(model, regrouped, frame, **choices)

    return checked


def check_inertia(model: Model) -> None:
    """Raise an error that names the joint if the mass matrix is singular in every position."""
    from kinetree.algorithms.forward_dynamics import forward_dynamics  # it is declared with this

    if _is_solid(model):
        return
    q, rest = random(model, np.random.default_rng(0)), zeros(model.n)
    forward_dynamics(tree_of(model), q, rest, rest)


def _is_solid(model: Model) -> bool:
    """Return True if every link has mass and inertia, so that no motion is without energy."""
    m, I = np.asarray(model.m), np.asarray(model.I_com)
    if not (is_numeric(m) and is_numeric(I)):
        return False
    m, I = m.astype(float), I.astype(float)
    size = float(np.abs(np.asarray(model.M_pi, float)[:, :3, 3]).sum())
    mass = float(np.abs(m).sum())
    least = np.linalg.eigvalsh(I)[:, 0].min(initial=np.inf)
    return bool(m.min(initial=np.inf) > SOLID * mass and least > SOLID * mass * size * size)
