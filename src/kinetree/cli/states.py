"""One state of a robot as typed, and its results as a table or as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from kinetree.base.arrays import Array
from kinetree.cli.angles import factors, names, units
from kinetree.cli.show import console, number, table
from kinetree.cli.vectors import vector
from kinetree.cli.words import STREAM
from kinetree.errors import InputError
from kinetree.model import Model

Words = Sequence[str] | None


def read_state(model: Model, given: Mapping[str, Words], degrees: bool) -> dict[str, Array]:
    """Every quantity in SI units; what is not given is zero."""
    return {name: vector(model, name, words, degrees) for name, words in given.items()}


def refuse_both(data: str | None, given: Mapping[str, Words]) -> None:
    """A state comes from the options or from a file, not from both."""
    typed = [f"--{name}" for name, words in given.items() if words]
    if data is not None and typed:
        source = "standard input" if data == STREAM else f"the file {data}"
        raise InputError(f"{', '.join(typed)} and {source} both give states; expected one of them.")


def document(model: Model, state: Mapping[str, Array], degrees: bool) -> dict[str, Any]:
    """The state as JSON shows it: names, units and numbers in the user's units."""
    shown = {name: x / factors(model, name, degrees) for name, x in state.items()}
    return {
        "robot": model.name,
        "coordinates": list(model.coordinate_names),
        "joints": list(model.dof_names),
        "units": {name: units(model, name, degrees) for name in state},
        **shown,
    }


def print_state(model: Model, state: Mapping[str, Array], degrees: bool) -> None:
    """A row for every joint; positions by themselves where they are not one for each rate."""
    shown = {name: x / factors(model, name, degrees) for name, x in state.items()}
    if model.nq == model.n:
        _print(model, shown, degrees, model.name)
        return
    positions = {name: x for name, x in shown.items() if name == "q"}
    _print(model, positions, degrees, model.name)
    console().print()
    _print(model, {name: x for name, x in shown.items() if name != "q"}, degrees, "")


def _print(model: Model, shown: Mapping[str, Array], degrees: bool, title: str) -> None:
    """Quantities in columns, each with its unit: in the heading where all entries share it."""
    heads, columns = ["joint"], [list(names(model, next(iter(shown))))]
    for name, x in shown.items():
        unit = units(model, name, degrees)
        same = len(set(unit)) == 1
        heads.append(f"{name}\n{unit[0]}" if same else f"{name}\n")
        texts = [number(v) for v in x.tolist()]
        pairs = zip(texts, unit, strict=True)
        columns.append(texts if same else [a if b == "1" else f"{a} {b}" for a, b in pairs])
    console().print(table(title, heads, list(zip(*columns, strict=True))))
