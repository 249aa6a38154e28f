"""Friction laws of joints: the records that a user writes down for one joint.

With dq the rate of the joint, the friction b that the drive overcomes is a sum of

    viscous      v dq
    Coulomb      F(dq) sign(dq),  F = coulomb
    Stribeck     the same with  F = coulomb + (static - coulomb) exp(-(|dq| / speed)^exponent)
    sigmoid      size / (1 + exp(-steepness (dq + offset))) - size / (1 + exp(-steepness offset))
    load         c |load| sign(dq),  load: the joint force without any friction
    function     any function of dq that the user writes, traced when the record is made

Coulomb, Stribeck and load friction stop a joint and keep it at rest; the others are zero at rest.
model/friction.py checks the numbers, algorithms/joints/friction.py computes the forces.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from kinetree.errors import InputError, KinetreeError
from kinetree.scalars import FUNCTIONS, Scalar

OneOrPair = Scalar | tuple[Scalar, Scalar]
RATES = (-1.7, -0.3, 0.2, 1.1)  # rad/s or m/s, at which a function is compared with its graph


@dataclass(frozen=True)
class Stribeck:
    """Dry friction that falls from `static` to the Coulomb friction as the joint gets faster.

    F(dq) = coulomb + (static - coulomb) exp(-(|dq| / speed)^exponent).

    Args:
        static: friction at the start of a motion, N m or N, at least the Coulomb friction; a pair
            is for dq > 0 and dq < 0.
        speed: rate at which 1/e of the difference is left, rad/s or m/s, above 0.
        exponent: shape of the fall, dimensionless, a plain number above 0: 2 is Gaussian, 1
            exponential.
    """

    static: OneOrPair
    speed: Scalar
    exponent: float = 2


@dataclass(frozen=True)
class Sigmoid:
    """Smooth friction of the shape that Gaz and others (2019) identified for the Panda.

    size / (1 + exp(-steepness (dq + offset))) - size / (1 + exp(-steepness offset)), 0 at rest.

    Args:
        size: difference between the friction of fast motions forward and backward, N m or N.
        steepness: how quickly it changes with dq, s/rad or s/m, above 0.
        offset: rate by which the curve is shifted, rad/s or m/s; 0: equal in both directions.
    """

    size: Scalar
    steepness: Scalar
    offset: Scalar = 0


@dataclass(frozen=True)
class Friction:
    """Joint friction b, the part of tau that opposes the motion.

    Args:
        viscous: coefficient of dq, N m s/rad or N s/m; a pair is for dq > 0 and dq < 0.
        coulomb: friction of any sliding, N m or N; a pair is for dq > 0 and dq < 0.
        function: further friction b(dq) in N m or N, written with `kinetree.scalars`; None: no
            more. It is traced here, once, and the record keeps what it computes now: a value that
            it reads and that changes later has no effect.
        stribeck: higher friction at low speed, `Stribeck(static, speed)`; None: `coulomb` at any
            speed.
        sigmoid: smooth friction, `Sigmoid(size, steepness, offset)`; None: no such part.
        load: friction over the magnitude of the joint force without friction, dimensionless; a pair
            is for a force that drives the motion and for one that brakes it, the second below 1. A
            gear of efficiency eta has (1/eta - 1, 1 - eta).
    """

    viscous: OneOrPair = 0
    coulomb: OneOrPair = 0
    function: Callable[[Any], Any] | None = None
    _: KW_ONLY
    stribeck: Stribeck | None = None
    sigmoid: Sigmoid | None = None
    load: OneOrPair = 0

    def __post_init__(self) -> None:
        if callable(self.function):
            object.__setattr__(self, "function", _traced(self.function))


def _traced(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The friction function as a value: its graph, compared with the function on numbers."""
    from kinetree.engine.compiler.graph import Port  # here: most robots have no such function
    from kinetree.engine.compiler.law import TracedLaw, law_name, traced_law

    if isinstance(function, TracedLaw):
        return function
    which = f"the friction function {law_name(function)!r}"
    try:
        law = traced_law(function, [Port("dq", ())])
    except Exception as problem:
        known = isinstance(problem, KinetreeError)  # has the list of functions already
        listed = "" if known else f", {', '.join(FUNCTIONS)}"
        raise InputError(
            f"{which} cannot be traced: {problem} It becomes a formula when Friction is made: take "
            f"its functions from kinetree.scalars{listed}, its constants as plain numbers, and "
            "write `where(dq > 0, a, b)` in the place of `if`."
        ) from problem
    if law.several or law.graph.outputs[0].shape != ():
        raise InputError(
            f"{which} returned {'a tuple' if law.several else 'an array'}; expected one number, "
            "the force b at the rate dq."
        )
    for dq in (*RATES, *reversed(RATES)):
        if not law.compare([function(dq)], dq):
            raise InputError(
                f"{which} returned something else at dq = {dq:g} than its formula, which was "
                "traced just before. Either it is not a function of dq alone: give forces that "
                "remember something, or noise, as a controller, kinetree.controllers.Stateful or "
                "Sampled. Or tracing misread it, which follows one way through isinstance, try and "
                "the like for all numbers: write `where(dq > 0, a, b)` instead."
            )
    return law
