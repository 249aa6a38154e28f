"""Results of `kinetree identify` as JSON and as tables on the screen."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.text import Text

from kinetree.cli.messages import wrapped
from kinetree.cli.states import units
from kinetree.cli.tables import NO_UNIT, column_table, console, unit_column
from kinetree.core.arrays import Array
from kinetree.core.text import number
from kinetree.errors import InputError, SingularityError
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.identify import Identification

LAWS = ("static", "speed", "size", "steepness", "offset")
JOINT, MASS = ("viscous", "coulomb", *LAWS, "armature"), ("m",)
SPRING, OFFSET = ("stiffness", "preload"), ("tau_offset",)
KINDS = {"coulomb": "Coulomb", "speed": "Stribeck\nspeed", "size": "sigmoid\nsize",
         "steepness": "sigmoid\nsteepness", "offset": "sigmoid\noffset"}  # fmt: skip
ERRORS = {"rms": "rms", "described": "described", "plain": "plain LS", "base": "base",
          "found": "found", "noise": "noise"}  # fmt: skip
COLOURS = {"good": "bold green", "usable": "bold yellow", "not usable": "bold red"}
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


def findings(result: "Identification", kinds: Collection[str]) -> list[Found]:
    """The unknowns of some kinds: viscous, coulomb, armature, ... (also viscous+), or m."""
    described, estimate = result.params.values(result.prior.model), result.estimate
    lacks, margins = result.params.lacks(result.prior.model), result.margin()
    determined = result.determined
    listed: list[Found] = []
    for k, name in enumerate(result.params.names):
        kind, _, of = name.removesuffix("]").partition("[")
        if kind.rstrip("+-") in kinds:
            share, unit = float(estimate.learned[k]), result.params.units[k]
            value = float(estimate.x[k]) if determined[k] else None
            margin = float(margins[k]) if determined[k] else None
            before = None if lacks[k] else float(described[k])
            listed.append(Found(of, kind, value, margin, before, share, unit))
    return listed


def document(result: "Identification") -> dict[str, Any]:
    """The verdict, the quality of the result, friction, masses and all choices, as JSON."""
    test, model, load = result.test, result.robot.model, load_of(result)
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
        "friction": [asdict(x) for x in findings(result, JOINT)],
        "springs": [asdict(x) for x in findings(result, SPRING)],
        "masses": [asdict(x) for x in findings(result, MASS)],
        "payload": None if load is None else asdict(load),
        "choices": [
            {"joint": x.joint, "friction": x.friction, "offset": x.offset, "errors": dict(x.errors)}
            for x in result.choices
        ],
        "offsets": [asdict(x) for x in findings(result, OFFSET)],
        "lag": result.lag,
        "gains": None if result.gains is None else {
            "origin": result.gains.origin,
            "joints": [
                {"joint": name, "value": x, "margin": 1.96 * error}
                for name, (x, error) in result.gains.table.items()
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
        "notes": [x for x in result.notes],
    }  # fmt: skip


def is_fine(result: "Identification") -> bool:
    """Return True if the result can be used."""
    return result.verdict.word != "not usable"


def show(result: "Identification") -> None:
    """Print the verdict, the errors of every joint, the choices, friction, masses and notes."""
    from kinetree.identify.identification import choices_made

    data, screen = document(result), console()
    names, unit = data["joints"], data["units"]["tau"]
    columns = [("joint", names)]
    for key, head in ERRORS.items():
        columns.append(unit_column(head, [number(x, 3) for x in data[key]], unit))
    screen.print(column_table(f"{result.robot.name}: errors on held-out motion", columns))
    word = result.verdict.word
    screen.print(Text(f"{word.capitalize()}.", COLOURS[word]), soft_wrap=True)
    for reason in result.verdict.reasons:
        _remark(f"because: {reason}", "red")
    for line in choices_made(result):
        _remark(f"{line}.")
    screen.print()
    friction = drive_table(result, JOINT, "friction and armature found", "joint")
    if friction is None:
        screen.print("friction: not sought (--friction known keeps that of the file)")
    else:
        screen.print(friction)
        screen.print("+- is the 95 % margin; what is not determined stays near the description.")
    springs = drive_table(result, SPRING, "springs found", "spring")
    if springs is not None:
        screen.print()
        screen.print(springs)
        screen.print("preload is stiffness times rest position.")
    screen.print()
    load = data["payload"]
    screen.print(load_line(result, None if load is None else Load(**load)))
    for line in mass_lines(result):
        screen.print(line)
    for note in data["notes"]:
        _remark(f"note: {note}")


def _remark(words: str, style: str = "") -> None:
    """Print a paragraph; with a style, its first word is coloured."""
    screen = console()
    text = Text(wrapped(words, screen.width, "  "))
    if style:
        text.stylize(style, 0, words.find(":"))
    screen.print(text, soft_wrap=True)


def drive_table(
    result: "Identification", wanted: Collection[str], title: str, owner: str
) -> Group | None:
    """Unknowns of some kinds by joint or spring, with 95 % margins; None if none was sought."""
    listed = findings(result, wanted)
    if not listed:
        return None
    order = list(wanted)
    kinds = sorted(
        dict.fromkeys(x.kind for x in listed), key=lambda kind: order.index(kind.rstrip("+-"))
    )
    joints = list(dict.fromkeys(x.of for x in listed))
    by_name = {(x.kind, x.of): x for x in listed}
    columns = [(owner, joints)]
    for kind in kinds:
        cells = [by_name.get((kind, joint)) for joint in joints]
        texts = aligned_pairs([None if x is None else (x.value, x.margin) for x in cells])
        unit = [NO_UNIT if x is None else x.unit for x in cells]
        sign = {"+": ", dq > 0", "-": ", dq < 0"}.get(kind[-1], "")
        plain = kind.rstrip("+-")
        columns.append(unit_column(KINDS.get(plain, plain) + sign, texts, unit))
    return column_table(title, columns)


def aligned_pairs(pairs: Sequence[tuple[float | None, float | None] | None]) -> list[str]:
    """Texts such as "0.61 +- 0.02", both numbers aligned over all rows; "-" for None.

    A value of None is not determined.
    """
    texts = [("-", "") if x is None else _pair(*x) for x in pairs]
    width = max(len(b) for _, b in texts)
    return [f"{a} +- {b:<{width}}" if b else a for a, b in texts]


def _pair(value: float | None, margin: float | None) -> tuple[str, str]:
    if value is None or margin is None:
        return "not determined", ""
    return number(value), number(margin, 2)


def mass_lines(result: "Identification") -> Iterator[str]:
    """Sentences on links that are heavier or lighter than described, by more than their margin."""
    for x in findings(result, MASS):
        if x.value is None or x.margin is None:
            continue
        before = x.described or 0.0
        more = x.value - before
        if abs(more) <= max(x.margin, LEAST_CHANGE * abs(before)) or x.learned < POOR:
            continue
        word = "heavier" if more > 0 else "lighter"
        yield (
            f"mass: link {x.of!r} is {number(abs(more), 3)} kg {word} than described: "
            f"{aligned_pairs([(x.value, x.margin)])[0]} kg, described {number(before)} kg"
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


def load_of(result: "Identification") -> Load | None:
    """The load on the tool; None if no body there explains anything, or the data cannot show it."""
    from kinetree.identify import identify_payload

    if not is_fine(result) or result.robot.model.tool is None:
        return None
    described = Robot(result.prior.model.replace(joints=result.robot.model.joints))
    try:
        load = identify_payload(described, result.train)
    except (InputError, SingularityError):
        return None
    margin = 1.96 * float(load.standard_error[0])
    test = result.test
    rest = test.tau - load.robot.inverse_dynamics(test.q, test.dq, test.ddq)
    rest = rest - result.params.sensor_offsets(result.estimate.x)
    pairs = zip(("hx", "hy", "hz"), load.com.tolist(), strict=True)
    com = [None if name in load.unidentified else x for name, x in pairs]
    return Load(load.frame, load.m, margin, com, result.rms(test, rest))


def load_line(result: "Identification", load: Load | None) -> str:
    """A sentence on the load, or on why there is none."""
    if not is_fine(result):
        return "payload: not sought, for the recording is not usable."
    if result.robot.model.tool is None:
        return "payload: not sought, for the robot has several tips and no tool."
    if load is None or load.mass <= load.margin:
        seen = "" if load is None else f" ({number(load.mass, 3)} +- {number(load.margin, 2)} kg)"
        return f"payload: the data show none on the tool{seen}."
    centre = ", ".join("not determined" if x is None else number(x, 3) for x in load.com)
    tiny = np.finfo(float).tiny
    ratios = np.maximum(load.error, tiny) / np.maximum(result.error(), tiny)
    worse = float(np.exp(np.log(ratios).mean()))  # no joint outweighs the others by its unit
    fit = "as well as" if worse < CLOSE else f"{number(worse, 2)} times worse than"
    return (
        f"payload: if the links are as described, {load.frame!r} carries "
        f"{aligned_pairs([(load.mass, load.margin)])[0]} kg with its centre at ({centre}) m; that "
        f"predicts the joint forces {fit} the robot found."
    )
