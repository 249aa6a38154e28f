"""The commands by name, and how plain words become a call without the parser.

The parser, cyclopts, takes 60 ms of a start of 200. Words of the usual form are read here from the
same declarations: arguments, then options by their full names, each followed by its values. Words
of any other form (help, `--name=value`, a repeated option, whatever is wrong) are left to the
parser, so that this reading knows no messages.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FunctionType, NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kinetree.cli.arguments import DECLARED, Argument

# group: commands, each with the function that runs it and its arguments
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Look at a robot": {
        "info": ("info:info", "ROBOT"),
        "lint": ("lint:lint", "ROBOT"),
        "view": ("view:view", "[ROBOT]"),
        "report": ("report:report", "ROBOT"),
        "render": ("render:render", "ROBOT [TRAJECTORY] --output FILE"),
    },
    "Compute": {
        "id": ("dynamics:inverse_dynamics", "ROBOT [DATA]"),
        "fd": ("dynamics:forward_dynamics", "ROBOT [DATA]"),
        "terms": ("dynamics:terms", "ROBOT [DATA]"),
        "explain": ("explain:explain", "ROBOT [DATA]"),
    },
    "Simulate and check": {
        "plan": ("plan:plan", "ROBOT --to NUMBER..."),
        "optimize": ("optimize:optimize", "ROBOT --to NUMBER..."),
        "simulate": ("simulate:simulate", "ROBOT"),
        "check": ("check:check", "ROBOT TRAJECTORY"),
        "size": ("size:size", "ROBOT MOTION"),
    },
    "Identify": {
        "excite": ("excite:excite", "ROBOT"),
        "identify": ("identify:identify", "ROBOT DATA --output FILE"),
        "watch": ("watch:watch", "ROBOT DATA"),
    },
    "Write files, equations and code": {
        "convert": ("convert:convert", "ROBOT --output FILE"),
        "equations": ("equations:equations", "ROBOT"),
        "export": ("export:export", "ROBOT [QUANTITY]"),
    },
    "The program itself": {
        "demo": ("demo:demo", ""),
    },
}
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
OF_THE_PARSER = re.compile(r"none|null|[\[{].*", re.IGNORECASE | re.DOTALL)  # None, and JSON

Place = tuple[str, ...]  # of a value: the names of records, and its name in the innermost
Option = tuple[Place, Any, dict[str, Any], bool]  # type, how it is read, and its value if a flag


class NotPlainError(Exception):
    """Words that the parser has to read."""


def find(command: str) -> FunctionType | None:
    """Import the function of a command; None for a word that is not in the table."""
    for commands in COMMANDS.values():
        if command in commands:
            module, _, function = commands[command][0].partition(":")
            return getattr(import_module(f"kinetree.cli.{module}"), function)
    return None


def plain_call(words: Sequence[str]) -> Callable[[], int | None] | None:
    """The call that the words describe; None where the parser has to read them."""
    function = find(words[0]) if words else None
    if function is None:
        return None
    try:
        return bind(function, words[1:])
    except NotPlainError:
        return None


def bind(function: FunctionType, words: Sequence[str]) -> Callable[[], int | None]:
    """The function with the values of plain words.

    Raises:
        NotPlainError: the words have another form, or a value is missing or wrong.
    """
    code, hints = function.__code__, get_type_hints(function, include_extras=True)
    names = code.co_varnames[: code.co_posonlyargcount]
    end = code.co_posonlyargcount + code.co_kwonlyargcount
    keywords = {x: hints[x] for x in code.co_varnames[code.co_posonlyargcount : end]}
    (_, arguments), *groups = grouped(words)
    if not len(names) - len(function.__defaults__ or ()) <= len(arguments) <= len(names):
        raise NotPlainError
    pairs = zip(names, arguments, strict=False)
    arguments = [read(bare(hints[name])[0], {}, True, [word]) for name, word in pairs]
    options, values = dict(declared(keywords)), dict[Place, Any]()
    for word, following in groups:
        if word not in options or options[word][0] in values:
            raise NotPlainError
        place, kind, how, flag = options[word]
        values[place] = read(kind, how, flag, following)
    values_by_name = filled(keywords, values)
    if keywords.keys() - values_by_name.keys() - (function.__kwdefaults__ or {}).keys():
        raise NotPlainError
    return partial(function, *arguments, **values_by_name)


def grouped(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Each option with the words up to the next; first those in front of all, without an option."""
    groups: list[tuple[str, list[str]]] = [("", [])]
    for word in words:
        if word.startswith("-") and not NUMBER.fullmatch(word):
            groups.append((word, []))
        else:
            groups[-1][1].append(word)
    return groups


def declared(hints: dict[str, Any], place: Place = ()) -> Iterator[tuple[str, Option]]:
    """Options by the words that name them, those inside records included."""
    for name, hint in hints.items():
        kind, how = bare(hint)
        if hasattr(kind, DECLARED):
            yield from declared(get_type_hints(kind, include_extras=True), (*place, name))
            continue
        spelled, negative = how.get("name", "--" + name.replace("_", "-")), how.get("negative", ())
        for words, flag in ((spelled, True), (negative, False)):
            for word in [words] if isinstance(words, str) else words:
                yield word, ((*place, name), kind, how, flag)


def bare(hint: Any) -> tuple[Any, dict[str, Any]]:
    """A type without its annotations, and how its words are read."""
    how: dict[str, Any] = {}
    for x in getattr(hint, "__metadata__", ()):
        how |= x.how if isinstance(x, Argument) else {}
    return (hint.__origin__ if hasattr(hint, "__metadata__") else hint), how


def read(kind: Any, how: dict[str, Any], flag: bool, words: list[str]) -> Any:
    """The value of an option with these words after it."""
    kind = next((x for x in get_args(kind) if NoneType in get_args(kind)), kind)
    if kind is bool and not words:
        return flag
    plain = [word for word in words if not OF_THE_PARSER.fullmatch(word)]
    if plain == words and "consume_multiple" in how and words:
        if kind in (list[str], tuple[str, ...]):
            return list(words) if kind == list[str] else tuple(words)
    elif len(words) == 1 and "converter" not in how:
        if words[0] in get_args(kind) and get_origin(kind) is Literal:
            return words[0]
        if plain == words and (
            kind in (str, Path) or (kind is float and NUMBER.fullmatch(words[0]))
        ):
            return kind(words[0])
    raise NotPlainError


def filled(hints: dict[str, Any], values: dict[Place, Any]) -> dict[str, Any]:
    """Values by name, with records made of those inside them."""
    found = {place[0]: value for place, value in values.items() if len(place) == 1}
    for name in {place[0] for place in values if len(place) > 1}:
        record, _ = bare(hints[name])
        inside = {place[1:]: value for place, value in values.items() if place[0] == name}
        found[name] = record(**filled(get_type_hints(record, include_extras=True), inside))
    return found
