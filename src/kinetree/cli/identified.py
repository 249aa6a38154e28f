"""Results of `kinetree identify` as JSON and as tables on the screen."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from kinetree.cli import writer
from kinetree.identify import Identification
from kinetree.identify.identification import choices_made, force_rows
from kinetree.model.units import units
from kinetree.present.tables import Column, Table

BODY = ("hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")  # not on the screen
STYLES = {"good": "good", "usable": "warning", "not usable": "bad"}


def unknowns(result: Identification) -> list[dict[str, Any]]:
    """Every unknown: name, value and 95 % margin, described value, what was learned, and unit.

    Value and margin are None where the data do not determine them, the described value where the
    description does not have it. learned: share of its uncertainty that the data have removed.
    """
    model, params, x = result.prior.model, result.params, result.estimate.x
    known, lacks, fixed = params.values(model), params.lacks(model), result.determined
    margins, learned = result.margin(), result.estimate.learned
    return [
        {
            "name": name,
            "value": float(x[k]) if fixed[k] else None,
            "margin": float(margins[k]) if fixed[k] else None,
            "described": None if lacks[k] else float(known[k]),
            "learned": float(learned[k]),
            "unit": params.units[k],
        }
        for k, name in enumerate(params.names)
    ]


def document(result: Identification) -> dict[str, Any]:
    """The verdict, the quality of the result, friction, masses and all choices, as JSON."""
    test, model, gains = result.test, result.robot.model, result.gains
    return {
        "robot": result.robot.name,
        "ok": is_fine(result),
        "verdict": asdict(result.verdict),
        "causes": [asdict(x) for x in result.causes],
        "joints": list(model.dof_names),
        "units": {"tau": units(model, "tau")},
        "rms": result.rms(test, test.tau),
        "described": result.described_error(),
        "plain": result.plain,
        "base": result.error(physical=False),
        "found": result.error(),
        "noise": result.fit.innovation,
        "unknowns": unknowns(result),
        "choices": [asdict(x) for x in result.choices],
        "gains": gains and {"origin": gains.origin, "joints": gains.table},
        "cutoff": result.train.cutoff,
        "base_parameters": result.base.r,
        "condition": result.fit.condition,
        "samples": len(result.train),
        "held_out": 0 if test is result.train else len(test),
        **{name: getattr(result, name) for name in ("lag", "method", "unidentified", "notes")},
    }


def is_fine(result: Identification) -> bool:
    """Return True if the result can be used."""
    return result.verdict.word != "not usable"


def parts(result: Identification) -> Iterator[writer.Part]:
    """The errors of every joint, the verdict, the choices, friction, masses and notes."""
    title = f"{result.robot.name}: joint forces on held-out motion and errors, N m or N"
    yield Table(title, *force_rows(result))
    word = result.verdict.word
    yield f"{word.capitalize()}.", STYLES[word]
    yield from (f"because: {reason}" for reason in result.verdict.reasons)
    yield from (f"{line}." for line in choices_made(result))
    yield ""
    rows = [x for x in unknowns(result) if x["name"].partition("[")[0] not in BODY]
    columns = [Column("unknown", [x["name"] for x in rows])]
    for key, digits in (("value", 4), ("margin", 2), ("described", 4)):
        nothing = "not determined" if key == "value" else "-"
        cells = [nothing if x[key] is None else x[key] for x in rows]
        columns.append(Column(key, cells, digits=digits))
    columns.append(Column("unit", [x["unit"] for x in rows], left=True))
    yield Table.of("found, with margins of 95 %", columns)
    yield ""
    yield from (f"note: {note}" for note in result.notes)
