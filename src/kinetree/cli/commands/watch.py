"""`kinetree watch`: contacts in a recording, from joint forces that the motion does not explain."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from kinetree.cli import options as opt
from kinetree.cli import recordings, robots, states, writer
from kinetree.cli.app import command
from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing, number
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.units import units
from kinetree.present.tables import Column, Table

if TYPE_CHECKING:
    from kinetree.identify import Recording as Samples

UNEXPLAINED = 0.5  # of the joint forces: a robot that leaves more of them is not the recorded one
UNUSED = "accelerations of"  # begin notes of the recording on numbers that are not used here


@command("Identify", also="contacts collisions observe detect")
def run(
    robot: opt.RobotName,
    data: opt.Recording,
    /,
    *,
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
        contact_free: Two times of DATA, s, without contacts between them; that part sets the
            thresholds.
        threshold: Thresholds, N m or N: one for all joints, one for each, or some as JOINT=NUMBER.
        false_alarms: Accepted number of false alarms in an hour.
        gain: Gain of the observer, 1/s: contacts are seen after about 1 / GAIN.
        cutoff: Low-pass frequency for rates, Hz; GAIN / pi if left out.
    """
    from kinetree.controllers import MomentumObserver
    from kinetree.controllers.contacts import ContactRules, find_contacts
    from kinetree.identify.recording import recording_of

    writer.check_output(report, name="--report", endings=writer.PAGES)
    loaded = robots.find_robot(robot, options.reading)
    model = loaded.model
    request = recordings.request_of(model, options.recorded, options.degrees, ("t", "q", "tau"))
    with recordings.as_file(data) as path:
        frequency = gain / np.pi if cutoff is None else cutoff  # a lower one smears contacts
        recorded = recording_of(path, loaded, request, cutoff=frequency)
    quiet, source = stretch(recorded, contact_free)
    with writer.waiting(f"compiling the dynamics of {loaded.name}"):
        observer = MomentumObserver(loaded, gain)
        limits = observer.thresholds(quiet, false_alarms=false_alarms, contacts=not contact_free)
        typed = typed_thresholds(model, threshold)
        limits = np.array([typed.get(x, y) for x, y in zip(model.dof_names, limits, strict=True)])
        output = observer.output(recorded)
        contacts = find_contacts(model, output, limits, ContactRules())
    page = None if report is None else str(report)
    if report is not None:
        from kinetree.views.page.contacts import contacts_page

        text = contacts_page(loaded, recorded.t, output.r, limits, contacts)
        report.write_text(text, encoding="utf-8", newline="\n")
    unit = dict(zip(model.dof_names, units(model, "tau"), strict=True))
    rms, peak = (output.r**2).mean(axis=0) ** 0.5, np.abs(output.r).max(axis=0)
    keys = "joint", "rms", "peak", "threshold", "unit"
    columns = zip(unit, rms, peak, limits, unit.values(), strict=True)
    found = {
        "robot": loaded.name,
        "ok": not contacts,
        "contacts": [asdict(x) | {"unit": unit[x.joint]} for x in contacts],
        "joints": [dict(zip(keys, x, strict=True)) for x in columns],
        "thresholds_from": "--threshold" if len(typed) == model.n else source,
        "false_alarms": false_alarms,
        "gain": gain,
        "duration": float(recorded.t[-1] - recorded.t[0]),
        "samples": len(recorded.t),
        "notes": notes(model.dof_names, recorded, output.r),
        "report": page,
    }
    writer.give(options.json, lambda: found, lambda: parts(found))
    return 1 if contacts else 0


def stretch(data: "Samples", words: list[str] | None) -> tuple["Samples", str]:
    """The part of a recording between the two times of --contact-free, and its name."""
    if not words:
        return data, "the recording itself"
    times = [robots.typed_number("--contact-free", "a time", x) for x in opt.split(words)]
    if len(times) == 2 and times[0] < times[1]:
        inside = np.flatnonzero((data.t >= times[0]) & (data.t <= times[1]))
        if len(inside):
            return data.part(inside), f"{times[0]:g} to {times[1]:g} s"
    raise InputError(
        f"--contact-free is {' '.join(words)}; expected two times, the earlier one first, within "
        f"the recording: {data.t[0]:.6g} to {data.t[-1]:.6g} s."
    )


def typed_thresholds(model: Model, words: list[str] | None) -> dict[str, float]:
    """Thresholds by joint: one number for all, all in order, or some as JOINT=NUMBER."""
    if not words:
        return {}
    if len(words) == 1 and "=" not in words[0]:
        words = words * model.n
    return states.typed_vector("--threshold", model.name, model.dof_names, words)


def notes(names: Sequence[str], data: "Samples", r: Array) -> list[str]:
    """Notes of the recording on numbers that are used here, and on a robot that does not fit."""
    found = [x for x in data.notes if not x.startswith(UNUSED)]
    left = np.median(np.abs(r), axis=0) > UNEXPLAINED * np.median(np.abs(data.tau), axis=0)
    if left.any():
        joints = listing([name for name, x in zip(names, left, strict=True) if x], 5)
        found.append(
            f"the robot explains less than half of the joint forces of {joints}: weak contacts "
            "are not seen there. kinetree identify finds its friction and masses"
        )
    return found


def parts(data: Mapping[str, Any]) -> Iterator[writer.Part]:
    """Contacts, external forces beside thresholds, and notes."""
    found, joints = data["contacts"], data["joints"]
    count = counted(len(found), "contact") if found else "no contact"
    verdict = f"{data['robot']}: {count} in {number(data['duration'], 3)} s"
    yield verdict, "bad" if found else "good"
    yield ""
    if found:
        heads = {"from": "start", "to": "end", "joint": "joint", "peak": "peak", "at": "at"}
        heads |= {"on or beyond": "link"}
        yield Table.of("contacts", [column(head, key, found) for head, key in heads.items()])
        yield ""
    heads = ("joint", "rms", "peak", "threshold")
    yield Table.of("forces from outside", [column(head, head, joints) for head in heads])
    yield f"thresholds from {data['thresholds_from']}; gain {number(data['gain'], 3)} 1/s."
    yield from (f"note: {note}" for note in data["notes"])
    if data["report"]:
        yield f"report  {data['report']}"


def column(head: str, key: str, rows: Sequence[Mapping[str, Any]]) -> Column:
    """One entry of each row: a name, a time in s, or a force with the unit of its joint."""
    cells = [row[key] for row in rows]
    if key in ("joint", "link"):
        return Column(head, cells, left=True)
    if key in ("start", "end", "at"):
        return Column(head, [f"{x:.3f}" for x in cells], "s")
    return Column(head, cells, [row["unit"] for row in rows], 3)
