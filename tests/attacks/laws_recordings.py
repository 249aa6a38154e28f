"""Laws of recordings in random units: the same motion to 1e-12, or refused; nothing else.

The factors stand here a second time, so that no number of the reader is used.
"""

import json
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attack_case import law, note

import kinetree as kt
from kinetree import motion

TURN, SLIDE = "revolute", "prismatic"
DEG = 180 / np.pi
# how many of a unit are one SI unit
TIMES = {"s": 1.0, "ms": 1e3, "sec": 1.0, "min": 1 / 60}
UNITS = {
    ("q", TURN): {"rad": 1.0, "deg": DEG, "degrees": DEG, "mrad": 1e3, "rev": 0.5 / np.pi,
                  "turns": 0.5 / np.pi, "arcmin": 60 * DEG},
    ("q", SLIDE): {"m": 1.0, "mm": 1e3, "cm": 100.0, "um": 1e6, "inch": 1 / 0.0254},
    ("dq", TURN): {"rad/s": 1.0, "deg/s": DEG, "rpm": 30 / np.pi, "dps": DEG, "rad/min": 60.0,
                   "rad per second": 1.0, "mrad/s": 1e3, "rad/ms": 1e-3},
    ("dq", SLIDE): {"m/s": 1.0, "mm/s": 1e3, "cm/s": 100.0, "m/min": 60.0, "mm/ms": 1.0},
    ("ddq", TURN): {"rad/s^2": 1.0, "deg/s^2": DEG, "rad/s/s": 1.0, "rpm/s": 30 / np.pi,
                    "deg/s2": DEG, "rad s^-2": 1.0},
    ("ddq", SLIDE): {"m/s^2": 1.0, "mm/s^2": 1e3, "m/s²": 1.0},
    ("tau", TURN): {"N m": 1.0, "Nm": 1.0, "mNm": 1e3, "Ncm": 100.0, "N mm": 1e3, "kN m": 1e-3,
                    "kgf cm": 100 / 9.80665, "lbf ft": 1 / (4.4482216152605 * 0.3048)},
    ("tau", SLIDE): {"N": 1.0, "mN": 1e3, "kN": 1e-3, "newton": 1.0, "lbf": 1 / 4.4482216152605},
}  # fmt: skip
WORDS = {"q": "position", "dq": "velocity", "ddq": "acceleration", "tau": "torque"}
FORMATS = ("brackets", "parentheses", "suffix", "comment", "line", "columns", "attributes")


@lru_cache(maxsize=2)
def robot() -> kt.Robot:
    """A robot with hinges and sliders."""
    return kt.robots.scara()


def draw(rng: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times and a motion with all quantities."""
    count, n = int(rng.integers(3, 7)), robot().n
    t = np.cumsum(rng.uniform(0.01, 1, count))
    return t, {x: rng.normal(size=(count, n)) for x in WORDS}


def unit_of(rng: Any, quantity: str, joint: int) -> tuple[str, float]:
    own = UNITS[quantity, robot().model.joint_types[joint]]
    text = str(rng.choice(sorted(own)))
    return text, own[text]


def write(folder: Path, place: str, heads: Any, units: Any, columns: Any) -> Path:
    """A table with its units in one of the places."""
    if place == "attributes":
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.table(dict(zip(heads, columns, strict=True)))
        stated = json.dumps({a: b for a, b in zip(heads, units, strict=True) if b})
        parquet.write_table(table.replace_schema_metadata({"units": stated}), folder / "a.parquet")
        return folder / "a.parquet"
    form = {"brackets": "{} [{}]", "parentheses": "{} ({})", "suffix": "{}_{}"}.get(place)
    names = heads
    if form is not None:
        names = [form.format(a, b) if b else a for a, b in zip(heads, units, strict=True)]
        if place == "suffix":
            names = [x.replace(" ", "_").replace("/", "_per_") for x in names]
    lines = [";".join(names)]
    if place == "comment":
        lines.insert(0, "# units: " + "; ".join(x or "-" for x in units))
    if place == "line":
        lines.append(";".join(x or "-" for x in units))
    lines += [";".join(repr(float(x)) for x in row) for row in np.stack(columns, axis=1)]
    (folder / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "a.csv"


def read_in_units(rng: Any, missing: float) -> tuple[Any, bool, dict[str, str]]:
    """Read a motion from a file in random units.

    Returns the motion, None if it is refused; whether it is the true one; and the stated units by
    the names of columns. missing: share of columns whose unit is not stated.
    """
    t, true = draw(rng)
    place = str(rng.choice(FORMATS))
    names = robot().joint_names
    time_unit = str(rng.choice(sorted(TIMES)))
    heads, units, columns = ["time"], [time_unit], [t * TIMES[time_unit]]
    for quantity, x in true.items():
        for k, name in enumerate(names):
            unit, factor = unit_of(rng, quantity, k)
            heads.append(f"{WORDS[quantity]}_{name}")
            units.append("" if rng.random() < missing else unit)
            columns.append(x[:, k] * factor)
    order = rng.permutation(len(heads))
    heads, units, columns = ([x[k] for k in order] for x in (heads, units, columns))
    note(rng, place=place, units=dict(zip(heads, units, strict=True)))
    mapping = None
    if place == "columns":
        quantities = {word: quantity for quantity, word in WORDS.items()}
        mapping = {}
        for head, unit in zip(heads, units, strict=True):
            word, _, joint = head.partition("_")
            target = f"{quantities[word]}:{joint}" if joint else "t"
            mapping[head] = f"{target} [{unit}]" if unit else target
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), place, heads, units, columns)
        try:
            found = motion.read(path, robot(), columns=mapping)
        except kt.KinetreeError as error:
            note(rng, refused=str(error))
            return None, False, dict(zip(heads, units, strict=True))
    pairs = [(found.t, t), *((getattr(found, x), own) for x, own in true.items())]
    same = all(np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in pairs)
    return found, same, dict(zip(heads, units, strict=True))


@law(ci=6)
def law_a_recording_in_other_units_is_the_same_motion(rng: Any) -> None:
    """All units stated, in one of seven places: the motion to 1e-12. Letters may be refused."""
    found, same, units = read_in_units(rng, 0.0)
    if found is None:
        letters = {"m", "N", "min"} & {*units.values()}  # may be part of a name
        assert rng.log.notes["place"] == "suffix" and letters, "refused, and every unit is stated"
        return
    assert same, "another motion"


@law(ci=4)
def law_columns_without_a_unit_are_not_read_beside_others(rng: Any) -> None:
    """Some columns without a unit: they are SI, unless one of the same kind is in another unit."""
    found, same, units = read_in_units(rng, float(rng.choice([0.02, 0.2, 0.8])))
    if found is None or same:
        return
    types = dict(zip(robot().joint_names, robot().model.joint_types, strict=True))
    silent, converted = set(), set()
    for head, unit in units.items():
        word, _, joint = head.partition("_")
        if not joint:
            continue
        quantity = next(x for x, own in WORDS.items() if own == word)
        group = "forces" if quantity == "tau" else types[joint]
        if not unit:
            silent.add(group)
        elif UNITS[quantity, types[joint]][unit] != 1:
            converted.add(group)
    assert not silent & converted, f"columns without a unit were read: {silent & converted}"
