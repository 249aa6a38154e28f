"""Robots of symbols, and proofs that an expression is zero for every value of its symbols."""

import numpy as np
import sympy

import kinetree as kt
from kinetree import Builder
from kinetree.model import Model

L1, L2, m1, m2, g = sympy.symbols("L1 L2 m1 m2 g", positive=True)


def point_masses() -> Model:
    """The planar 2R of the course: m1 and m2 at the ends of L1 and L2."""
    builder = Builder("2R", gravity=(0, -g, 0)).link("base")
    builder.link("upper", m1, (L1, 0, 0)).link("lower", m2, (L2, 0, 0))
    builder.joint("j1", "revolute", "base", "upper")
    builder.joint("j2", "revolute", "upper", "lower", at=(L1, 0, 0))
    builder.frame("tip", "lower", (L2, 0, 0), tool=True)
    return builder.build_model()


def branched() -> Model:
    """Three links: two arms on one shoulder, one of them out of the plane; numbers."""
    I = np.diag([0.02, 0.03, 0.04])
    builder = Builder("branched").link("base").link("trunk", 2.0, (0.1, 0, 0.2), I)
    builder.link("left", 1.0, (0.25, 0, 0), I).link("right", 1.5, (0, 0.2, 0), I)
    builder.joint("turn", "revolute", "base", "trunk")
    builder.joint("lift", "revolute", "trunk", "left", at=(0.3, 0, 0.4), axis=(0, 1, 0))
    builder.joint("swing", "revolute", "trunk", "right", at=(-0.3, 0, 0.4), axis=(1, 0, 0))
    builder.frame("hand", "right", (0, 0.5, 0), tool=True)
    return builder.build_model()


ROBOTS = {
    "RP": lambda: kt.robots.rp().model,
    "spatial 3R": lambda: kt.robots.spatial_3r().model,
    "SCARA": lambda: kt.robots.scara().model,
    "cart-pole": lambda: kt.robots.cart_pole(friction=0.3).model,
    "double pendulum": lambda: kt.robots.double_pendulum(1.2, 0.7, 0.9, 1.1).model,
    "branched": branched,
}


def is_zero(x: sympy.Expr) -> bool:
    """Whether x is zero for all values, by exponentials; nothing of kinetree takes part."""
    return sympy.expand(sympy.expand(sympy.sympify(x), trig=False).rewrite(sympy.exp)) == 0
