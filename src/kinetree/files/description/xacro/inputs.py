"""Values that a xacro file takes from outside: its arguments, and YAML files.

Arguments are given by the user, declared with defaults, and used as $(arg NAME). YAML files are
plain data, with the units that xacro adds.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kinetree.errors import InputError, need
from kinetree.files.description.records import ArgumentValue
from kinetree.files.description.source import decode, read_bytes
from kinetree.files.description.xacro.expressions import (
    MOST_ENTRIES,
    Evaluator,
    ExpressionError,
    bounded,
)
from kinetree.files.description.xml import Element, clip

DECLARATION = "xacro:arg"
USED = re.compile(r"\$\(arg\s+([^\s()]+)\s*\)")
UNITS = {  # factor of the base unit: rad, m
    "radians": 1.0,
    "degrees": math.pi / 180.0,
    "meters": 1.0,
    "millimeters": 0.001,
    "foot": 0.3048,
    "inches": 0.0254,
}
YAML_SIZE = 2**19  # bytes of all YAML files of a robot: PyYAML takes seconds for a megabyte


def argument_texts(arguments: Mapping[str, ArgumentValue] | None) -> dict[str, str]:
    """Arguments as texts, as xacro has them. True and False are written true and false."""
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise InputError(
            f"arguments is {type(arguments).__name__}; expected a dictionary such as "
            "{'prefix': 'left_'}."
        )
    texts: dict[str, str] = {}
    for name, value in arguments.items():
        if not isinstance(name, str) or not isinstance(value, str | bool | int | float):
            raise InputError(
                f"argument {name!r} is {value!r}; expected a name and a text, number or truth "
                "value."
            )
        texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


class Arguments:
    """The arguments of one expansion; `file` names the description in messages."""

    def __init__(self, file: str, given: Mapping[str, ArgumentValue] | None):
        self.file = file
        self.given = argument_texts(given)
        self.values = dict(self.given)
        self.declared: dict[str, str | None] = {}  # defaults as written; None: required
        self.used: set[str] = set()

    def remember(self, root: Element) -> None:
        """Collect the arguments that a file declares, and those that it uses undeclared."""
        uses: list[str] = []
        for element in all_elements(root):
            if element.tag == DECLARATION:
                name = element.attributes.get("name", "")
                if self.declared.get(name) is None:
                    self.declared[name] = element.attributes.get("default")
            for text in (element.text, *element.attributes.values()):
                uses += USED.findall(text)
        for name in uses:
            self.declared.setdefault(name, None)

    def value(self, name: str) -> str:
        """The value of an argument.

        Raises:
            ExpressionError: it has none; the message lists the arguments.
        """
        self.used.add(name)
        if name not in self.values:
            raise ExpressionError(
                f"the argument {name!r} has no value here. {self.listed()} Give it in "
                f"arguments= of kt.load (--arg {name}:=VALUE on the command line)"
            )
        return self.values[name]

    def listed(self) -> str:
        """The arguments of the files read so far, with their defaults, as a sentence."""
        if not self.declared:
            return f"{self.file} has no arguments."
        each = [
            f"{name} (required)" if default is None else f"{name}:={clip(default)}"
            for name, default in self.declared.items()
        ]
        return f"The arguments of {self.file} are {', '.join(each)}."

    def converted(self, name: str) -> str | int | float | bool:
        """The value of an argument in $(eval ...): a number or truth value if it looks like one."""
        text = self.value(name)
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            return {"true": True, "false": False}.get(text.lower(), text)

    def unknown(self) -> str:
        """A sentence about the first given argument that no file read so far has, or nothing."""
        for name in self.given:
            if name not in self.declared and name not in self.used:
                near = get_close_matches(name, list(self.declared), 1)
                hint = f" Is {near[0]!r} meant?" if near else ""
                return f"{self.file} has no argument {name!r}.{hint}"
        return ""

    def in_force(self) -> str:
        """All values as a sentence for the report; empty without arguments."""
        each = [
            f"{name}:={clip(value)}{' (given)' if name in self.given else ''}"
            for name, value in self.values.items()
        ]
        return f"arguments: {', '.join(each)}." if each else ""


def all_elements(root: Element) -> Iterator[Element]:
    """The element and all below it, in the order of the file."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += reversed(element.children)


def load_yaml(path: Path, evaluator: Evaluator, limit: int) -> tuple[Any, int]:
    """Data and size of a YAML file of at most `limit` bytes; !degrees and the like scale numbers.

    Raises:
        ExpressionError: the file is not YAML, or larger than any list of parameters.
        MissingPackageError: PyYAML is not installed.
    """
    yaml = need("yaml", "xacro", f"{path.name} is a YAML file, which")

    class Loader(yaml.SafeLoader):
        """A class of this call alone: constructors added here do not affect other users of yaml."""

        entries = 0  # of all mappings, those that merge keys (<<) copy counted each time

        def flatten_mapping(self, node: Any) -> None:
            super().flatten_mapping(node)
            self.entries += len(node.value)
            if self.entries > MOST_ENTRIES:
                raise yaml.YAMLError(f"its mappings have more than {MOST_ENTRIES} entries")

    def constructor(factor: float) -> Callable[[Any, Any], float]:
        def construct(loader: Any, node: Any) -> float:
            value = evaluator.value(str(loader.construct_scalar(node)), _no_names)
            return float(value) * factor

        return construct

    for unit, factor in UNITS.items():
        Loader.add_constructor(f"!{unit}", constructor(factor))
    data = read_bytes(path, limit)
    try:
        # a subclass of SafeLoader: plain data only
        return bounded(yaml.load(decode(data, path.name), Loader)), len(data)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ExpressionError(f"{path.name} is not YAML that can be read: {reason[:300]}") from None


def _no_names(name: str) -> object:
    raise KeyError(name)
