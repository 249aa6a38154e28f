"""`kinetree watch`: contacts in a recording, from joint forces that the motion does not explain."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from kinetree.cli.arguments import (
    USUAL,
    Options,
    RobotName,
    file_argument,
    number_argument,
    split,
    table_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.messages import wrapped
from kinetree.cli.output import check_page, compiling, print_json, waiting
from kinetree.cli.states import units
from kinetree.cli.tables import column_table, console, screen_table, unit_column
from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing, number
from kinetree.errors import InputError
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.controllers import Contact, MomentumObserver
    from kinetree.identify import Recording
    from kinetree.motion.recordings import ReadRequest

UNEXPLAINED = 0.5  # of the joint forces: a robot that leaves more of them is not the recorded one
UNUSED = "accelerations of"  # begin notes of the recording on numbers that are not used here
HIGHEST = 0.4  # of the sampling frequency: the highest low-pass of rates
ITSELF = "the recording itself"


def watch(
    robot: RobotName,
    data: Annotated[
        str,
        table_argument(
            "Recording (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, tau:JOINT, optionally "
            "dq:JOINT; or - for standard input."
        ),
    ],
    /,
    *,
    reference: Annotated[
        Path | None,
        file_argument("Another recording, without contacts, that sets the thresholds."),
    ] = None,
    contact_free: Annotated[
        list[str] | None,
        words_argument(
            "Two times of DATA, s, without contacts between them; that part sets the thresholds.",
            "FROM TO",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        words_argument(
            "Threshold for all joints, N m or N, or for some as JOINT=NUMBER.", "NUMBER..."
        ),
    ] = None,
    false_alarms: Annotated[
        float, number_argument("Accepted number of false alarms in an hour.")
    ] = 1.0,
    gain: Annotated[
        float,
        number_argument("Gain of the observer, 1/s: contacts are seen after about 1 / GAIN."),
    ] = 30.0,
    cutoff: Annotated[
        float | None,
        number_argument("Low-pass frequency for rates, Hz; GAIN / pi if left out."),
    ] = None,
    report: Annotated[
        Path | None, file_argument("File for a page with plots of all joints, .html.")
    ] = None,
    options: Options = USUAL,
) -> int:
    """Find contacts in a recording: joint forces that neither motion nor friction explains.

    A momentum observer estimates the forces from outside. A contact begins where a joint passes its
    threshold, and is on the link of the last such joint, or beyond it. Thresholds come from a part
    without contacts if one is given, else from the spread of the whole recording, and are 1 % of
    the largest force of the joint at least. The weakest contacts are seen with an identified robot.
    The exit code is 0 if there is no contact, else 1.

    For example:

    ```
    kinetree watch arm.urdf data.csv
    kinetree watch arm.urdf data.csv --contact-free 0 2 --report contacts.html
    ```

    JSON has robot, ok (no contact), contacts (start, end, joint, peak, at, joints, link, unit),
    joints (joint, rms, peak, threshold, unit), thresholds_from,
    false_alarms, gain, duration, samples, notes, report.
    """
    from kinetree.cli.rows import as_file, request_of
    from kinetree.controllers import MomentumObserver
    from kinetree.identify.recording import recording_of

    times = read_times(contact_free)
    chosen = read_thresholds(threshold, reference, times)
    _check_above_zero(gain, "--gain", ", 1/s")
    _check_above_zero(false_alarms, "--false-alarms")
    if report is not None:
        check_page(report)
    loaded = find_robot(robot, options.reading)
    observer = MomentumObserver(loaded, gain)
    request = request_of(
        loaded.model, options.recorded, degrees=options.degrees, required=("t", "q", "tau")
    )

    def read(name: str) -> "Recording":
        with as_file(name) as path:
            frequency = rate_cutoff(path, request, gain) if cutoff is None else cutoff
            return recording_of(path, loaded, request, cutoff=frequency)

    recording = read(data)
    quiet, source = None, ITSELF
    if reference is not None:
        quiet, source = read(str(reference)), str(reference)
    elif times is not None:
        quiet, source = stretch(recording, times), f"{times[0]:g} to {times[1]:g} s"
    with waiting(compiling("the dynamics", loaded.model)):
        limits = _limits(observer, chosen, quiet, recording, false_alarms)
        origin = "--threshold" if chosen.all else source
        result = watched(observer, recording, limits, origin)
    page = None
    if report is not None:
        from kinetree.views.page.contacts import contacts_page

        text = contacts_page(loaded, result.t, result.external, limits, result.contacts)
        report.write_text(text, encoding="utf-8", newline="\n")
        page = str(report)
    if options.json:
        print_json(document(result) | {"false_alarms": false_alarms, "report": page})
    else:
        show(result)
        if page is not None:
            console().print(f"report  {page}", soft_wrap=True)
    return 1 if result.contacts else 0


def rate_cutoff(path: Path, request: "ReadRequest", gain: float) -> float:
    """Twice the corner frequency of the observer, Hz, or less if samples are far apart.

    A lower one would smear contacts, and the observer attenuates the noise above it.
    """
    from kinetree.motion.recordings.read import read_table

    steps = np.diff(read_table(path, request).values["t"])
    dt = float(np.median(steps)) if len(steps) else 0.0
    return min(gain / np.pi, HIGHEST / dt) if dt > 0 else gain / np.pi


def read_times(words: Sequence[str] | None) -> tuple[float, float] | None:
    """The times of --contact-free."""
    if words is None:
        return None
    try:
        first, last = map(float, split(words))
    except ValueError:
        raise InputError(
            f"--contact-free is {' '.join(words)!r}; expected two times, s, such as 0 5."
        ) from None
    return first, last


@dataclass(frozen=True)
class Chosen:
    """Thresholds given by hand: for all joints, or for some."""

    all: float | None
    some: dict[str, float]


def read_thresholds(
    words: Sequence[str] | None, reference: Path | None, contact_free: tuple[float, float] | None
) -> Chosen:
    """The thresholds of --threshold; raise InputError if options contradict each other."""
    if reference is not None and contact_free is not None:
        raise InputError(
            "--reference and --contact-free are both given; expected one of them to set the "
            "thresholds."
        )
    whole: float | None = None
    some: dict[str, float] = {}
    for word in words or ():
        joint, sign, value = word.rpartition("=")
        try:
            x = float(value)
        except ValueError:
            x = float("nan")
        if not 0 < x < float("inf"):
            raise InputError(
                f"--threshold is {word!r}; expected a number above 0, N m or N, for all joints, or "
                "JOINT=NUMBER."
            )
        if joint in some or (not sign and whole is not None):
            raise InputError(f"--threshold gives {joint or 'all joints'!r} twice; expected once.")
        if sign:
            some[joint] = x
        else:
            whole = x
    if whole is not None and (reference is not None or contact_free is not None):
        other = "--contact-free" if reference is None else "--reference"
        raise InputError(
            f"--threshold {whole:g} sets all thresholds, and {other} would, too; expected one of "
            "them, or --threshold JOINT=NUMBER for some joints."
        )
    return Chosen(whole, some)


def _check_above_zero(x: float, name: str, unit: str = "") -> None:
    if not 0 < x < float("inf"):
        raise InputError(f"{name} is {x:g}; expected a number above 0{unit}.")


def stretch(data: "Recording", times: tuple[float, float]) -> "Recording":
    """The part of a recording between two times."""
    first, last = times
    inside = (data.t >= first) & (data.t <= last)
    if not first < last or not inside.any():
        raise InputError(
            f"--contact-free is {first:g} {last:g}; expected two times, the earlier one first, "
            f"within the recording: {data.t[0]:.6g} to {data.t[-1]:.6g} s."
        )
    return data.part(np.flatnonzero(inside))


def _limits(
    observer: "MomentumObserver",
    chosen: Chosen,
    quiet: "Recording | None",
    data: "Recording",
    false_alarms: float,
) -> Array:
    """Thresholds of all joints.

    They come from a motion without contacts, or from the recording itself.
    """
    names = list(observer.model.dof_names)
    for joint in chosen.some:
        if joint not in names:
            raise InputError(
                f"--threshold names {joint!r}, which {observer.model.name!r} does not have; "
                f"expected one of {', '.join(names)}."
            )
    if chosen.all is not None:
        limits = np.full(len(names), chosen.all)
    else:
        motion, contacts = (data, True) if quiet is None else (quiet, False)
        limits = observer.thresholds(motion, false_alarms=false_alarms, contacts=contacts)
    for joint, x in chosen.some.items():
        limits[names.index(joint)] = x
    return limits


@dataclass(frozen=True, eq=False)
class Watched:
    """External forces of a recording, (T, n), thresholds, contacts, and notes on them."""

    robot: Robot
    t: Array
    external: Array
    limits: Array
    contacts: "list[Contact]"
    source: str
    gain: float
    notes: tuple[str, ...]


def watched(
    observer: "MomentumObserver",
    data: "Recording",
    limits: Array,
    source: str,
) -> Watched:
    """The contacts of a recording, with thresholds of the joints."""
    from kinetree.controllers.contacts import ContactRules, find_contacts

    output, rules = observer.output(data), ContactRules()
    external = output.r
    model, gain = observer.model, float(np.max(np.asarray(observer.gain)))
    left = np.median(np.abs(external), axis=0) > UNEXPLAINED * np.median(np.abs(data.tau), axis=0)
    notes = [x for x in data.notes if not x.startswith(UNUSED)]
    if left.any():
        names = [name for name, x in zip(model.dof_names, left, strict=True) if x]
        notes.append(
            f"the robot explains less than half of the joint forces of {listing(names, 5)}: "
            "weak contacts are not seen there. kinetree identify finds its friction and masses"
        )
    contacts = find_contacts(model, output, limits, rules)
    return Watched(
        Robot(model), data.t, external, limits, contacts, source, gain,
        tuple(notes),
    )  # fmt: skip


def document(result: Watched) -> dict[str, Any]:
    """Contacts and thresholds, as JSON."""
    names, unit = list(result.robot.model.dof_names), units(result.robot.model, "tau")
    rms, peak = (result.external**2).mean(axis=0) ** 0.5, np.abs(result.external).max(axis=0)
    columns = zip(names, rms, peak, result.limits, unit, strict=True)
    keys = "joint", "rms", "peak", "threshold", "unit"
    return {
        "robot": result.robot.name,
        "ok": not result.contacts,
        "contacts": [asdict(x) | {"unit": unit[names.index(x.joint)]} for x in result.contacts],
        "joints": [dict(zip(keys, x, strict=True)) for x in columns],
        "thresholds_from": result.source,
        "gain": result.gain,
        "duration": float(result.t[-1] - result.t[0]),
        "samples": len(result.t),
        "notes": list(result.notes),
    }


def show(result: Watched) -> None:
    """Print contacts, external forces beside thresholds, and notes."""
    data, screen = document(result), console()
    count = counted(len(result.contacts), "contact") if result.contacts else "no contact"
    screen.print(
        f"{result.robot.name}: {count} in {number(data['duration'], 3)} s",
        style="bold red" if result.contacts else "bold green",
    )
    screen.print()
    if result.contacts:
        rows = [
            (
                f"{x['start']:.3f}", f"{x['end']:.3f}", x["joint"],
                number(x["peak"], 3), x["unit"], f"{x['at']:.3f}", x["link"],
            )
            for x in data["contacts"]
        ]  # fmt: skip
        heads = ["from s", "to s", "joint", "peak", "unit", "at s", "on or beyond"]
        screen.print(screen_table("contacts", heads, rows, left=(2, 4, 6)))
        screen.print()
    unit = [x["unit"] for x in data["joints"]]
    columns = [("joint", [x["joint"] for x in data["joints"]])]
    for key in ("rms", "peak", "threshold"):
        columns.append(unit_column(key, [number(x[key], 3) for x in data["joints"]], unit))
    screen.print(column_table("forces from outside", columns))
    screen.print(f"thresholds from {result.source}; gain {number(result.gain, 3)} 1/s.")
    for note in result.notes:
        text = wrapped(f"note: {note}", screen.width, "  ")
        screen.print(text, soft_wrap=True)
