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
    """A macro: its body, and (is forwarded, default) of each parameter, None without either."""

    element: Element
    parameters: dict[str, tuple[bool, str | None] | None]

    @property
    def where(self) -> str:
        """file:line."""
        return self.element.where


@dataclass
class Scope:
    """Properties and macros by name; what is not here is looked up in the parent.

    A namespace is the scope of an included file: its macros see no macros outside of it.
    """

    parent: "Scope | None"
    namespace: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)

    def chain(self) -> Iterator["Scope"]:
        """The scope itself and those around it, inner ones first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def __contains__(self, name: str) -> bool:
        return any(name in scope.values for scope in self.chain())

    def home(self, name: str) -> "Scope":
        """The nearest scope that has a value of that name; KeyError if there is none."""
        for scope in self.chain():
            if name in scope.values:
                return scope
        raise KeyError(name)

    def find(self, name: str, default: object = None) -> Any:
        """The value as stored, without evaluation."""
        return self.home(name).values[name] if name in self else default

    def remove(self, name: str) -> None:
        """Remove a value here and in all scopes around."""
        for scope in self.chain():
            scope.values.pop(name, None)

    def top(self) -> "Scope":
        """The outermost scope."""
        return list(self.chain())[-1]

    def calling(self) -> "Scope":
        """The parent scope; from inside a macro that is the caller's, past all namespaces."""
        scope = self.parent or self
        while self.namespace is None and scope.namespace is not None and scope.parent is not None:
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
        inside: Scope = self
        for space in spaces:
            found = inside.find(space)
            if not isinstance(found, Scope):
                return None, self
            inside = found
        return (inside.macros.get(last), inside) if spaces else (None, self)


def macro_of(element: Element) -> Macro:
    """The macro that an element <xacro:macro> defines."""
    text = element.attributes.get("params", "").rstrip()
    parameters: dict[str, tuple[bool, str | None] | None] = {}
    position = 0
    while position < len(text):
        match = PARAMETER.match(text, position)
        if match is None:
            rest = text[position : position + 40].strip()
            raise ParseError(
                f"{element.place}: params of macro {element.attributes.get('name')!r}: {rest!r} is "
                "not a parameter; expected NAME, NAME:=DEFAULT, *BLOCK or **BLOCK."
            )
        if match["name"] in parameters:
            raise ParseError(
                f"{element.place}: params of macro {element.attributes.get('name')!r} has "
                f"{match['name']!r} twice; expected it once."
            )
        has_default = match["forward"] or match["default"]
        parameters[match["name"]] = (
            (bool(match["forward"]), match["default"]) if has_default else None
        )
        position = match.end()
    return Macro(element, parameters)


def scanned(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a text: ("text", ...), ("${", expression) or ("$(", substitution)."""
    position = 0
    while position < len(text):
        if text.startswith(EVAL, position):
            end = _closing(text, position + len(EVAL))
            yield "$(", text[position + 2 : end]
            position = end + 1
            continue
        match = PIECE.match(text, position)
        if match is None:
            rest = text[position : position + 40]
            raise ExpressionError(f"{rest!r} is not closed; write a plain $ before a brace as $$")
        kind, inside = match.lastgroup, match[match.lastgroup or 0]
        if kind == "escaped":  # one $ of several is dropped
            yield "text", match[0][1:]
        elif kind == "expression":
            yield "${", inside
        elif kind == "text":
            yield "text", inside
        else:
            yield "$(", inside
        position = match.end()


def _closing(text: str, start: int) -> int:
    """The place of the parenthesis that closes one opened before `start`."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise ExpressionError(f"{text[start:][:40]!r} is not closed; a parenthesis is missing")
