"""`kinetree watch`: contacts in a recording, from joint forces that the motion does not explain."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from kinetree.cli import options as opt
from kinetree.cli.app import command
from kinetree.cli.output import PAGES, Part, check_output, give, show, waiting
from kinetree.cli.recordings import as_file, request_of
from kinetree.cli.robots import find_robot, numbers_by_name, typed_number
from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing, number
from kinetree.errors import InputError
from kinetree.model.units import units
from kinetree.motion.recordings import ReadRequest
from kinetree.motion.recordings.read import read_table
from kinetree.present.tables import Column, Table
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.controllers import Contact, MomentumObserver
    from kinetree.identify import Recording as Samples

UNEXPLAINED = 0.5  # of the joint forces: a robot that leaves more of them is not the recorded one
UNUSED = "accelerations of"  # begin notes of the recording on numbers that are not used here
HIGHEST = 0.4  # of the sampling frequency: the highest low-pass of rates


@command("Identify", also="contacts collisions observe detect")
def run(
    robot: opt.RobotName,
    data: opt.Recording,
    /,
    *,
    reference: opt.File = None,
    contact_free: Annotated[opt.Numbers, Parameter(metavar="FROM TO")] = None,
    threshold: opt.Numbers = None,
    false_alarms: opt.Real = 1.0,
    gain: opt.Real = 30.0,
    cutoff: opt.Number = None,
    report: opt.Page = None,
    options: opt.Options = opt.USUAL,
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

    Args:
        data: Recording (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, tau:JOINT, optionally
            dq:JOINT; or - for standard input.
        reference: Another recording, without contacts, that sets the thresholds.
        contact_free: Two times of DATA, s, without contacts between them; that part sets the
            thresholds.
        threshold: Threshold for all joints, N m or N, or for some as JOINT=NUMBER.
        false_alarms: Accepted number of false alarms in an hour.
        gain: Gain of the observer, 1/s: contacts are seen after about 1 / GAIN.
        cutoff: Low-pass frequency for rates, Hz; GAIN / pi if left out.
    """
    from kinetree.controllers import MomentumObserver
    from kinetree.identify.recording import recording_of

    check_output(report, name="--report", endings=PAGES)
    for name, x in (("--gain", gain), ("--false-alarms", false_alarms)):
        if not 0 < x < float("inf"):
            raise InputError(f"{name} is {x:g}; expected a number above 0.")
    if reference is not None and contact_free:
        raise InputError("--reference and --contact-free both set the thresholds; leave one out.")
    loaded = find_robot(robot, options.reading)
    request = request_of(loaded.model, options.recorded, options.degrees, ("t", "q", "tau"))

    def read(name: str) -> "Samples":
        with as_file(name) as path:
            frequency = rate_cutoff(path, request, gain) if cutoff is None else cutoff
            return recording_of(path, loaded, request, cutoff=frequency)

    recording = read(data)
    quiet, source = None, "the recording itself"
    if reference is not None:
        quiet, source = read(str(reference)), str(reference)
    elif contact_free:
        quiet, source = stretch(recording, contact_free)
    with waiting(f"compiling the dynamics of {loaded.name}"):
        observer = MomentumObserver(loaded, gain)
        limits, all_typed = thresholds(observer, threshold, quiet, recording, false_alarms)
        found = watched(loaded, observer, recording, limits, "--threshold" if all_typed else source)
    if report is not None:
        from kinetree.views.page.contacts import contacts_page

        page = contacts_page(loaded, found.t, found.external, limits, found.contacts)
        report.write_text(page, encoding="utf-8", newline="\n")
    more = {"false_alarms": false_alarms, "report": None if report is None else str(report)}
    give(options.json, lambda: found.to_dict() | more, found.parts)
    if report is not None and not options.json:
        show([f"report  {report}"])
    return 1 if found.contacts else 0


def rate_cutoff(path: Path, request: ReadRequest, gain: float) -> float:
    """Twice the corner frequency of the observer, Hz, or less if samples are far apart.

    A lower one would smear contacts, and the observer attenuates the noise above it.
    """
    steps = np.diff(read_table(path, request).values["t"])
    dt = float(np.median(steps)) if len(steps) else 0.0
    return min(gain / np.pi, HIGHEST / dt) if dt > 0 else gain / np.pi


def stretch(data: "Samples", words: list[str]) -> tuple["Samples", str]:
    """The part of a recording between the two times of --contact-free, and its name."""
    times = [typed_number("--contact-free", "a time", x) for x in opt.split(words)]
    if len(times) == 2 and times[0] < times[1]:
        inside = np.flatnonzero((data.t >= times[0]) & (data.t <= times[1]))
        if len(inside):
            return data.part(inside), f"{times[0]:g} to {times[1]:g} s"
    raise InputError(
        f"--contact-free is {' '.join(words)}; expected two times, the earlier one first, within "
        f"the recording: {data.t[0]:.6g} to {data.t[-1]:.6g} s."
    )


def thresholds(
    observer: "MomentumObserver",
    words: list[str] | None,
    quiet: "Samples | None",
    data: "Samples",
    false_alarms: float,
) -> tuple[Array, bool]:
    """Thresholds of all joints, and whether one was typed for all.

    Others come from a motion without contacts, or from the recording itself.
    """
    names, pieces = list(observer.model.dof_names), opt.split(words)
    plain = [typed_number("--threshold", "all joints", x) for x in pieces if "=" not in x]
    some = numbers_by_name(
        "--threshold", [x for x in pieces if "=" in x], names, repr(observer.model.name)
    )
    if len(plain) > 1 or (plain and quiet is not None) or min([*plain, *some.values(), 1]) <= 0:
        raise InputError(
            f"--threshold is {' '.join(pieces)}; expected numbers above 0, N m or N: one for all "
            "joints, which needs no --reference or --contact-free, or JOINT=NUMBER for some."
        )
    if plain:
        limits = np.full(len(names), plain[0])
    else:
        motion = data if quiet is None else quiet
        limits = observer.thresholds(motion, false_alarms=false_alarms, contacts=quiet is None)
    for name, x in some.items():
        limits[names.index(name)] = x
    return limits, bool(plain)


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

    def to_dict(self) -> dict[str, Any]:
        """Contacts and thresholds, as JSON."""
        names, unit = list(self.robot.model.dof_names), units(self.robot.model, "tau")
        rms, peak = (self.external**2).mean(axis=0) ** 0.5, np.abs(self.external).max(axis=0)
        columns = zip(names, rms, peak, self.limits, unit, strict=True)
        keys = "joint", "rms", "peak", "threshold", "unit"
        return {
            "robot": self.robot.name,
            "ok": not self.contacts,
            "contacts": [asdict(x) | {"unit": unit[names.index(x.joint)]} for x in self.contacts],
            "joints": [dict(zip(keys, x, strict=True)) for x in columns],
            "thresholds_from": self.source,
            "gain": self.gain,
            "duration": float(self.t[-1] - self.t[0]),
            "samples": len(self.t),
            "notes": list(self.notes),
        }

    def parts(self) -> Iterator[Part]:
        """Contacts, external forces beside thresholds, and notes."""
        data = self.to_dict()
        count = counted(len(self.contacts), "contact") if self.contacts else "no contact"
        verdict = f"{self.robot.name}: {count} in {number(data['duration'], 3)} s"
        yield verdict, "bad" if self.contacts else "good"
        yield ""
        if found := data["contacts"]:
            columns = [
                Column("from", [f"{x['start']:.3f}" for x in found], "s"),
                Column("to", [f"{x['end']:.3f}" for x in found], "s"),
                Column("joint", [x["joint"] for x in found], left=True),
                Column("peak", [x["peak"] for x in found], [x["unit"] for x in found], 3),
                Column("at", [f"{x['at']:.3f}" for x in found], "s"),
                Column("on or beyond", [x["link"] for x in found], left=True),
            ]
            yield Table.of("contacts", columns)
            yield ""
        joints = data["joints"]
        columns = [Column("joint", [x["joint"] for x in joints])]
        for key in ("rms", "peak", "threshold"):
            columns.append(Column(key, [x[key] for x in joints], [x["unit"] for x in joints], 3))
        yield Table.of("forces from outside", columns)
        yield f"thresholds from {self.source}; gain {number(self.gain, 3)} 1/s."
        yield from (f"note: {note}" for note in self.notes)


def watched(
    robot: Robot, observer: "MomentumObserver", data: "Samples", limits: Array, source: str
) -> Watched:
    """The contacts of a recording, with thresholds of the joints."""
    from kinetree.controllers.contacts import ContactRules, find_contacts

    output, model = observer.output(data), observer.model
    left = np.median(np.abs(output.r), axis=0) > UNEXPLAINED * np.median(np.abs(data.tau), axis=0)
    notes = [x for x in data.notes if not x.startswith(UNUSED)]
    if left.any():
        names = [name for name, x in zip(model.dof_names, left, strict=True) if x]
        notes.append(
            f"the robot explains less than half of the joint forces of {listing(names, 5)}: "
            "weak contacts are not seen there. kinetree identify finds its friction and masses"
        )
    contacts = find_contacts(model, output, limits, ContactRules())
    gain = float(np.max(np.asarray(observer.gain)))
    return Watched(robot, data.t, output.r, limits, contacts, source, gain, tuple(notes))
