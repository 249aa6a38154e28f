"""Mechanisms with closed loops for tests: planar ones, and random trees that are tied together."""

from typing import Any

import numpy as np

import kinetree as kt
from kinetree import dynamics
from kinetree.constraints import Couple, Hold, Loop, Rod
from kinetree.spatial import inverse
from random_robots import ALL_TYPES, random_model

CRANK, CONNECTING_ROD = 0.3, 0.8  # m, of the slider-crank
BODY = np.diag([0.01, 0.02, 0.03])


def slider_crank_tree() -> Any:
    """Crank and rod in a chain, and a slider along x; the loop between them is open."""
    builder = kt.Builder("slider_crank", gravity=(0, -9.81, 0)).link("base")
    builder.link("arm", m=1.2, com=(CRANK / 2, 0, 0), I_com=BODY)
    builder.link("bar", m=0.7, com=(CONNECTING_ROD / 2, 0, 0), I_com=BODY)
    builder.link("block", m=2.0, com=(0, 0, 0), I_com=BODY)
    builder.joint("crank", "revolute", "base", "arm", axis=(0, 0, 1))
    builder.joint("rod", "revolute", "arm", "bar", axis=(0, 0, 1), at=(CRANK, 0, 0))
    builder.joint("slide", "prismatic", "base", "block", axis=(1, 0, 0))
    builder.frame("tip", "bar", (CONNECTING_ROD, 0, 0))
    builder.frame("pin", "block", (0, 0, 0), tool=True)
    return builder.build()


def slider_crank(kind: str = "axis", **options: Any) -> Any:
    """The closed slider-crank; a loop of kind "axis" has three redundant equations."""
    return slider_crank_tree().constrained({"loop": Loop("pin", "tip", kind)}, **options)


def slider_crank_position(angle: float) -> np.ndarray:
    """Positions for an angle of the crank, with the slider to the right of the crank."""
    lift = -np.arcsin(CRANK * np.sin(angle) / CONNECTING_ROD)
    reach = CRANK * np.cos(angle) + CONNECTING_ROD * np.cos(lift)
    return np.array([angle, lift - angle, reach])


def four_bar_tree(cut: str = "rocker") -> Any:
    """A four-bar of the lengths 0.3, 0.9, 0.7 on a ground of 1.0 m, cut open at one joint.

    cut: "rocker": crank and coupler, and the rocker on its own; "ground": one chain of three bars.
    """
    builder = kt.Builder("four_bar", gravity=(0, -9.81, 0)).link("base")
    builder.link("input", m=1.2, com=(0.15, 0, 0), I_com=BODY)
    builder.link("middle", m=0.7, com=(0.45, 0.05, 0), I_com=BODY)
    builder.joint("crank", "revolute", "base", "input", axis=(0, 0, 1))
    builder.joint("coupler", "revolute", "input", "middle", axis=(0, 0, 1), at=(0.3, 0, 0))
    builder.frame("anchor", "base", (1.0, 0, 0))
    if cut == "rocker":
        builder.link("output", m=2.0, com=(0.35, 0, 0), I_com=BODY)
        builder.joint("rocker", "revolute", "base", "output", axis=(0, 0, 1), at=(1.0, 0, 0))
        builder.frame("tip", "middle", (0.9, 0, 0)).frame("end", "output", (0.7, 0, 0), tool=True)
    else:  # the rocker hangs on the coupler, its other end is to be at the anchor
        builder.link("output", m=2.0, com=(-0.35, 0, 0), I_com=BODY)
        builder.joint("rocker", "revolute", "middle", "output", axis=(0, 0, 1), at=(0.9, 0, 0))
        builder.frame("tip", "output", (-0.7, 0, 0), tool=True)
    return builder.build()


def four_bar(cut: str = "rocker", kind: str = "axis", **options: Any) -> Any:
    """The closed four-bar."""
    ends = ("end", "tip") if cut == "rocker" else ("anchor", "tip")
    return four_bar_tree(cut).constrained({"loop": Loop(*ends, kind)}, **options)


def four_bar_position(robot: Any, angle: float) -> np.ndarray:
    """The position with the coupler above the ground, for an angle of the crank."""
    return kt.constraints.project(robot, [angle, -angle + 0.7, 1.9], keep=["crank"])


def tied_robot(seed: int, n: int = 5, types: tuple[str, ...] = ALL_TYPES) -> tuple[Any, Any, Any]:
    """A random tree, random constraints, and a position at which they are closed."""
    rng = np.random.default_rng((17, seed))
    model = random_model(seed, n, types=types, mimic=True, springs=True)
    q, names = dynamics.random(model, rng), list(model.link_names)
    first, second = rng.choice(len(names), 2, replace=False)
    robot = kt.Robot(model).with_tool("a", at=rng.normal(size=3) * 0.2, frame=names[first])
    # poses without kernels: compiling one for each random robot would take most of the time
    T_sa = dynamics.pose(robot.model, q, "a")
    T_sl = dynamics.pose(robot.model, q, names[second])
    robot = robot.with_tool("b", inverse(T_sl) @ T_sa, names[second])
    kind = str(rng.choice(["point", "axis", "plane", "pose"]))
    given: dict[str, Any] = {"loop": Loop("a", "b", kind, str(rng.choice(["x", "y", "z"])))}
    if rng.random() < 0.4:
        T_sl = dynamics.pose(robot.model, q, names[-1])
        given["hold"] = Hold(names[-1], "point", T_sl[:3, 3])
    if rng.random() < 0.4 and first != 0:
        T_sl = dynamics.pose(robot.model, q, names[0])
        length = float(np.linalg.norm(T_sl[:3, 3] - T_sa[:3, 3]))
        given["rod"] = Rod(names[0], "a", length)
    own = [x for x in model.joints if x.follows is None and len(x.dofs) == 1]
    if rng.random() < 0.4 and len(own) > 1:
        x, y = q[own[0].coords[0]], q[own[1].coords[0]]
        bend = (0.7, -0.3)
        offset = float(x - bend[0] * y - bend[1] * y * y)
        given["gear"] = Couple(own[0].name, {own[1].name: bend}, offset)
    return robot, given, q
