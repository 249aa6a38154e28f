"""Xacro -> the elements of a URDF, by an interpreter without state between expansions.

The language: https://github.com/ros/xacro/wiki. Elements keep the file and line that they come
from. Expressions cannot run code (see `expressions`). A file can make the reader open XML and YAML
files in its own package, in packages that it uses and in folders that the caller names (see
`files`), and sees environment variables only if the caller allows it.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.records import ArgumentValue
from kinetree.files.description.source import MissingFileError, path_text, seen_path
from kinetree.files.description.xacro.expressions import (
    Evaluator,
    ExpressionError,
    Function,
    Namespace,
    literal,
    truth,
)
from kinetree.files.description.xacro.files import Files
from kinetree.files.description.xacro.inputs import YAML_SIZE, Arguments, load_yaml
from kinetree.files.description.xacro.scope import Block, Lazy, Macro, Scope, macro_of, scanned
from kinetree.files.description.xacro.substitutions import Substitutions
from kinetree.files.description.xml import Element, clip, show

PREFIX = "xacro:"
NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MOST_ELEMENTS = 200_000  # visited, those of macros each time


@dataclass(frozen=True)
class Expanded:
    """The root of an expanded file, the arguments in force, and the names of its macros."""

    root: Element
    arguments: Mapping[str, str] = field(default_factory=dict)
    macros: tuple[str, ...] = ()


def expand_xacro(
    path: str | os.PathLike[str],
    folders: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, ArgumentValue] | None = None,
    findings: Findings | None = None,
    text: str | None = None,
    environment: bool = False,
) -> Expanded:
    """Expand a xacro file into the elements of a URDF.

    Args:
        path: the .xacro file.
        folders: folders that contain ROS packages, at any depth.
        arguments: values of its <xacro:arg> elements: texts, numbers, truth values.
        findings: receives notes (packages and arguments taken) and warnings.
        text: the content, if it is not in a file; `path` is then its name in messages, and
            relative paths start from `folders`.
        environment: whether $(env ...) and $(optenv ...) read environment variables.

    Raises:
        ParseError: the file cannot be expanded; the message has file:line:column and the remedy.
    """
    findings = Findings() if findings is None else findings
    place = Path(path_text(path))
    files = Files(place, folders, findings, text)
    reader = _Reader(files, Arguments(place.name, arguments), findings, environment)
    try:
        root = reader.expand()
    except ParseError as error:
        hint = reader.arguments.unknown()
        if not hint:
            raise
        raise type(error)(f"{error} {hint}") from None
    except RecursionError:
        raise ParseError(
            f"{place.name}: macros, blocks or expressions are nested too deeply; does a macro "
            "call itself without an end?"
        ) from None
    finally:
        findings.notes += files.packages.notes
    if unknown := reader.arguments.unknown():
        findings.warn(
            files.roots[files.main], f"{unknown} It is ignored. {reader.arguments.listed()}"
        )
    if reader.arguments.values:
        findings.note(files.roots[files.main], reader.arguments.in_force())
    return Expanded(root, reader.arguments.values, tuple(reader.macros))


class _Reader:
    """One expansion: its files, arguments, scopes and bounds.

    The methods of ELEMENTS expand one <xacro:...> element each: `child` into `out`, with the
    properties and macros of `scope`.
    """

    def __init__(
        self, files: Files, arguments: Arguments, findings: Findings, sees_environment: bool
    ) -> None:
        self.files = files
        self.arguments = arguments
        self.findings = findings
        self.yaml: dict[Path, Any] = {}  # data of YAML files
        self.yaml_left = YAML_SIZE  # bytes that may still be read
        self.macros: dict[str, None] = {}  # an ordered set
        self.count = 0  # of elements visited
        self.current = Element("", {}, "", 0, 0)  # that an expression stands in
        self.evaluator = Evaluator()
        self.evaluator.functions |= self._own_functions()
        self.substitutions = Substitutions(
            self.evaluator, files, arguments, findings, sees_environment
        )

    def expand(self) -> Element:
        """The root of the expanded file."""
        source = self.load(self.files.main)
        scope = Scope(None)
        root = Element(source.tag, {}, source.file, source.line, source.column)
        with self.files.inside(self.files.main, source):
            self.inner(source, root, scope)
            # last: <robot name="$(arg name)"> may use an argument that is declared inside
            root.attributes = self.attributes(source, scope) | root.attributes
        return root

    def load(self, path: Path) -> Element:
        """The root of an XML file; the arguments that it declares are remembered."""
        if path not in self.files.roots:
            self.arguments.remember(self.files.load(path))
        return self.files.roots[path]

    # elements

    def content(self, source: Element, out: Element, scope: Scope) -> None:
        """Expand the children of `source` into `out`."""
        for child in source.children:
            self.element(child, out, scope)

    def inner(self, source: Element, out: Element, scope: Scope) -> None:
        """Expand text and children of `source` into `out`, without `source` itself."""
        if source.text:
            out.text += self.text(source.text, scope, source, "the text")
            out.interruption = out.interruption or source.interruption
        self.content(source, out, scope)

    def element(self, child: Element, out: Element, scope: Scope) -> None:
        self.count += 1
        if self.count > MOST_ELEMENTS:
            text = f"the file takes more than {MOST_ELEMENTS} elements, macros and includes counted"
            raise ParseError(f"{child.place}: {text}; does a macro call itself without an end?")
        if not child.tag.startswith(PREFIX):
            self.plain(child, child.tag, out, scope)
            return
        word = child.tag[len(PREFIX) :]
        method = ELEMENTS.get(word)
        if method is None:
            self.call(word, child, out, scope)
        else:
            method(self, child, out, scope)

    def plain(self, child: Element, tag: str, out: Element, scope: Scope) -> None:
        new = Element(tag, {}, child.file, child.line, child.column)
        new.attributes = self.attributes(child, scope)
        new.text = self.text(child.text, scope, child, "the text") if child.text else ""
        new.interruption = child.interruption
        out.children.append(new)
        self.content(child, new, scope)

    def attributes(self, element: Element, scope: Scope) -> dict[str, str]:
        return {
            key: self.text(value, scope, element, key) if "$" in value else value
            for key, value in element.attributes.items()
            if not key.startswith(PREFIX) and key != "xmlns:xacro"
        }

    def text(self, text: str, scope: Scope, element: Element, what: str) -> str:
        """A text of the expanded file; raise ParseError if XML has no such characters."""
        expanded = str(self.evaluate(text, scope, element, what))
        if wrong := NOT_XML.search(expanded):
            reason = f"its value has the character {wrong[0]!r}, which XML does not allow"
            raise self.fault(element, what, text, reason)
        return expanded

    def if_(self, child: Element, out: Element, scope: Scope) -> None:
        (value,) = self.required(child, "value")
        holds = self.condition(value, scope, child)
        if holds is (child.tag == f"{PREFIX}if"):
            self.inner(child, out, scope)

    def condition(self, text: str, scope: Scope, element: Element) -> bool:
        try:
            return truth(self.evaluate(text, scope, element, "value"))
        except ExpressionError as error:
            raise self.fault(element, "value", text, str(error)) from None

    def argument(self, child: Element, out: Element, scope: Scope) -> None:
        (name,) = self.required(child, "name", optional=("default",))
        default = child.attributes.get("default")
        if name not in self.arguments.values and default is not None:
            self.arguments.values[name] = str(self.evaluate(default, scope, child, "default"))

    def property(self, child: Element, out: Element, scope: Scope) -> None:
        optional = ("value", "default", "remove", "scope", "lazy_eval")
        (name,) = self.required(child, "name", optional=optional)
        name = str(self.evaluate(name, scope, child, "name"))
        if not name.isidentifier() or name.startswith("__"):
            text = "expected letters, digits and underscores, and no two underscores first"
            raise self.fault(child, "name", name, text)
        value = self._property_value(child, name, scope)
        if value is None:
            return
        lazy = self.condition(child.attributes.get("lazy_eval", "true"), scope, child)
        reach = child.attributes.get("scope")
        target = scope
        if reach == "global":
            target, lazy = scope.top(), False
        elif reach == "parent":
            if scope.parent is None:
                self.findings.warn(child, f"property {show(name)} has no parent scope; not set.")
                return
            target, lazy = scope.calling(), False
        elif reach not in (None, "local"):
            raise self.fault(child, "scope", str(reach), "expected 'local', 'parent' or 'global'")
        if isinstance(value, Block):
            target.values[f"**{name}"] = value
        elif not lazy:
            target.values[name] = literal(self.evaluate(value, scope, child, "value"))
        else:
            known = literal(value)
            target.values[name] = Lazy(known, child) if isinstance(known, str) else known

    def _property_value(self, child: Element, name: str, scope: Scope) -> "str | Block | None":
        """The text or block that a <xacro:property> sets; None if there is nothing to set."""
        value, default = child.attributes.get("value"), child.attributes.get("default")
        remove = self.condition(child.attributes.get("remove", "false"), scope, child)
        if sum((value is not None, default is not None, remove)) > 1:
            text = "<xacro:property> has more than one of value, default and remove; expected one."
            raise ParseError(f"{child.place}: property {show(name)}: {text}")
        known = name in scope or name in self.evaluator.functions
        if remove:
            scope.remove(name)
            return None
        if default is not None:
            return None if known else default
        return Block(child, whole=False) if value is None else value

    def macro(self, child: Element, out: Element, scope: Scope) -> None:
        (name,) = self.required(child, "name", optional=("params",))
        name = name.removeprefix(PREFIX)
        if name in ELEMENTS or "." in name or not name:
            raise self.fault(child, "name", name, "expected another name, without dots")
        scope.macros[name] = macro_of(child)
        self.macros[name] = None

    def include(self, child: Element, out: Element, scope: Scope) -> None:
        (spec,) = self.required(child, "filename", optional=("ns", "optional"))
        if child.children:
            self.findings.warn(child, "elements inside <xacro:include> are not read.")
        optional = self.condition(child.attributes.get("optional", "false"), scope, child)
        inside = scope
        if "ns" in child.attributes:
            name = str(self.evaluate(child.attributes["ns"], scope, child, "ns"))
            inside = Scope(scope, namespace=name)
            scope.values[name] = inside
        name = str(self.evaluate(spec, scope, child, "filename"))
        for path in self.files.matches(name, child):
            if not path.is_file():
                if optional:
                    continue
                raise ParseError(
                    f"{child.place}: <xacro:include> names the file {clip(name, 200)!r}, which is "
                    f"not there: {path}. {self._why_missing()}"
                )
            source = self.load(path)
            with self.files.inside(path, child):
                self.inner(source, out, inside)

    def insert_block(self, child: Element, out: Element, scope: Scope) -> None:
        (name,) = self.required(child, "name")
        block = scope.find(f"**{name}", scope.find(f"*{name}"))
        if not isinstance(block, Block):
            raise self.fault(child, "name", name, "no block of that name was given")
        if block.whole:
            self.element(block.element, out, scope)
        else:
            self.inner(block.element, out, scope)

    def named_element(self, child: Element, out: Element, scope: Scope) -> None:
        text = child.attributes.get("xacro:name", "")
        tag = str(self.evaluate(text, scope, child, "xacro:name"))
        if not re.fullmatch(r"[A-Za-z_][\w.:-]*", tag):
            raise self.fault(child, "xacro:name", tag, "expected the name of an element")
        if tag.startswith(PREFIX):
            renamed = Element(tag, dict(child.attributes), child.file, child.line, child.column)
            renamed.children, renamed.text = child.children, child.text
            renamed.attributes.pop("xacro:name")
            self.element(renamed, out, scope)
        else:
            self.plain(child, tag, out, scope)

    def attribute(self, child: Element, out: Element, scope: Scope) -> None:
        name, value = self.required(child, "name", "value")
        name = str(self.evaluate(name, scope, child, "name"))
        if not re.fullmatch(r"[A-Za-z_][\w.:-]*", name):
            raise self.fault(child, "name", name, "expected the name of an attribute")
        out.attributes[name] = self.text(value, scope, child, "value")

    def dynamic_call(self, child: Element, out: Element, scope: Scope) -> None:
        name = str(self.evaluate(child.attributes.get("macro", ""), scope, child, "macro"))
        self.call(name, child, out, scope, skipped=("macro",))

    def call(
        self,
        name: str,
        child: Element,
        out: Element,
        scope: Scope,
        skipped: tuple[str, ...] = (),
    ) -> None:
        """Expand a macro: its parameters by name, its blocks in order, its body in a new scope.

        The new scope lies inside that of the caller, whose properties the body can use.
        """
        macro, home = scope.macro(name)
        if macro is None:
            near = get_close_matches(name, list(self.macros), 1)
            hint = f" Is {near[0]!r} meant?" if near else ""
            text = f"there is no macro {show(name)} here; is an include missing?{hint}"
            raise ParseError(f"{child.place}: <{clip(child.tag)}>: {text}")
        local = Scope(home)
        missing = dict(macro.parameters)
        for key, value in child.attributes.items():
            if key in skipped or key.startswith("xmlns"):
                continue
            if key not in missing or key.startswith("*"):
                expected = ", ".join(macro.parameters) or "no parameters"
                text = f"has no parameter {show(key)}; expected {expected}"
                raise ParseError(f"{child.place}: macro {show(name)} of {macro.where} {text}.")
            local.values[key] = literal(self.evaluate(value, scope, child, key))
            del missing[key]
        expanded = Element(child.tag, {}, child.file, child.line, child.column)
        self.content(child, expanded, scope)
        blocks = iter(expanded.children)
        for key in [key for key in missing if key.startswith("*")]:
            block = next(blocks, None)
            if block is None:
                text = f"macro {show(name)} of {macro.where} needs the block {show(key)}"
                raise ParseError(f"{child.place}: {text}: an element inside <{clip(child.tag)}>.")
            local.values[key] = Block(block, whole=not key.startswith("**"))
            del missing[key]
        for block in blocks:
            text = f"macro {show(name)} of {macro.where} has no use for <{clip(block.tag)}>"
            raise ParseError(f"{block.place}: {text}; it takes fewer blocks.")
        for key, default in missing.items():
            local.values[key] = self.default(key, default, macro, scope, child)
        self.inner(macro.element, out, local)

    def default(
        self, key: str, default: "tuple[bool, str | None] | None", macro: Macro, scope: Scope,
        child: Element,
    ) -> Any:  # fmt: skip
        """The value of a parameter that a call leaves out: the caller's (^), or the default."""
        forward, text = default or (False, None)
        if forward and key in scope:
            return self.value_of(key, scope)
        if text is None:
            why = "nor is there a property of that name" if forward else "which has no default"
            raise ParseError(
                f"{child.place}: macro of {macro.where} needs the parameter {show(key)}, {why}."
            )
        return literal(self.evaluate(text, scope, macro.element, "params"))

    def required(
        self, element: Element, *names: str, optional: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        for name in names:
            if name not in element.attributes:
                raise ParseError(f"{element.place}: <{element.tag}> has no attribute {name!r}.")
        extra = [
            key
            for key in element.attributes
            if key not in names and key not in optional and not key.startswith("xmlns")
        ]
        if extra:
            text = f"attribute {show(extra[0])} of <{element.tag}> is not part of xacro; not read."
            self.findings.warn(element, text)
        return tuple(element.attributes[name] for name in names)

    # texts

    def evaluate(self, text: str, scope: Scope, element: Element, what: str) -> Any:
        """A text with its ${...} and $(...): the value itself if the text is one of them."""
        if "$" not in text:
            return text
        try:
            pieces = [
                self._piece(kind, inside, scope, element, what) for kind, inside in scanned(text)
            ]
            return pieces[0] if len(pieces) == 1 else self.joined(pieces)
        except ExpressionError as error:
            raise self.fault(element, what, text, str(error)) from None

    def joined(self, pieces: list[Any]) -> str:
        """The pieces of a text as one; counted as work, since each is a new text."""
        return self.evaluator.made("".join(map(str, pieces)))

    def _piece(self, kind: str, inside: str, scope: Scope, element: Element, what: str) -> Any:
        if kind == "text":
            return inside
        inside = str(self.evaluate(inside, scope, element, what))
        if kind == "${":
            return self.expression(inside, scope, element)
        return self.substitutions.value(inside, element, scope)

    def expression(self, text: str, scope: Scope, element: Element) -> Any:
        previous, self.current = self.current, element
        try:
            return self.evaluator.value(text, lambda name: self.value_of(name, scope))
        finally:
            self.current = previous

    def value_of(self, name: str, scope: Scope) -> Any:
        """The value of a property, evaluated where it was defined when first used."""
        home = scope.home(name)
        value = home.values[name]
        if isinstance(value, Scope):
            return Namespace(value.namespace or "", _Values(self, value))
        if not isinstance(value, Lazy):
            return value
        if value.busy:
            text = "its value depends on itself; lazy_eval='false' evaluates it at once"
            raise ParseError(f"{value.element.place}: property {show(name)}: {text}.")
        value.busy = True
        try:
            evaluated = literal(self.evaluate(value.text, home, value.element, "value"))
        finally:
            value.busy = False
        home.values[name] = evaluated
        return evaluated

    def _why_missing(self) -> str:
        """A hint for a file that is not there: paths are often made of arguments."""
        text = "Relative paths start from the folder of the file that names them."
        return f"{text} {self.arguments.listed()}" if self.arguments.declared else text

    def fault(self, element: Element, what: str, text: str, reason: str) -> ParseError:
        """The error of a text that cannot be evaluated: where, what and why."""
        return ParseError(
            f"{element.place}: <{clip(element.tag)}> {what}={show(text)}: {reason.rstrip('.')}."
        )

    # functions of expressions

    def _own_functions(self) -> dict[str, Function | Namespace]:
        own: dict[str, Callable[..., Any]] = {
            "load_yaml": self._load_yaml,
            "abs_filename": lambda name: seen_path(self.files.located(str(name), self.current)),
            "dotify": dict,
            "arg": lambda name: self.arguments.value(str(name)),
            "tokenize": _tokens,
            "message": lambda *texts, **_: self._report(self.findings.note, texts),
            "warning": lambda *texts, **_: self._report(self.findings.warn, texts),
            "error": lambda *texts, **_: self._report(self.findings.warn, texts),
            "fatal": _stop,
            "print_location": lambda: "",
        }
        functions = {name: Function(f"xacro.{name}", call) for name, call in own.items()}
        direct = {name: functions[name] for name in ("load_yaml", "abs_filename", "dotify")}
        return {**direct, "xacro": Namespace("xacro", functions)}

    def _load_yaml(self, name: object) -> Any:
        path = self.files.located(str(name), self.current)
        if path in self.yaml:
            return self.yaml[path]
        try:
            self.yaml[path], size = load_yaml(path, self.evaluator, self.yaml_left)
            self.yaml_left -= size
            return self.yaml[path]
        except ParseError as error:
            missing = isinstance(error, MissingFileError) or path.is_dir()
            text = f"there is no file {path}. {self._why_missing()}" if missing else str(error)
            raise ExpressionError(text) from None

    def _report(self, add: Callable[[Element, str], None], texts: tuple[object, ...]) -> str:
        """Add a message of the file itself to the findings; the expression's value is empty."""
        add(self.current, f"the file says: {clip(' '.join(map(str, texts)), 400)}")
        return ""


class _Values(Mapping[str, Any]):
    """The values of a namespace as a mapping, evaluated on access."""

    def __init__(self, reader: _Reader, scope: Scope):
        self.reader, self.scope = reader, scope

    def __getitem__(self, name: str) -> Any:
        return self.reader.value_of(name, self.scope)

    def __iter__(self) -> Iterator[str]:
        return iter(self.scope.values)

    def __len__(self) -> int:
        return len(self.scope.values)


def _tokens(text: object, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    """The parts of a text between any of the characters in `sep`."""
    parts = re.split(f"[{re.escape(str(sep))}]", str(text)) if sep else [str(text)]
    return [part for part in parts if part or not skip_empty]


def _stop(*texts: object) -> None:
    raise ExpressionError(f"the file stops with: {' '.join(map(str, texts))}")


ELEMENTS = {
    "if": _Reader.if_,
    "unless": _Reader.if_,
    "arg": _Reader.argument,
    "property": _Reader.property,
    "macro": _Reader.macro,
    "include": _Reader.include,
    "insert_block": _Reader.insert_block,
    "element": _Reader.named_element,
    "attribute": _Reader.attribute,
    "call": _Reader.dynamic_call,
}
