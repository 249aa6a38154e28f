"""Results of `kinetree identify` as JSON and as tables on the screen."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kinetree.cli.output import Part
from kinetree.core.arrays import Array
from kinetree.core.text import number
from kinetree.errors import InputError, SingularityError
from kinetree.identify import Identification, identify_payload
from kinetree.identify.identification import choices_made, force_rows
from kinetree.model.units import units
from kinetree.present.tables import Column, Table
from kinetree.robot import Robot

LAWS = ("static", "speed", "size", "steepness", "offset")
JOINT, SPRING = ("viscous", "coulomb", *LAWS, "armature"), ("stiffness", "preload")
HEADS = {"coulomb": "Coulomb", "speed": "Stribeck speed", "size": "sigmoid size",
         "steepness": "sigmoid steepness", "offset": "sigmoid offset"}  # fmt: skip
STYLES = {"good": "good", "usable": "warning", "not usable": "bad"}
LEAST_CHANGE = 0.01  # of the described mass: smaller changes are not worth a sentence
CLOSE = 1.2  # times the error of the robot found: a load that explains the data as well
POOR = 0.1  # a mass of which the data remove less of the uncertainty is the description's


@dataclass(frozen=True)
class Found:
    """One unknown of a joint or link: its value, 95 % margin, described value, and unit.

    value, margin: None if the data do not determine it.
    described: None for a number of a friction law that the description does not have.
    learned: share of the description's uncertainty that the data have removed, 0 to 1.
    """

    of: str
    kind: str
    value: float | None
    margin: float | None
    described: float | None
    learned: float
    unit: str

    def __str__(self) -> str:
        if self.value is None or self.margin is None:
            return "not determined"
        return f"{number(self.value)} +- {number(self.margin, 2)}"


def findings(result: Identification, kinds: Collection[str]) -> list[Found]:
    """The unknowns of some kinds: viscous, coulomb, armature, ... (also viscous+), or m."""
    described, estimate = result.params.values(result.prior.model), result.estimate
    lacks, margins = result.params.lacks(result.prior.model), result.margin()
    listed: list[Found] = []
    for k, name in enumerate(result.params.names):
        kind, _, of = name.removesuffix("]").partition("[")
        if kind.rstrip("+-") in kinds:
            pair = (
                (float(estimate.x[k]), float(margins[k])) if result.determined[k] else (None, None)
            )
            before, learned = None if lacks[k] else float(described[k]), float(estimate.learned[k])
            listed.append(Found(of, kind, *pair, before, learned, result.params.units[k]))
    return listed


def document(result: Identification) -> dict[str, Any]:
    """The verdict, the quality of the result, friction, masses and all choices, as JSON."""
    test, model, load, gains = result.test, result.robot.model, load_of(result), result.gains
    kinds = {"friction": JOINT, "springs": SPRING, "masses": ("m",), "offsets": ("tau_offset",)}
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
        **{key: [asdict(x) for x in findings(result, some)] for key, some in kinds.items()},
        "payload": None if load is None else asdict(load),
        "choices": [
            {"joint": x.joint, "friction": x.friction, "offset": x.offset, "errors": dict(x.errors)}
            for x in result.choices
        ],
        "lag": result.lag,
        "gains": None if gains is None else {
            "origin": gains.origin,
            "joints": [
                {"joint": name, "value": x, "margin": 1.96 * error}
                for name, (x, error) in gains.table.items()
            ],
        },
        "cutoff": result.train.cutoff,
        "method": result.method,
        "base_parameters": result.base.r,
        "unidentified": list(result.unidentified),
        "unknowns": len(result.params.names),
        "condition": result.fit.condition,
        "samples": len(result.train),
        "held_out": 0 if test is result.train else len(test),
        "notes": list(result.notes),
    }  # fmt: skip


def is_fine(result: Identification) -> bool:
    """Return True if the result can be used."""
    return result.verdict.word != "not usable"


def parts(result: Identification) -> Iterator[Part]:
    """The errors of every joint, the verdict, the choices, friction, masses and notes."""
    title = f"{result.robot.name}: joint forces on held-out motion and errors, N m or N"
    yield Table(title, *force_rows(result))
    word = result.verdict.word
    yield f"{word.capitalize()}.", STYLES[word]
    yield from (f"because: {reason}" for reason in result.verdict.reasons)
    yield from (f"{line}." for line in choices_made(result))
    yield ""
    friction = found_table(result, JOINT, "friction and armature found", "joint")
    if friction is None:
        yield "friction: not sought (--friction known keeps that of the file)"
    else:
        yield friction
        yield "+- is the 95 % margin; what is not determined stays near the description."
    springs = found_table(result, SPRING, "springs found", "spring")
    if springs is not None:
        yield ""
        yield springs
        yield "preload is stiffness times rest position."
    yield ""
    yield load_line(result)
    yield from mass_lines(result)
    yield from (f"note: {note}" for note in result.notes)


def found_table(
    result: Identification, wanted: Collection[str], title: str, owner: str
) -> Table | None:
    """Unknowns of some kinds by joint or spring, with 95 % margins; None if none was sought."""
    listed, order = findings(result, wanted), list(wanted)
    if not listed:
        return None
    by_name = {(x.kind, x.of): x for x in listed}
    names = list(dict.fromkeys(x.of for x in listed))
    columns = [Column(owner, names)]
    for kind in sorted({x.kind for x in listed}, key=lambda x: (order.index(x.rstrip("+-")), x)):
        cells = [by_name.get((kind, name)) for name in names]
        sign = {"+": " dq > 0", "-": " dq < 0"}.get(kind[-1], "")
        head = HEADS.get(kind.rstrip("+-"), kind.rstrip("+-")) + sign
        texts = ["-" if x is None else str(x) for x in cells]
        columns.append(Column(head, texts, ["" if x is None else x.unit for x in cells]))
    return Table.of(title, columns)


def mass_lines(result: Identification) -> Iterator[str]:
    """Sentences on links that are heavier or lighter than described, by more than their margin."""
    for x in findings(result, ("m",)):
        before = x.described or 0.0
        more = 0.0 if x.value is None else x.value - before
        if abs(more) > max(x.margin or 0.0, LEAST_CHANGE * abs(before)) and x.learned >= POOR:
            word = "heavier" if more > 0 else "lighter"
            yield (
                f"mass: link {x.of!r} is {number(abs(more), 3)} kg {word} than described: {x} kg, "
                f"described {number(before)} kg"
            )


@dataclass(frozen=True, eq=False)
class Load:
    """A body on the tool that explains the data if all else is as described, friction as found.

    mass, kg, with its 95 % margin; com in the frame, m, None where the data do not determine it;
    error: rms of every joint with it.
    """

    frame: str
    mass: float
    margin: float
    com: list[float | None]
    error: Array


def load_of(result: Identification) -> Load | None:
    """The load on the tool; None if no body there explains anything, or the data cannot show it."""
    if not is_fine(result) or result.robot.model.tool is None:
        return None
    described = Robot(result.prior.model.replace(joints=result.robot.model.joints))
    try:
        load = identify_payload(described, result.train)
    except (InputError, SingularityError):
        return None
    margin, test = 1.96 * float(load.standard_error[0]), result.test
    rest = test.tau - load.robot.inverse_dynamics(test.q, test.dq, test.ddq)
    rest = rest - result.params.sensor_offsets(result.estimate.x)
    pairs = zip(("hx", "hy", "hz"), load.com.tolist(), strict=True)
    com = [None if name in load.unidentified else x for name, x in pairs]
    return Load(load.frame, load.m, margin, com, result.rms(test, rest))


def load_line(result: Identification) -> str:
    """A sentence on the load, or on why there is none."""
    if not is_fine(result):
        return "payload: not sought, for the recording is not usable."
    if result.robot.model.tool is None:
        return "payload: not sought, for the robot has several tips and no tool."
    load = load_of(result)
    if load is None or load.mass <= load.margin:
        seen = "" if load is None else f" ({number(load.mass, 3)} +- {number(load.margin, 2)} kg)"
        return f"payload: the data show none on the tool{seen}."
    centre = ", ".join("not determined" if x is None else number(x, 3) for x in load.com)
    tiny = np.finfo(float).tiny
    ratios = np.maximum(load.error, tiny) / np.maximum(result.error(), tiny)
    worse = float(np.exp(np.log(ratios).mean()))  # no joint outweighs the others by its unit
    fit = "as well as" if worse < CLOSE else f"{number(worse, 2)} times worse than"
    return (
        f"payload: if the links are as described, {load.frame!r} carries {number(load.mass)} +- "
        f"{number(load.margin, 2)} kg with its centre at ({centre}) m; that predicts the joint "
        f"forces {fit} the robot found."
    )
