"""Markup of the readings: style sheet, vectors and shares, and equations as MathML."""

from collections.abc import Iterable
from html import escape

from kinetree.base.tables import steady_number
from kinetree.errors import KinetreeError
from kinetree.robot import Robot
from kinetree.scalars import Scalar
from kinetree.views.page.report import closed_forms

COLOURS = {
    "inertia": "#2e86c1",
    "Coriolis": "#8e44ad",
    "gravity": "#27ae60",
    "spring": "#17a589",
    "friction": "#d4ac0d",
    "external": "#c0392b",
    "constraints": "#c42c7a",
}
# curves, distinct with any kind of colour vision
CURVES = ("#2e86c1", "#e67e22", "#27ae60", "#c0392b", "#8e44ad", "#795548", "#d4ac0d", "#5d6d7e")

STYLE = """<style>
.kt{--kt-dim:#566573;--kt-line:#d5d8dc;--kt-over:#c0392b;
font:12px/1.35 system-ui,sans-serif;padding:6px 10px;overflow-x:auto}
[data-mantine-color-scheme=dark] .kt{--kt-dim:#aab7c4;--kt-line:#4a5563;--kt-over:#ff8a7a}
.kt h4{margin:8px 0 4px;font-size:12.5px}
.kt p{margin:3px 0 6px;color:var(--kt-dim)}
.kt-table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
.kt-table th{font-weight:600;color:var(--kt-dim);text-align:right;padding:1px 3px;font-size:11px}
.kt-table td{text-align:right;padding:1px 3px;white-space:nowrap}
.kt-table th:first-child,.kt-table td:first-child{text-align:left;max-width:104px;
overflow:hidden;text-overflow:ellipsis}
.kt-wide td:first-child{max-width:none}
.kt-step th{max-width:78px}
.kt-table tr.bar td{padding:0 3px 5px}
.kt-over{color:var(--kt-over);font-weight:700}
.kt-key{display:inline-block;width:9px;height:9px;border-radius:2px;margin:0 3px 0 9px}
.kt svg{display:block;width:100%}
.kt math{font-size:15px;margin:4px 0}
.kt-pre{font-family:ui-monospace,monospace;font-size:11px}
</style>"""


def reading(body: str) -> str:
    """Markup of a reading; each has the style sheet, so that no element depends on another."""
    return f'{STYLE}<div class="kt">{body}</div>'


def vector(x: Iterable[Scalar], digits: int = 3) -> str:
    """A row of numbers in parentheses."""
    return "(" + ", ".join(steady_number(value, digits) for value in x) + ")"


def percent(x: float) -> str:
    """A share of a limit in percent."""
    return f"{100 * x:.0f} %" if x < 9.995 else "≫ 100 %"


MOST_JOINTS = 3  # closed forms of robots with more joints are too long to read
ARGUMENTS = {"M": "θ", "C": "θ, θ̇", "g": "θ"}


def math(body: str) -> str:
    """One displayed equation."""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{body}</math>'


def sub(letter: str, index: str) -> str:
    """A letter with an index; an index of one or two letters is set letter by letter."""
    low = "".join(f"<mi>{x}</mi>" for x in index) if len(index) < 3 else f"<mi>{index}</mi>"
    return f"<msub><mi>{letter}</mi><mrow>{low}</mrow></msub>"


def dot(letter: str, index: str, dots: str = "˙") -> str:
    """A rate with an index."""
    return f"<msub><mover><mi>{letter}</mi><mo>{dots}</mo></mover><mi>{index}</mi></msub>"


def _ad(index: str) -> str:
    return f"<msub><mi>ad</mi>{sub('V', index)}</msub>"


def _transposed(body: str) -> str:
    return f"<msup><mrow>{body}</mrow><mi>T</mi></msup>"


_AD_IP, _AD_CI = sub("Ad", "ip"), sub("Ad", "ci")
_PLUS, _EQUALS, _MINUS = "<mo>+</mo>", "<mo>=</mo>", "<mo>−</mo>"
STEPS = {
    "V": math(
        f"<mrow>{sub('V', 'i')}{_EQUALS}{_AD_IP}{sub('V', 'p')}{_PLUS}{sub('A', 'i')}"
        f"{dot('q', 'i')}</mrow>"
    ),
    "dV": math(
        f"<mrow>{dot('V', 'i')}{_EQUALS}{_AD_IP}{dot('V', 'p')}{_PLUS}{sub('A', 'i')}"
        f"{dot('q', 'i', '¨')}{_PLUS}{_ad('i')}{sub('A', 'i')}{dot('q', 'i')}</mrow>"
    ),
    "F": math(
        f"<mrow>{sub('F', 'i')}{_EQUALS}{sub('G', 'i')}{dot('V', 'i')}{_MINUS}"
        f"{_transposed(_ad('i'))}{sub('G', 'i')}{sub('V', 'i')}{_MINUS}{sub('F', 'ext,i')}{_PLUS}"
        f"<munder><mo>∑</mo><mi>c</mi></munder>{_transposed(_AD_CI)}{sub('F', 'c')}</mrow>"
    ),
    "tau": math(
        f"<mrow>{sub('τ', 'i')}{_EQUALS}{_transposed(sub('A', 'i'))}{sub('F', 'i')}</mrow>"
    ),
}


def equations_reading(robot: Robot) -> str:
    """M, C and g in closed form for a small robot, and the recursion below."""
    recursion = (
        "<h4>The recursion (any robot)</h4><p>Outward, parents p before children:</p>"
        f"{STEPS['V']}{STEPS['dV']}<p>Inward, children c before parents:</p>{STEPS['F']}"
        f"{STEPS['tau']}<p>dV of the base is minus gravity. Twists and wrenches are angular first, "
        "in link frames; rotors and friction add to τ.</p>"
    )
    return reading(_closed_forms(robot) + recursion)


def _closed_forms(robot: Robot) -> str:
    """M(q), C(q, dq) and g(q) as MathML, or a sentence with the reason if they are not shown."""
    if robot.n > MOST_JOINTS:
        return (
            f"<p>Closed forms are shown for up to {MOST_JOINTS} joints; "
            f"{escape(robot.name)} has {robot.n}. <code>kt.symbolic(robot)</code> has them all.</p>"
        )
    try:
        found = closed_forms(robot, 4)
        return "".join(f"<h4>{name}({at})</h4>{found[name]}" for name, at in ARGUMENTS.items())
    except KinetreeError as error:
        return f"<p>No closed forms: {escape(str(error))}</p>"
