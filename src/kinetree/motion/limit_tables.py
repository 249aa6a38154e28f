"""How a LimitReport looks: a table of plain text, and one of rich; both fit a narrow terminal."""

from math import isfinite, isnan
from typing import Any

from kinetree.base.tables import table
from kinetree.motion.limit_report import JointLoad, LimitReport

# what a column belongs to, and its heading; "used" is the share of the limit at the peak
COLUMNS = (
    ("", "joint"),
    ("position", "range"),
    ("speed", "peak"),
    ("", "used"),
    ("torque", "peak"),
    ("", "used"),
    ("torque", "RMS"),
    ("torque", "mean"),
    ("power", "peak"),
    ("energy", "drawn"),
)
UNITS = {"position": "rad", "speed": "rad/s", "torque": "N m", "power": "W", "energy": "J"}
SLIDES = {"position": "m", "speed": "m/s", "torque": "N"}
MARK = "!"
NEAR = 0.9  # share of a limit from which on it is shown as near


def cells(report: LimitReport, load: JointLoad) -> list[tuple[str, bool]]:
    """Text of a joint's row and whether it shows a violation."""
    position, speed, torque = (
        report.violated(load.name, x) for x in ("position", "speed", "torque")
    )
    return [
        (load.name + (" (m, N)" if load.sliding and not _all_slide(report) else ""), False),
        (_range(load.lowest, load.highest), position),
        (_number(load.peak_speed), speed),
        (_percent(load.speed_use, load.speed_limit), speed),
        (_number(load.peak_torque), torque),
        (_percent(load.torque_use, load.torque_limit), torque),
        (_number(load.rms_torque), False),
        (_number(load.mean_torque), False),
        (_number(load.peak_power), False),
        (_number(load.drawn), False),
    ]


def as_text(report: LimitReport) -> str:
    """The report in plain text; what is beyond a limit is marked with "!"."""
    rows = [
        [text + (MARK if bad else " " * (k > 0)) for k, (text, bad) in enumerate(cells(report, x))]
        for x in report.joints
    ]
    heads = [[f"{text} " for text in line] for line in _heads(report)]
    columns = list(zip(*heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = [_line(row, widths) for row in (*heads, *rows)]
    said = list(report.verdict())
    text = [report.headline(), "", *lines, *([""] if said else []), *(f"  - {x}" for x in said)]
    return "\n".join(line.rstrip() for line in text)


def as_html(report: LimitReport) -> str:
    """The report as a notebook shows it; what is beyond a limit is marked with "!"."""
    heads = [" ".join(filter(None, head)) for head in zip(*_heads(report), strict=True)]
    rows = [[text + MARK * bad for text, bad in cells(report, load)] for load in report.joints]
    return table(report.headline(), heads, rows, notes=report.verdict())


def as_rich(report: LimitReport) -> Any:
    """The report as something that rich prints: violations red, what is near a limit yellow."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    colour = "green" if report.ok else "red"
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, header_style="bold")
    for k, head in enumerate(zip(*_heads(report), strict=True)):
        table.add_column(
            "\n".join(head), justify="right" if k else "left", overflow="fold", no_wrap=k == 1
        )
    for load in report.joints:
        styles = [_style(load, k) for k in range(len(COLUMNS))]
        row = zip(cells(report, load), styles, strict=True)
        table.add_row(*(Text(x, style="bold red" if bad else near) for (x, bad), near in row))
    said = Table.grid(padding=(0, 1))
    for x in report.verdict():
        said.add_row("-", Text(x, style="" if report.ok else colour))
    headline = Text(report.headline() + "\n", style=f"bold {colour}")
    return Group(headline, table, Text(""), said)


def _style(load: JointLoad, k: int) -> str:
    use = {3: load.speed_use, 5: load.torque_use}.get(k, 0.0)
    return "yellow" if use > NEAR else ""


def _heads(report: LimitReport) -> list[list[str]]:
    """The lines above the numbers: quantity, its statistic, its unit."""
    units = UNITS | SLIDES if _all_slide(report) else UNITS
    shown = [group if group != before else "" for (group, _), before in _with_before()]
    return [shown, [head for _, head in COLUMNS], [units.get(group, "") for group, _ in COLUMNS]]


def _with_before() -> Any:
    """Every column with what was last named above the columns before it."""
    last = ""
    for column in COLUMNS:
        yield column, last
        last = column[0] or last


def _all_slide(report: LimitReport) -> bool:
    return all(load.sliding for load in report.joints)


def _line(texts: Any, widths: list[int]) -> str:
    """Names to the left, numbers to the right."""
    first, *rest = zip(texts, widths, strict=True)
    return "  " + " ".join([first[0].ljust(first[1]), *(x.rjust(width) for x, width in rest)])


def _number(x: float) -> str:
    if isnan(x):
        return "-"
    if abs(x) >= 9999.5:
        return f"{x:.3g}"
    return f"{x + 0:.{2 if abs(x) < 9.995 else 1}f}".replace("-0.00", "0.00")


def _range(low: float, high: float) -> str:
    return "-" if isnan(low) else f"{_number(low)} .. {_number(high)}"


def _percent(share: float, limit: float) -> str:
    return f"{100 * share:.0f} %" if isfinite(limit) else "-"
