"""How a LimitReport looks: a table of plain text, and one of rich; both fit a narrow terminal."""

from math import isfinite, isnan
from typing import Any

from kinetree.motion.limit_report import JointLoad, LimitReport

# heading and what it belongs to; "used" is the share of the limit at the peak
COLUMNS = (
    ("joint", ""),
    ("range", "position"),
    ("peak", "speed"),
    ("used", "speed"),
    ("peak", "torque"),
    ("used", "torque"),
    ("RMS", "torque"),
    ("mean", "torque"),
    ("peak", "power"),
    ("drawn", "energy"),
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
        (_number(load.peak_speed, 3), speed),
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
    heads = [name + " " * (k > 0) for k, (name, _) in enumerate(COLUMNS)]
    groups = [f"{group} " for group in _groups(report)]
    columns = list(zip(groups, heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = [_line(row, widths) for row in (groups, heads, *rows)]
    said = list(report.verdict())
    text = [report.headline(), "", *lines, *([""] if said else []), *(f"  - {x}" for x in said)]
    return "\n".join(line.rstrip() for line in text)


def as_rich(report: LimitReport) -> Any:
    """The report as something that rich prints: violations red, what is near a limit yellow."""
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    colour = "green" if report.ok else "red"
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), header_style="bold")
    for (name, _), group in zip(COLUMNS, _groups(report), strict=True):
        justify = "left" if name == "joint" else "right"
        table.add_column(f"{group}\n{name}", justify=justify, overflow="fold", vertical="bottom")
    for load in report.joints:
        styles = [_style(load, k) for k in range(len(COLUMNS))]
        row = zip(cells(report, load), styles, strict=True)
        table.add_row(*(Text(x, style="bold red" if bad else near) for (x, bad), near in row))
    said = [Padding(Text(f"- {x}", style="" if report.ok else colour), (0, 0, 0, 1))
            for x in report.verdict()]  # fmt: skip
    return Group(Text(report.headline(), style=f"bold {colour}"), table, *said)


def _style(load: JointLoad, k: int) -> str:
    use = {3: load.speed_use, 5: load.torque_use}.get(k, 0.0)
    return "yellow" if use > NEAR else ""


def _groups(report: LimitReport) -> list[str]:
    """What stands above the headings: each quantity over its first column, then its unit."""
    slides = SLIDES if _all_slide(report) else {}
    texts, last = [], ""
    for _, group in COLUMNS:
        unit = slides.get(group, UNITS.get(group, ""))
        lone = sum(other == group for _, other in COLUMNS) == 1
        if not group:
            texts.append("")
        elif group != last:
            texts.append(f"{group}, {unit}" if lone else group)
        else:
            texts.append(unit if texts[-1] == group else "")
        last = group
    return texts


def _all_slide(report: LimitReport) -> bool:
    return all(load.sliding for load in report.joints)


def _line(texts: Any, widths: list[int]) -> str:
    """Names to the left, numbers to the right."""
    first, *rest = zip(texts, widths, strict=True)
    return "  " + " ".join([first[0].ljust(first[1]), *(x.rjust(width) for x, width in rest)])


def _number(x: float, digits: int = 2) -> str:
    if isnan(x):
        return "-"
    return f"{x:.{digits}f}" if abs(x) < 10 ** (6 - digits) else f"{x:.4g}"


def _range(low: float, high: float) -> str:
    return "-" if isnan(low) else f"{_number(low)} .. {_number(high)}"


def _percent(share: float, limit: float) -> str:
    return f"{100 * share:.0f} %" if isfinite(limit) else "-"
