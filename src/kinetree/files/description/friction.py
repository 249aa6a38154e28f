"""Friction laws of joints: the records that a user writes down for one joint.

With dq the rate of the joint, the friction b that the drive overcomes is a sum of

    viscous      v dq
    Coulomb      F(dq) sign(dq),  F = coulomb
    Stribeck     the same with  F = coulomb + (static - coulomb) exp(-(|dq| / speed)^exponent)
    sigmoid      size / (1 + exp(-steepness (dq + offset))) - size / (1 + exp(-steepness offset))
    function     any function of dq that the user writes, traced when the record is made

Coulomb and Stribeck friction stop a joint and keep it at rest; the others are zero at rest.
Coulomb and Stribeck friction may have a memory, `LuGre` or `Dahl`: simulations take it in the place
of sliding and sticking. Quantities without such a state have the friction of steady sliding.
A law that is smooth and depends on dq alone is one record here, a `SmoothLaw`, and one field of
`Friction`: checks, symbols, formulas, explanations and texts follow from it. Coefficients that may
differ by direction are kept as pairs, for dq > 0 and dq < 0, also where one number was given.
model/friction.py checks the numbers, dynamics/joints/friction.py adds the forces.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from kinetree.core.records import number
from kinetree.errors import InputError
from kinetree.scalars import FUNCTIONS, Scalar, tanh

Pair = tuple[Scalar, Scalar]
if TYPE_CHECKING:

    class OneOrPair:
        """A field that takes one number or a pair, and is a pair."""

        def __get__(self, record: object, kind: type) -> Pair: ...
        def __set__(self, record: object, value: Scalar | Pair) -> None: ...

else:
    OneOrPair = Scalar | Pair
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

    static: OneOrPair = number("N m or N", "at least 0")
    speed: Scalar = number("rad/s or m/s", "above 0")
    exponent: float = number("a plain number such as 1 or 2", "above 0", default=2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "static", both_directions(self.static))


@dataclass(frozen=True)
class LuGre:
    """Dry friction as the bending of elastic bristles, with the bristle deflection z as a state.

    dz/dt = v - stiffness |v| z / F(v),  b = stiffness z + damping dz/dt: in steady sliding this is
    the Coulomb and Stribeck friction F(v) sign(v) of the same record (Canudas de Wit and others,
    IEEE Transactions on Automatic Control 40, 1995).

    Args:
        stiffness: of the bristles, sigma_0, N m/rad or N/m, above 0.
        damping: of the bristles, sigma_1, N m s/rad or N s/m, at least 0.
    """

    stiffness: float = number("N m/rad or N/m", "above 0")
    damping: float = number("N m s/rad or N s/m", "at least 0", default=0)
    exponent: ClassVar[float] = 1


@dataclass(frozen=True)
class Dahl:
    """Dry friction b = stiffness z that approaches its sliding value F along a hysteresis loop.

    db/dx = stiffness (1 - b/F sign(v))^exponent.

    Args:
        stiffness: slope of the friction over the position after a reversal, N m/rad or N/m, above
            0.
        exponent: shape of the loop, dimensionless, at least 1.
    """

    stiffness: float = number("N m/rad or N/m", "above 0")
    exponent: float = number("dimensionless", "at least 1", default=1)
    damping: ClassVar[float] = 0


Presliding = LuGre | Dahl


class SmoothLaw:
    """A friction law that depends on dq alone, smoothly, and is 0 at rest.

    Its fields are numbers, each made by `coefficient`. formula: b(dq) as text and as LaTeX.
    """

    formula: ClassVar[tuple[str, str]]

    def force(self, dq: Any) -> Any:
        """b(dq) in N m or N, with the sign of dq, over any kind of scalar.

        Args:
            dq: rate of the joint, rad/s or m/s.
        """
        raise NotImplementedError


def coefficient(symbol: str, unit: str, low: str = "", **default: Any) -> Any:
    """A field of a SmoothLaw; symbol: letter of the number in closed forms, see `number`."""
    return number(unit, low, symbol=symbol, **default)


@dataclass(frozen=True)
class Sigmoid(SmoothLaw):
    """Smooth friction of the shape that Gaz and others (2019) identified for the Panda.

    size / (1 + exp(-steepness (dq + offset))) - size / (1 + exp(-steepness offset)), 0 at rest.

    Args:
        size: difference between the friction of fast motions forward and backward, N m or N.
        steepness: how quickly it changes with dq, s/rad or s/m, above 0.
        offset: rate by which the curve is shifted, rad/s or m/s; 0: equal in both directions.
    """

    formula = (
        "a/(1 + exp(-k (dq + o))) - a/(1 + exp(-k o))",
        r"\frac{a}{1 + \exp(-k (\dot q + o))} - \frac{a}{1 + \exp(-k o)}",
    )
    size: Scalar = coefficient("fa", "N m or N", "at least 0")
    steepness: Scalar = coefficient("fk", "s/rad or s/m", "above 0")
    offset: Scalar = coefficient("fo", "rad/s or m/s", default=0)

    def force(self, dq: Any) -> Any:
        """b(dq) without overflow.

        Args:
            dq: rate of the joint, rad/s or m/s.

        1 / (1 + exp(-x)) is (1 + tanh(x/2)) / 2, and tanh(x) - tanh(y) is
        tanh(x - y) (1 - tanh(x) tanh(y)). Written like this, small rates lose no digits, and the
        force has the sign of dq whatever is rounded.
        """
        half = self.steepness / 2
        force = tanh(dq * half) * (self.size / 2)
        if isinstance(self.offset, int | float) and self.offset == 0:
            return force
        return force * (1 - tanh((dq + self.offset) * half) * tanh(self.offset * half))


@dataclass(frozen=True)
class Friction:
    """Joint friction b, the part of tau that opposes the motion.

    Args:
        viscous: coefficient of dq, N m s/rad or N s/m; a pair is for dq > 0 and dq < 0.
        coulomb: friction of any sliding, N m or N; a pair is for dq > 0 and dq < 0.
        function: further friction b(dq) in N m or N, written with `kinetree.scalars`; None: no
            more. It is traced here, once, and the record keeps what it computes now: a value that
            it reads and that changes later has no effect.
        load: friction over the magnitude of the joint force without friction, dimensionless; a pair
            is for a force that drives the motion and for one that brakes it, the second below 1. A
            gear of efficiency eta has (1/eta - 1, 1 - eta). `kt.motion.motor_forces` and checks of
            limits have it; dynamics refuse it.
        stribeck: higher friction at low speed, `Stribeck(static, speed)`; None: `coulomb` at any
            speed.
        sigmoid: smooth friction, `Sigmoid(size, steepness, offset)`; None: no such part.
        presliding: memory of the Coulomb and Stribeck friction in simulations,
            `LuGre(stiffness, damping)` or `Dahl(stiffness)`; None: the joint sticks and slides.
            Everything else has the friction of steady sliding.
    """

    viscous: OneOrPair = number("N m s/rad or N s/m", "at least 0", default=0)
    coulomb: OneOrPair = number("N m or N", "at least 0", default=0)
    function: Callable[[Any], Any] | None = None
    _: KW_ONLY
    load: OneOrPair = number("dimensionless", "at least 0", default=0)
    stribeck: Stribeck | None = None
    sigmoid: Sigmoid | None = None
    presliding: Presliding | None = None

    def __post_init__(self) -> None:
        for name in ("viscous", "coulomb", "load"):
            object.__setattr__(self, name, both_directions(getattr(self, name)))
        if callable(self.function):
            object.__setattr__(self, "function", _traced(self.function))


def both_directions(value: Any) -> Any:
    """A pair for dq > 0 and dq < 0, from one number or from a pair."""
    return tuple(value) if isinstance(value, tuple | list) else (value, value)


# smooth laws by the name of their field in Friction
SMOOTH: dict[str, type[SmoothLaw]] = {"sigmoid": Sigmoid}


def smooth_laws(friction: Friction) -> dict[str, Any]:
    """The smooth laws that a Friction has, by name."""
    laws = {name: getattr(friction, name) for name in SMOOTH}
    return {name: law for name, law in laws.items() if law is not None}


def law_numbers(law: SmoothLaw) -> dict[str, Scalar]:
    """The numbers of a smooth law by name."""
    return {x.name: getattr(law, x.name) for x in fields(law)}  # type: ignore[arg-type]


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
        text = f"{which} cannot be traced: {problem} Take its functions from kinetree.scalars, "
        text += f"{', '.join(FUNCTIONS)}, and write `where(dq > 0, a, b)` for `if`."
        raise InputError(text) from problem
    if law.several or law.graph.outputs[0].shape != ():
        raise InputError(f"{which} returned several numbers; expected one, the force b at dq.")
    for dq in (*RATES, *reversed(RATES)):
        if not law.compare([function(dq)], dq):
            text = f"{which} returned something else at dq = {dq:g} than its traced formula"
            raise InputError(f"{text}; branches are written `where(dq > 0, a, b)`.")
    return law
