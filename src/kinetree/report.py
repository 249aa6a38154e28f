"""Report: what was read from a file, on one screen."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isinf
from pathlib import Path

from kinetree.algorithms import total_mass
from kinetree.counting import counted
from kinetree.description.records import Note, RobotDescription
from kinetree.model import Joint, Model
from kinetree.notebook import table

MOST_JOINTS, MOST_REMARKS = 20, 8  # that are shown; the rest is counted

# remarks that come once a joint are told together: their beginning, and what is said of them
TOGETHER = {
    "fixed joint": ("link", "merged at fixed joints; the frames are kept"),
    "rotation of joint": ("home rotation", "cleared of entries that were rounding"),
}


@dataclass(frozen=True, eq=False)
class Report:
    """What a file gave: the model, and every remark with its file and line."""

    source: Path
    links: int
    joints: int
    model: Model
    notes: tuple[Note, ...]
    warnings: tuple[Note, ...]

    @classmethod
    def of(cls, source: Path, description: RobotDescription, model: Model) -> "Report":
        """The report of a description and the model built from it."""
        return cls(
            source,
            len(description.links),
            len(description.joints),
            model,
            model.notes,
            model.warnings,
        )

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        text = "".join(
            table(counted(len(notes), title), (), (), notes=[_remark(note) for note in notes])
            for title, notes in (("warning", self.warnings), ("note", self.notes))
            if notes
        )
        return self.model._repr_html_() + text

    def lines(self) -> Iterator[str]:
        """The report as lines of text, none wider than a terminal needs to be."""
        model = self.model
        yield f"{model.name} from {self.source.name}"
        yield (
            f"  {counted(self.links, 'link')}, {counted(self.joints, 'joint')}, "
            f"{counted(model.n, 'degree', 'of freedom')}, {total_mass(model):.6g} kg"
        )
        yield f"  base {model.base_name!r}, tool {model.tool!r}"
        yield ""
        yield "  joint                          type        moves                    limits"
        for joint, link in list(zip(model.joints, model.link_names, strict=True))[:MOST_JOINTS]:
            name = _cut(joint.name, 30)
            yield f"  {name:30} {joint.type:11} {_cut(link, 24):24} {_limits(joint)}"
        if len(model.joints) > MOST_JOINTS:
            yield f"  ... and {len(model.joints) - MOST_JOINTS} more"
        yield from self._remarks("warning", self.warnings)
        yield from self._remarks("note", self.notes)

    def _remarks(self, title: str, remarks: tuple[Note, ...]) -> Iterator[str]:
        if not remarks:
            return
        yield ""
        yield f"  {counted(len(remarks), title)}"
        single = [note for note in remarks if not note.text.startswith(tuple(TOGETHER))]
        for note in single[:MOST_REMARKS]:
            yield f"  - {_remark(note)}"
        if len(single) > MOST_REMARKS:
            yield f"  ... and {len(single) - MOST_REMARKS} more in report.{title}s"
        for beginning, words in TOGETHER.items():
            count = sum(note.text.startswith(beginning) for note in remarks)
            if count:
                yield f"  - {counted(count, *words)}"


def _remark(note: Note) -> str:
    return f"{note.text} [{note.where}]" if note.where else note.text


def _limits(joint: Joint) -> str:
    if joint.follows is not None:
        return f"= {joint.scale:g} {joint.follows} {joint.offset:+g}"
    low, high = joint.limits.lower, joint.limits.upper
    text = "free" if isinf(low) and isinf(high) else f"{low:.4g} .. {high:.4g}"
    extra = [
        f"{value:.4g} {unit}"
        for value, unit in ((joint.limits.velocity, "/s"), (joint.limits.effort, "effort"))
        if value != inf
    ]
    return ", ".join([text, *extra])


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
