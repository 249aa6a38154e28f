"""Report: the contents of a loaded file on one screen."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf, isinf
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.text import counted, number
from kinetree.dynamics import total_mass
from kinetree.dynamics.constraints.mobility import mobility
from kinetree.errors import visible
from kinetree.files.description.constraints import Constraint, Hold, Loop, Rod
from kinetree.files.description.contacts import Contacts
from kinetree.files.description.records import Note
from kinetree.files.description.source import RobotFile
from kinetree.model import Joint, Model
from kinetree.model.friction import law_texts
from kinetree.model.model import tool_words
from kinetree.present.tables import Table

MOST_JOINTS, MOST_REMARKS = 20, 8  # that are shown; the rest is counted

# remarks that come once per joint are counted: their code, and the words of the count
TOGETHER = {
    "merged": ("link", "merged at fixed joints; the frames are kept"),
    "snapped": ("home rotation", "cleared of entries that were rounding"),
}


@dataclass(frozen=True, eq=False)
class Report:
    """The contents of a file: the model, and every remark with its file and line.

    Args:
        file: the file, with the options that it was read with.
        links: number of links in the file.
        joints: number of joints in the file.
        model: the model.
        notes: parts that are read differently from what one may expect.
        warnings: parts that the dynamics cannot honour.
    """

    file: RobotFile
    links: int
    joints: int
    model: Model
    notes: tuple[Note, ...]
    warnings: tuple[Note, ...]

    @property
    def source(self) -> Path:
        """Path of the file, or a name for a text."""
        return Path(self.file.path)

    @property
    def effects(self) -> tuple[str, ...]:
        """Texts on everything that changes tau besides rigid bodies in ordinary gravity."""
        return tuple(tau_effects(self.model))

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        effects = self.effects
        text = Table("tau also has", notes=effects).html() if effects else ""
        text += "".join(
            Table(counted(len(notes), title), notes=[_remark(note) for note in notes]).html()
            for title, notes in (("warning", self.warnings), ("note", self.notes))
            if notes
        )
        return self.model._repr_html_() + text

    def lines(self) -> Iterator[str]:
        """Iterate over the lines of the report, which fit a terminal."""
        return (visible(line, "") for line in self._lines())

    def _lines(self) -> Iterator[str]:
        model = self.model
        counts = f"{counted(self.links, 'link')}, {counted(self.joints, 'joint')}"
        yield f"{model.name} from {self.source.name}"
        yield f"  {counts}, {freedom(model)}, {mass_words(model)}"
        yield f"  base {model.base_name!r}, {tool_words(model)}"
        yield "  tau: rigid bodies in gravity"
        yield from (f"     + {text}" for text in self.effects)
        if model.contacts is not None:
            yield f"  contacts: {contact_words(model.contacts)}"
        if model.constraints is not None:
            yield "  constraints"
            yield from _first(
                f"     {_cut(x.name, 24):24} {x.kind:11} {x.text}, {_equations(x)}"
                for x in constraint_rows(model)
            )
            yield from (f"  {line}" for line in str(mobility(model)).splitlines()[1:])
        yield ""
        yield "  joint                          type        moves                    limits"
        pairs = zip(model.joints, model.link_names, strict=True)
        yield from _first(
            f"  {_cut(joint.name, 30):30} {joint.type:11} {_cut(link, 24):24} {_limits(joint)}"
            for joint, link in pairs
        )
        yield from self._remarks("warning", self.warnings)
        yield from self._remarks("note", self.notes)

    def _remarks(self, title: str, remarks: tuple[Note, ...]) -> Iterator[str]:
        if not remarks:
            return
        yield ""
        yield f"  {counted(len(remarks), title)}"
        single = [note for note in remarks if note.code not in TOGETHER]
        yield from (f"  - {_remark(note)}" for note in single[:MOST_REMARKS])
        if len(single) > MOST_REMARKS:
            yield f"  ... and {len(single) - MOST_REMARKS} more in report.{title}s"
        for code, words in TOGETHER.items():
            if count := sum(note.code == code for note in remarks):
                yield f"  - {counted(count, *words)}"


def _first(lines: Iterable[str]) -> Iterator[str]:
    """The first lines, and the number of the others."""
    listed = list(lines)
    yield from listed[:MOST_JOINTS]
    if len(listed) > MOST_JOINTS:
        yield f"  ... and {len(listed) - MOST_JOINTS} more"


def masses(model: Model) -> tuple[float, float]:
    """Total mass of everything in the robot's file, and moving mass, without a fixed base, kg."""
    return float(total_mass(model)), float(sum(model.m))


def contact_words(contacts: Contacts) -> str:
    """Number of contacts, the ground, and the range of friction, for a line of text."""
    kinds = {"Plane": "a plane", "Boxes": "boxes on a plane", "HeightField": "a height field"}
    friction = _span([float(x) for x in contacts.frictions])
    ground = kinds[type(contacts.ground).__name__]
    return f"{counted(len(contacts.points), 'point')} with {ground}, friction {friction}"


def mass_words(model: Model, digits: int = 6) -> str:
    """Both masses of a robot with their names, for a line of text."""
    total, moving = (number(mass, digits) for mass in masses(model))
    return f"total mass {total} kg, moving mass {moving} kg"


@dataclass(frozen=True)
class ConstraintRow:
    """A constraint as text: its kind, its frames or joints, the number of its equations.

    redundant: number of its equations that follow from others.
    """

    name: str
    kind: str
    text: str
    equations: int
    redundant: int


def constraint_rows(model: Model) -> list[ConstraintRow]:
    """The constraints of a model as texts; empty without any."""
    constraints = model.constraints
    if constraints is None:
        return []
    left = {row for row in range(len(constraints.row_names)) if row not in constraints.basis}
    rows: list[ConstraintRow] = []
    first = 0
    for item, (name, record) in zip(constraints.items, constraints.given.items(), strict=True):
        count = len(item.row_names)
        redundant = len(left & set(range(first, first + count)))
        rows.append(ConstraintRow(name, *_described(record), count, redundant))
        first += count
    return rows


def freedom(model: Model) -> str:
    """Number of degrees of freedom; of a robot with constraints also that of its tree."""
    if model.constraints is None:
        return counted(model.n, "degree", "of freedom")
    remaining = model.n - len(model.constraints.basis)
    return f"{counted(remaining, 'degree', 'of freedom')} ({model.n} of the tree)"


def _described(record: Constraint) -> tuple[str, str]:
    """Kind of a constraint, and its frames or joints."""
    if isinstance(record, Loop):
        axis = f" {record.axis}" if record.kind in ("axis", "plane") else ""
        return "loop", f"{record.kind}{axis} of {record.frame_a} = {record.frame_b}"
    if isinstance(record, Hold):
        return "hold", f"{record.kind} of {record.frame}"
    if isinstance(record, Rod):
        return "rod", f"{record.frame_a} to {record.frame_b}, {float(record.length):.6g} m"
    others = ", ".join(record.by)
    return "couple", f"{record.joint} by {others}" if others else f"{record.joint} is kept in place"


def _equations(row: ConstraintRow) -> str:
    more = f", {row.redundant} redundant" if row.redundant else ""
    return f"{counted(row.equations, 'equation')}{more}"


def _remark(note: Note) -> str:
    return f"{note.text} [{note.where}]" if note.where else note.text


def tau_effects(model: Model) -> Iterator[str]:
    """Friction, armature, rotors, springs, motors and unusual gravity of a model."""
    friction = [joint.friction for joint in model.joints]
    kinds: dict[str, list[Any]] = {
        "viscous friction": [x.viscous for x in friction],
        "Coulomb friction": [x.coulomb for x in friction],
        "armature": [joint.armature for joint in model.joints],
        "rotors (inertia times ratio^2)": [x.inertia * x.ratio**2 for x in model.rotors],
    }
    for title, values in kinds.items():
        sizes = [float(np.max(np.abs(np.asarray(x, float)))) for x in values]
        if sizes := [x for x in sizes if x]:
            yield f"{title} {_span(sizes)}, {len(sizes)} of {counted(len(model.joints), 'joint')}"
    laws = [law for x in friction for law in law_texts(x, str)]
    for law in dict.fromkeys(laws):
        text = "friction by a function" if law == "function" else f"{law} friction"
        yield f"{text} in {counted(laws.count(law), 'joint')}"
    stiffness = [float(x.stiffness) for x in model.springs if float(x.stiffness)]
    if stiffness:
        yield f"{counted(len(stiffness), 'spring')}, stiffness {_span(stiffness)}"
    if model.motors:
        yield f"{counted(len(model.motors), 'motor')} of coupled joints"
    gravity = [float(x) for x in model.gravity[3:]]
    if gravity != [0, 0, -9.81]:
        yield f"gravity ({', '.join(f'{x:g}' for x in gravity)})"


def _span(sizes: list[float]) -> str:
    """The least and the largest number; one if they are equal."""
    return f"{min(sizes):.4g}" + (f" .. {max(sizes):.4g}" if len(set(sizes)) > 1 else "")


def _limits(joint: Joint) -> str:
    if joint.follows is not None:
        return f"= {joint.scale:g} {joint.follows} {joint.offset:+g}"
    low, high = joint.limits.lower, joint.limits.upper
    text = "free" if isinf(low) and isinf(high) else f"{low:.4g} .. {high:.4g}"
    extra = {"/s": joint.limits.velocity, "effort": joint.limits.effort}
    return ", ".join([text, *(f"{x:.4g} {unit}" for unit, x in extra.items() if x != inf)])


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
