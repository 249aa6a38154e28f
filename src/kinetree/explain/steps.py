"""The recursion as steps for a page: equations whose terms are marked, rows, vectors to draw.

Every quantity of a step has an equation in MathML in which each term stands in an <mrow> with
data-term; the rows of numbers have the same names.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.errors import InputError
from kinetree.explain.explain import Explanation, explain
from kinetree.explain.node import Node, Quantity, code_line, marked, vector
from kinetree.explain.page import OPTIONAL, joint_unit
from kinetree.explain.record import Part, Term
from kinetree.explain.words import SYMBOLS, components
from kinetree.model import WORLD, Model
from kinetree.model.inputs import TipWrench, Wrenches, link_adjoints
from kinetree.present.mathml import from_latex

OUTWARD, INWARD = "outward", "inward"
QUANTITIES = {OUTWARD: ("V", "dV"), INWARD: ("F", "tau")}
LETTERS = {"V": ("omega", "v"), "dV": ("alpha", "a"), "F": ("n", "f")}
RECORDED = {"V": ("omega", "v"), "dV": ("alpha", "a_e"), "F": ("n", "f")}
UNFOLDED = ("V", "dV", "F")
PARENT = {"V": r"\mathrm{Ad}_{ip} V_{%d}", "dV": r"\mathrm{Ad}_{ip} \dot V_{%d}"}


def recursion_steps(explanation: Explanation) -> list[dict[str, Any]]:
    """Both passes, one link a step: outward V and dV of every link, then inward F and tau.

    explanation: of numbers, in the screw form.

    Returns:
        For each step `pass`, `link`, `name`, `title` and `quantities`. A quantity has `symbol`,
        `meaning`, `mathml`, `unit`, `frame`, `columns`, `rows` (`term`, `name`, `values`), `value`,
        `arrows` (`kind`, `unit`, `from`, `vector`, both in {s}) and `code` (`file`, `line`,
        `text`).
    """
    if explanation.formulation != "screw":
        raise InputError(
            f"the explanation is in the {explanation.formulation} form; steps are shown for the "
            'screw form. Call explain with formulation="screw".'
        )
    links = range(len(explanation.links))
    order = [(OUTWARD, i) for i in links] + [(INWARD, i) for i in reversed(links)]
    return [_step(explanation, direction, i) for direction, i in order]


def _step(explanation: Explanation, direction: str, i: int) -> dict[str, Any]:
    link = explanation.links[i]
    way = f"from {link.parent}" if direction == OUTWARD else f"to {link.parent}"
    return {
        "pass": direction,
        "link": i,
        "name": link.name,
        "title": f"{link.name}, {direction} {way} by {link.joint} ({link.type})",
        "quantities": [_quantity(explanation, i, x) for x in QUANTITIES[direction]],
    }


def _quantity(explanation: Explanation, i: int, symbol: str) -> dict[str, Any]:
    link = explanation.links[i]
    term = link[symbol]
    latex, meaning, units = SYMBOLS[symbol]
    parts = shown_parts(term)
    names = [text for text, _ in components(symbol)] if symbol != "tau" else list(link.rates)
    code = code_line("tau" if symbol == "tau" else symbol)
    return {
        "symbol": symbol,
        "meaning": meaning,
        "mathml": term_equation(rf"{latex}_{{{i + 1}}}", parts),
        "unit": joint_unit(link) if symbol == "tau" else ", ".join(units),
        "frame": "" if symbol == "tau" else f"{{{link.name}}}",
        "columns": names,
        "rows": [{"term": x.name, "name": x.name, "values": _floats(x.value)} for x in parts],
        "value": _floats(term.value),
        "arrows": _arrows(explanation, i, symbol),
        "code": None if code is None else {"file": code.file, "line": code.line, "text": code.text},
    }


def shown_parts(term: Term) -> list[Part]:
    """The parts of a quantity, without drives, wrenches and other optional ones that are zero."""
    return [part for part in term.parts if part.name not in OPTIONAL or np.any(_floats(part.value))]


def term_equation(left: str, parts: list[Part]) -> str:
    """The equation of a quantity in MathML, each part in an <mrow> with data-term.

    left: LaTeX of the symbol.
    """
    terms = [marked(x.name, part_latex(x), first=k == 0) for k, x in enumerate(parts)]
    return " ".join([from_latex(f"{left} ="), *terms])


def part_latex(part: Part) -> str:
    """The formula of a part; one that is a sum stands in parentheses."""
    body = part.latex.removeprefix("-")
    sign = part.latex[: len(part.latex) - len(body)]
    depth, loose = 0, False
    for letter in body:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(letter, 0)
        loose = loose or (letter == "+" and depth == 0)
    return f"{sign}({body})" if loose and sign else part.latex


def _arrows(explanation: Explanation, i: int, symbol: str) -> list[dict[str, Any]]:
    """Both halves of a quantity at the origin of its link, in {s}; of tau the joint's force."""
    recursion, link = explanation.recursion, explanation.links[i]
    T = np.asarray(recursion.T_si[i], float)
    start = T[:3, 3].tolist()
    if symbol == "tau":
        A = np.asarray(explanation.model.A[i], float)
        turned = A @ np.asarray(link["tau"].value, float)
        halves = [("tau", "N m", turned[:3]), ("tau", "N", turned[3:])]
        halves = [x for x in halves if x[2].any()]
    else:
        names = zip(LETTERS[symbol], SYMBOLS[symbol][2], RECORDED[symbol], strict=True)
        halves = [(kind, unit, getattr(recursion, name)[i]) for kind, unit, name in names]
    return [
        {"kind": kind, "unit": unit, "from": start, "vector": (T[:3, :3] @ _array(x)).tolist()}
        for kind, unit, x in halves
    ]


def unfold_vector(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    link: int | str,
    symbol: str,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
) -> Node:
    """V, dV or F of a link as a tree of 6-vectors that add up, all in the frame of the link.

    V and dV unfold towards the base, F towards the last links.

    q, dq, ddq, F_ext, F_tip, V_base, dV_base: as in `explain`; numbers only. link: number or name
    of the link. symbol: "V", "dV" or "F".
    """
    if symbol not in UNFOLDED:
        raise InputError(f"symbol is {symbol!r}; expected one of {', '.join(UNFOLDED)}.")
    names = model.link_names
    i = names.index(link) if isinstance(link, str) and link in names else link
    if not isinstance(i, int) or not 0 <= i < len(names):
        raise InputError(f"there is no moving link {link!r}; there are {', '.join(names)}.")
    loads: dict[str, Any] = {"F_ext": F_ext, "F_tip": F_tip, "V_base": V_base, "dV_base": dV_base}
    return unfold_vectors(explain(model, q, dq, ddq, **loads), i, symbol)


def unfold_vectors(explanation: Explanation, i: int, symbol: str) -> Node:
    """`unfold_vector` of an explanation in the screw form, for link number i."""
    model, names = explanation.model, explanation.model.link_names
    Ad_ip = [_array(x) for x in link_adjoints(model, explanation.arguments["q"])]
    frame, unit = f"{{{names[i]}}}", ", ".join(SYMBOLS[symbol][2])
    steps = {x.link: x for x in explanation.links}

    def node(name: str, latex: str, x: Array, key: str, **rest: Any) -> Node:
        return Node(name, latex, tuple(x.tolist()), unit, frame, code_line(key), **rest)

    def parts_of(k: int, X: Array, *, gravity: bool = True) -> tuple[Node, ...]:
        """The parts of link k, each carried into the frame of link i by X."""
        children: list[Node] = []
        p = model.parent[k]
        for part in steps[k][symbol].parts:
            value, latex = X @ _array(part.value), part_latex(part)
            if not value.any() or (part.name == "gravity" and not gravity):
                continue
            below: tuple[Node, ...] = ()
            name, key = part.name, symbol
            if part.name == "parent":
                name = f"parent {model.base_name if p == WORLD else names[p]}"
                below = () if p == WORLD else parts_of(p, X @ Ad_ip[k], gravity=symbol != "dV")
                latex = latex if p == WORLD else PARENT[symbol] % (p + 1)
            elif part.name.startswith("child "):
                c = names.index(part.name.removeprefix("child "))
                below, key = parts_of(c, X @ Ad_ip[c].T), "F child"
                latex = rf"\mathrm{{Ad}}_{{{c + 1},i}}^T F_{{{c + 1}}}"
            elif part.name == "rotors":
                key = "F rotors"
            numbers = () if below else _numbers(explanation, k, part.name)
            children.append(node(name, latex, value, key, numbers=numbers, children=below))
        return tuple(children)

    latex = rf"{SYMBOLS[symbol][0]}_{{{i + 1}}}"
    title = f"{SYMBOLS[symbol][1]} of {names[i]}"
    value = _array(getattr(explanation.recursion, symbol)[i])
    return node(title, latex, value, symbol, children=parts_of(i, np.eye(6)))


def _numbers(explanation: Explanation, k: int, part: str) -> tuple[Quantity, ...]:
    """Factors of a part of link k, in the frame of link k."""
    model, arguments = explanation.model, explanation.arguments
    joint, frame = model.joints[k], f"{{{model.link_names[k]}}}"
    dofs, axis = list(joint.dofs), _array(model.A[k])
    V, mass = _array(explanation.recursion.V[k]), Quantity("mass", float(model.m[k]), "kg")
    known: dict[str, Callable[[], tuple[Quantity, ...]]] = {
        "joint rate": lambda: (
            vector("axis A", axis.T[0] if len(dofs) == 1 else axis.T, "", frame),
            *(Quantity(f"rate of {model.dof_names[d]}", float(arguments["dq"][d])) for d in dofs),
        ),
        "joint acceleration": lambda: (
            vector("axis A", axis.T[0] if len(dofs) == 1 else axis.T, "", frame),
            *(Quantity(f"acceleration of {model.dof_names[d]}", float(arguments["ddq"][d]))
              for d in dofs),
        ),
        "velocity product": lambda: (vector("twist V", V, "rad/s, m/s", frame),),
        "acceleration": lambda: (mass, vector("spatial inertia G", _array(model.G[k]), "", frame)),
        "gravity": lambda: (mass, vector("gravity", _array(model.gravity[3:]), "m/s^2", "{s}")),
    }  # fmt: skip
    return known[part]() if part in known else ()


def _array(x: object) -> Array:
    return np.asarray(x, float)


def _floats(x: object) -> list[float]:
    return np.atleast_1d(np.asarray(x, float)).tolist()
