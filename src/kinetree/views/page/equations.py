"""Closed forms for a page: MathML, where the robot is small enough that someone may read them."""

from html import escape
from typing import Any

from kinetree.errors import KinetreeError
from kinetree.robot import Robot
from kinetree.symbols.front import symbolic

MOST_OPERATIONS = 150  # of compiled inverse dynamics: a count that grows with the forms
MOST_MARKUP = 40_000  # characters of one equation
# SymPy's product is without any space, so that 7.6 cos reads as one word
TIMES, THIN_SPACE = "<mo>&InvisibleTimes;</mo>", '<mspace width="0.17em"></mspace>'
TITLES = {
    "M": "Mass matrix",
    "C": "Coriolis matrix (of Christoffel symbols)",
    "g": "Gravity",
}


def equations(robot: Robot, digits: int = 4) -> str:
    """Markup of M, C and g, or a sentence that says why they are not shown."""
    count = robot.inverse_dynamics.operations
    if count > MOST_OPERATIONS:
        return (
            "<p>The closed forms of this robot are too long to read: inverse dynamics alone, "
            f"compiled for it, is {count} operations. <code>kt.symbolic(robot)</code> gives them, "
            "and <code>robot.explain(q, dq, ddq)</code> shows every step of the recursion.</p>"
        )
    try:
        closed = symbolic(robot)
        found = {name: _markup(getattr(closed, name), digits) for name in TITLES}
    except KinetreeError as error:  # sympy is not installed, or finds no exact form
        return f"<p>{escape(str(error))}</p>"
    lines = [
        f"<p>M(θ) θ̈ + C(θ, θ̇) θ̇ + g(θ) + friction = τ, numbers rounded to {digits} digits; "
        "θ in rad or m, in the order of the table of joints.</p>"
    ]
    for name, markup in found.items():
        if len(markup) > MOST_MARKUP:
            lines.append(f"<p>{TITLES[name]} is too long to print here.</p>")
            continue
        lines.append(f'<h3>{TITLES[name]} {name}</h3><div class="equation">{markup}</div>')
    return "\n".join(lines)


def _markup(form: Any, digits: int) -> str:
    """MathML of a form, or that it is zero."""
    if not form.text():
        return "<math><mn>0</mn></math>"
    return form.mathml(digits).replace(TIMES, THIN_SPACE)
