"""The two passes of Newton and Euler, one link at a time, with the numbers of each step."""

from dataclasses import dataclass

import numpy as np

from kinetree.algorithms import Recursion
from kinetree.explain import explain
from kinetree.explain import Explanation, Term
from kinetree.model import Model
from kinetree.views.arrows import HALVES, Arrow, recursion_arrows
from kinetree.views.workbench.formulas import STEPS
from kinetree.views.workbench.state import State, external_wrenches
from kinetree.views.workbench.style import reading
from kinetree.views.workbench.text import escape, number

OUTWARD, INWARD = "outward", "inward"
SYMBOLS = {OUTWARD: ("V", "dV"), INWARD: ("F", "tau")}
LETTERS = {"omega": "ω", "alpha": "α"}
NAMES = {"V": "V", "dV": "dV", "F": "F", "tau": "τ"}
ROWS = {
    "V": ("ωx", "ωy", "ωz", "vx", "vy", "vz"),
    "dV": ("αx", "αy", "αz", "ax", "ay", "az"),
    "F": ("mx", "my", "mz", "fx", "fy", "fz"),
}


@dataclass(frozen=True)
class Step:
    """One step: a link in one of the passes."""

    direction: str
    link: int


def steps(model: Model) -> tuple[Step, ...]:
    """Outward over all links, parents first, then inward, children first."""
    links = list(model.links)
    outward = [Step(OUTWARD, i) for i in links]
    return (*outward, *(Step(INWARD, i) for i in reversed(links)))


def explained(state: State) -> Explanation:
    """Both passes at the state, with the parts of every quantity."""
    F_ext = external_wrenches(state)
    return explain(state.robot.model, state.q, state.dq, state.ddq, F_ext)


def step_arrows(recursion: Recursion, plan: tuple[Step, ...], k: int, length: float) -> list[Arrow]:
    """Arrows of what has been found when step k is done: V and dV, and F once inward."""
    done = plan[: k + 1]
    step = plan[k]
    links = range(len(recursion.T_si))
    quantities = ("F",) if step.direction == INWARD else ("V", "dV")
    known = {s.link for s in done if s.direction == step.direction}
    return [
        arrow
        for quantity in quantities
        for arrow in recursion_arrows(recursion, quantity, length, links)
        if arrow.link in known and np.linalg.norm(arrow.value) > 1e-9
    ]


def step_reading(explanation: Explanation, plan: tuple[Step, ...], k: int) -> str:
    """The equations of step k and each part of them in numbers."""
    step = plan[k]
    link = explanation[step.link]
    way = "from parents to children" if step.direction == OUTWARD else "from children to parents"
    body = (
        f"<h4>Step {k + 1} of {len(plan)}: {step.direction}, {way}</h4>"
        f"<p>link <b>{escape(link.name)}</b> on joint <b>{escape(link.joint)}</b> "
        f"({escape(link.type)}), parent <b>{escape(link.parent)}</b></p>"
    )
    for symbol in SYMBOLS[step.direction]:
        body += f"{STEPS[symbol]}{term_table(symbol, link[symbol], link.rates)}"
        if symbol in HALVES:
            body += halves_key(symbol)
    return reading(body)


def term_table(symbol: str, term: Term, rates: tuple[str, ...]) -> str:
    """Parts side by side, and their sum; parts that are zero are left out."""
    parts = [part for part in term.parts if np.any(np.abs(np.asarray(part.value, float)) > 1e-12)]
    names = [f'<th title="{escape(p.equation)}">{escape(p.name)}</th>' for p in parts]
    rows = ROWS.get(symbol, rates)
    total = np.asarray(term.value, float)
    body = "".join(
        f"<tr><td>{escape(name)}</td>"
        + "".join(f"<td>{number(np.asarray(p.value, float)[r], 3)}</td>" for p in parts)
        + f'<td><b data-step="{symbol},{r}" data-value="{float(total[r])!r}">'
        f"{number(total[r])}</b></td></tr>"
        for r, name in enumerate(rows)
    )
    head = f"<tr><th></th>{''.join(names)}<th>{NAMES[symbol]}</th></tr>"
    return f'<table class="kt-table kt-step"><thead>{head}</thead><tbody>{body}</tbody></table>'


def halves_key(symbol: str) -> str:
    """Which colour of arrow is which half."""
    keys = "".join(
        f'<span><i class="kt-key" style="background:rgb{colour}"></i>{LETTERS.get(name, name)}, '
        f"{unit.replace('^2', '²')}</span>"
        for name, unit, colour in HALVES[symbol]
    )
    return f"<p>arrows:{keys}</p>"
