"""Text of the readings: their common style, vectors and shares."""

from collections.abc import Iterable

from kinetree.base.tables import steady_number
from kinetree.scalars import Scalar

COLOURS = {
    "inertia": "#2e86c1",
    "Coriolis": "#8e44ad",
    "gravity": "#27ae60",
    "friction": "#d4ac0d",
    "external": "#c0392b",
}
# curves, chosen to be told apart with any kind of colour vision
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
