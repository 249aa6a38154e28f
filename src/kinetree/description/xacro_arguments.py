"""Arguments of a xacro file: given by the user, declared with defaults, used as $(arg NAME)."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from kinetree.description.xacro_values import ExpressionError
from kinetree.description.xml import Element, clip
from kinetree.errors import InputError

DECLARATION = "xacro:arg"
USED = re.compile(r"\$\(arg\s+([^\s()]+)\s*\)")


def argument_texts(arguments: Mapping[str, Any] | None) -> dict[str, str]:
    """Arguments as xacro has them: texts. True and False are written true and false."""
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

    def __init__(self, file: str, given: Mapping[str, Any] | None):
        self.file = file
        self.given = argument_texts(given)
        self.values = dict(self.given)
        self.declared: dict[str, str | None] = {}  # defaults as written; None: required
        self.used: set[str] = set()

    def remember(self, root: Element) -> None:
        """Collect the arguments that a file declares, and those that it uses without."""
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

    def unknown(self) -> str:
        """A sentence about a given argument that no file read so far has, or nothing."""
        for name in self.given:
            if name not in self.declared and name not in self.used:
                near = get_close_matches(name, list(self.declared), 1)
                hint = f" Is {near[0]!r} meant?" if near else ""
                return f"{self.file} has no argument {name!r}.{hint}"
        return ""

    def check(self) -> None:
        """Raise InputError if an argument was given that no file has."""
        unknown = self.unknown()
        if unknown:
            raise InputError(f"{unknown} {self.listed()}")

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
