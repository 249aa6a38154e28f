"""Names of xacro: scopes of properties, blocks and macros, and the pieces of a text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kinetree.errors import ParseError
from kinetree.files.description.xacro.expressions import ExpressionError
from kinetree.files.description.xml import Element

PIECE = re.compile(
    r"\$+(?P<escaped>\$[({])"
    r"|\$\{(?P<expression>[^}]*)\}"
    r"|\$\((?P<substitution>[^)]*)\)"
    r"|(?P<text>[^$]+|\$(?![$({]))"
)
EVAL = "$(eval "  # the one substitution that may contain parentheses
PARAMETER = re.compile(
    r"\s*(?P<name>[^\s:=]+)"
    r"(?:\s*:?=\s*(?P<forward>\^\|?)?"
    r"(?P<default>\$\{[^}]*\}(?=\s|$)|\$\([^)]*\)(?=\s|$)|(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+)?)?"
    r"(?=\s|$)"
)
Default = tuple[bool, str | None]  # whether the caller's value is taken; the text


@dataclass
class Lazy:
    """The text of a property, evaluated when it is first used."""

    text: str
    element: Element
    busy: bool = False


@dataclass(frozen=True)
class Block:
    """An element given to a macro or kept by a property; not `whole`: its content only."""

    element: Element
    whole: bool


@dataclass(frozen=True)
class Macro:
    """A macro: its body, and its parameters with their defaults."""

    element: Element
    parameters: dict[str, Default]


@dataclass
class Scope:
    """Properties and macros by name; what is not here is looked up in the parent.

    A namespace is the scope of an included file: its macros see no macros outside of it.
    """

    parent: "Scope | None"
    namespace: str | None = None
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    macros: dict[str, Macro] = field(default_factory=dict[str, Macro])

    def chain(self) -> Iterator["Scope"]:
        """The scope itself and those around it, inner ones first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def home(self, name: str) -> "Scope | None":
        """The nearest scope that has a value of that name."""
        return next((scope for scope in self.chain() if name in scope.values), None)

    def find(self, name: str) -> Any:
        """The value as stored, without evaluation; None if there is none."""
        home = self.home(name)
        return None if home is None else home.values[name]

    def target(self, reach: str) -> "Scope":
        """The scope that a property is set in: "local", "parent" (of a macro, its caller's)...

        or "global". Namespaces between a macro and its caller are passed over.
        """
        if reach == "global":
            return list(self.chain())[-1]
        scope = self if reach == "local" else self.parent or self
        while reach == "parent" and self.namespace is None and scope.namespace and scope.parent:
            scope = scope.parent
        return scope

    def macro(self, name: str) -> "tuple[Macro | None, Scope]":
        """A macro and the scope that its body runs in; the name may begin with namespaces."""
        for scope in self.chain():
            if name in scope.macros:
                return scope.macros[name], self
            if scope.namespace is not None:
                break
        *spaces, last = name.split(".")
        inside: Any = self
        for space in spaces:
            inside = inside.find(space) if isinstance(inside, Scope) else None
        found = inside.macros.get(last) if spaces and isinstance(inside, Scope) else None
        return found, inside


def macro_of(element: Element) -> Macro:
    """The macro that an element <xacro:macro> defines."""
    text = element.attributes.get("params", "").rstrip()
    parameters: dict[str, Default] = {}
    position = 0
    while position < len(text):
        match = PARAMETER.match(text, position)
        if match is None or match["name"] in parameters:
            rest = text[position : position + 40].strip()
            text = f"params of macro {element.attributes.get('name')!r}: {rest!r} is not one"
            expected = "expected NAME, NAME:=DEFAULT, *BLOCK or **BLOCK, each name once"
            raise ParseError(f"{element.place}: {text}; {expected}.")
        parameters[match["name"]] = bool(match["forward"]), match["default"]
        position = match.end()
    return Macro(element, parameters)


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a text: ("text", ...), ("expression", ...) or ("substitution", ...)."""
    position = 0
    while position < len(text):
        if text.startswith(EVAL, position):
            end = _closing(text, position + len(EVAL))
            yield "substitution", text[position + 2 : end]
            position = end + 1
            continue
        match = PIECE.match(text, position)
        if match is None or match.lastgroup is None:
            rest = text[position : position + 40]
            raise ExpressionError(f"{rest!r} is not closed; write a plain $ before a brace as $$")
        if match.lastgroup == "escaped":  # one $ of several is dropped
            yield "text", match[0][1:]
        else:
            yield match.lastgroup, match[match.lastgroup]
        position = match.end()


def _closing(text: str, start: int) -> int:
    """The place of the parenthesis that closes one opened before `start`."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise ExpressionError(f"{text[start:][:40]!r} is not closed; a parenthesis is missing")
