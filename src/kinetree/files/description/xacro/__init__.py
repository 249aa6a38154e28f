"""Xacro -> the elements of a URDF, by an interpreter without state between expansions.

The language: https://github.com/ros/xacro/wiki. Elements keep the file and line that they come
from. Expressions cannot run code (see `expressions`). A file opens other files as `Sources` allows,
and sees environment variables only if the caller allows it: the name of a link could show a secret.

Relative paths are relative to the file that is being read, as in ROS; where the text stands in
another file (the body of a macro, a property that is evaluated later) and only that file's folder
has the path, it is taken from there. The current folder never counts.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kinetree.core.text import nearest
from kinetree.errors import ParseError, argument
from kinetree.files.description.findings import Findings
from kinetree.files.description.source import RobotFile, decode, environment, path_text, seen_path
from kinetree.files.description.sources import PATTERN, Sources
from kinetree.files.description.xacro import expressions
from kinetree.files.description.xacro.expressions import ExpressionError, Function, Namespace
from kinetree.files.description.xacro.scope import Block, Lazy, Scope, macro_of, pieces
from kinetree.files.description.xml import Element, clip, parse_xml, show

PREFIX = "xacro:"
NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NAME = re.compile(r"[A-Za-z_][\w.:-]*")
MOST_ELEMENTS = 200_000  # visited, those of macros each time
DEEPEST = 40  # files that include each other in a row
YAML_SIZE = 2**19  # bytes of a YAML file: PyYAML takes seconds for a megabyte
REACHES = ("local", "parent", "global")  # of a property


def expand_xacro(file: RobotFile, findings: Findings) -> tuple[Element, tuple[str, ...]]:
    """Expand a xacro file; return the root of the URDF, and the names of the macros.

    Args:
        file: the file or text; relative paths in a text start from `folders`. Folders contain ROS
            packages, at any depth. arguments: values of <xacro:arg> elements. environment: whether
            $(env ...) and $(optenv ...) read environment variables.
        findings: receives notes (packages and arguments taken) and warnings.

    Raises:
        ParseError: the file cannot be expanded; the message has file:line:column and the remedy.
    """
    reader = _Reader(file, findings)
    try:
        root = reader.expand()
    except RecursionError:
        text = "macros, blocks or expressions are nested too deeply; does a macro call itself?"
        raise ParseError(f"{reader.main.name}: {text}") from None
    finally:
        findings.notes += reader.sources.notes
    source = reader.roots[reader.main]
    for name in (x for x in reader.given if x not in reader.declared):
        text = f"{reader.main.name} has no argument {name!r}.{nearest(name, reader.declared)}"
        findings.warn(source, f"{text} It is ignored. {reader.listed()}")
    if reader.values:
        given = {key: " (given)" if key in reader.given else "" for key in reader.values}
        each = (f"{key}:={clip(x)}{given[key]}" for key, x in reader.values.items())
        findings.note(source, f"arguments: {', '.join(each)}.")
    return root, tuple(reader.macros)


class _Reader:
    """One expansion: its files, arguments, scopes and bounds.

    The method NAME_element expands <xacro:NAME>: `child` into `out`, with the properties and macros
    of `scope`.
    """

    def __init__(self, file: RobotFile, findings: Findings) -> None:
        self.main, self.source_text = Path(os.path.abspath(path_text(file.path))), file.text
        self.sources, self.findings = Sources(file.place, file.folders), findings
        self.sees_environment = file.environment
        self.roots: dict[Path, Element] = {}
        self.paths: dict[str, Path] = {}  # by the names of files in messages
        self.reading: list[Path] = []  # each included by the one before
        self.given = {
            name: str(x).lower() if isinstance(x, bool) else str(x)
            for name, x in (file.arguments or {}).items()
        }
        self.values = dict(self.given)
        self.declared: dict[str, str | None] = {}  # defaults as written; None: required
        self.macros: dict[str, None] = {}  # an ordered set
        self.count = 0  # of elements visited
        self.current = Element("", {}, "", 0, 0)  # that an expression stands in
        self.evaluator = expressions.Evaluator()
        self.evaluator.functions |= self._own_functions()

    def expand(self) -> Element:
        source, scope = self.load(self.main), Scope(None)
        root = Element(source.tag, {}, source.file, source.line, source.column)
        self.read(self.main, source, root, scope)
        self.reading.append(self.main)
        # last: <robot name="$(arg name)"> may use an argument that is declared inside
        root.attributes = self.attributes(source, scope) | root.attributes
        return root

    # files and arguments

    def load(self, path: Path) -> Element:
        if path in self.roots:
            return self.roots[path]
        ends = ("/".join(path.parts[-k:]) for k in range(1, len(path.parts)))
        label = next((x for x in ends if x not in self.paths), str(path))
        self.paths[label] = path
        text = self.source_text if path == self.main else None
        root = self.sources.parse(path, label) if text is None else parse_xml(text, label)
        self.roots[path] = root
        for element in root.below():
            name = element.attributes.get("name", "")
            if element.tag == "xacro:arg" and self.declared.get(name) is None:
                self.declared[name] = element.attributes.get("default")
        return root

    @property
    def folder(self) -> Path:
        """The folder of the file that is being read; ExpressionError if it is a text."""
        if self.source_text is not None and self.reading[-1] == self.main:
            raise ExpressionError("a text has no folder; load the file instead, by its path")
        return self.reading[-1].parent

    def read(self, path: Path, source: Element, out: Element, scope: Scope) -> None:
        if len(self.reading) >= DEEPEST:
            text = f"{DEEPEST} files include each other in a row; does a file include itself?"
            raise ParseError(f"{source.place}: {text}")
        self.reading.append(path)
        self.inner(source, out, scope)
        self.reading.pop()

    def located(self, name: str, element: Element) -> Path:
        """The file of a name in the text of `element`, relative to the file being read."""
        files = [self.reading[-1], self.paths.get(element.file, self.reading[-1])]
        is_text = self.source_text is not None
        near = [file.parent for file in files if not (is_text and file == self.main)]
        near += self.sources.folders if is_text else []
        return self.sources.locate(name, near, element.where)

    def argument_value(self, name: str) -> str:
        """The value of an argument; ExpressionError if it has none."""
        self.declared.setdefault(name, None)
        if name not in self.values:
            text = f"the argument {name!r} has no value here. {self.listed()} Give it by arguments="
            raise ExpressionError(f"{text} (--arg {name}:=VALUE on the command line)")
        return self.values[name]

    def listed(self) -> str:
        """The arguments of the files read so far, with their defaults, as a sentence."""
        each = [
            f"{name} (required)" if default is None else f"{name}:={clip(default)}"
            for name, default in self.declared.items()
        ]
        file = self.main.name
        return f"The arguments of {file} are {', '.join(each)}." if each else f"{file} has none."

    # elements

    def inner(self, source: Element, out: Element, scope: Scope) -> None:
        """Expand text and children of `source` into `out`, without `source` itself.

        The text comes last: it may use a property that a child before it defines.
        """
        for child in source.children:
            self.element(child, out, scope)
        if source.text:
            out.text += self.text(source.text, scope, source, "the text")

    def element(self, child: Element, out: Element, scope: Scope) -> None:
        self.count += 1
        if self.count > MOST_ELEMENTS:
            text = f"the file takes more than {MOST_ELEMENTS} elements, macros and includes counted"
            raise ParseError(f"{child.place}: {text}; does a macro call itself without an end?")
        word = child.tag.removeprefix(PREFIX)
        if word == child.tag:
            self.plain(child, child.tag, out, scope)
        elif (expand := getattr(self, f"{word}_element", None)) is not None:
            expand(child, out, scope)
        else:
            self.call(word, child, out, scope)

    def plain(self, child: Element, tag: str, out: Element, scope: Scope) -> None:
        new = Element(tag, {}, child.file, child.line, child.column)
        new.attributes = self.attributes(child, scope)
        out.children.append(new)
        self.inner(child, new, scope)

    def attributes(self, element: Element, scope: Scope) -> dict[str, str]:
        return {
            key: self.text(value, scope, element, key) if "$" in value else value
            for key, value in element.attributes.items()
            if not key.startswith(PREFIX) and key != "xmlns:xacro"
        }

    def if_element(self, child: Element, out: Element, scope: Scope) -> None:
        if self.condition(child, "value", scope) is (child.tag == f"{PREFIX}if"):
            self.inner(child, out, scope)

    unless_element = if_element

    def condition(
        self, element: Element, key: str, scope: Scope, default: str | None = None
    ) -> bool:
        try:
            return expressions.truth(self.given_by(element, key, scope, default))
        except ExpressionError as error:
            raise self.fault(element, key, str(error)) from None

    def arg_element(self, child: Element, out: Element, scope: Scope) -> None:
        name = str(self.given_by(child, "name", scope))
        if name not in self.values and "default" in child.attributes:
            self.values[name] = str(self.given_by(child, "default", scope))

    def property_element(self, child: Element, out: Element, scope: Scope) -> None:
        name, given = str(self.given_by(child, "name", scope)), child.attributes
        if not name.isidentifier() or name.startswith("__"):
            text = "expected letters, digits and underscores, and no two underscores first"
            raise self.fault(child, "name", text)
        remove, reach = self.condition(child, "remove", scope, "false"), given.get("scope", "local")
        if ("value" in given) + ("default" in given) + remove > 1:
            raise self.fault(child, "name", "expected one of value, default and remove")
        if reach not in REACHES:
            raise self.fault(child, "scope", f"expected one of {', '.join(REACHES)}")
        if remove:
            for place in scope.chain():
                place.values.pop(name, None)
        elif "default" in given and (scope.home(name) or name in self.evaluator.functions):
            return
        elif reach == "parent" and scope.parent is None:
            self.findings.warn(child, f"property {show(name)} has no parent scope; not set.")
        else:
            self._set(name, child, scope, reach)

    def _set(self, name: str, child: Element, scope: Scope, reach: str) -> None:
        """Set a property to a text, evaluated now or when it is first used, or to a block."""
        target, key = scope.target(reach), "value" if "value" in child.attributes else "default"
        lazy = self.condition(child, "lazy_eval", scope, "true")
        if key not in child.attributes:
            target.values[f"**{name}"] = Block(child, whole=False)
        elif lazy and reach == "local":
            known = expressions.literal(child.attributes[key])
            target.values[name] = Lazy(known, child) if isinstance(known, str) else known
        else:
            target.values[name] = expressions.literal(self.given_by(child, key, scope))

    def macro_element(self, child: Element, out: Element, scope: Scope) -> None:
        name = str(self.given_by(child, "name", scope)).removeprefix(PREFIX)
        if hasattr(self, f"{name}_element") or "." in name or not name:
            raise self.fault(child, "name", "expected another name, without dots")
        scope.macros[name] = macro_of(child)
        self.macros[name] = None

    def include_element(self, child: Element, out: Element, scope: Scope) -> None:
        optional, inside = self.condition(child, "optional", scope, "false"), scope
        if "ns" in child.attributes:
            name = str(self.given_by(child, "ns", scope))
            scope.values[name] = inside = Scope(scope, namespace=name)
        name = str(self.given_by(child, "filename", scope))
        is_pattern = PATTERN.search(name) is not None
        for path in self._matching(name, child) if is_pattern else [self.located(name, child)]:
            if path.is_file():
                self.read(path, self.load(path), out, inside)
            elif not optional:
                text = f"names the file {clip(name, 200)!r}, which is not there: {path}."
                raise ParseError(f"{child.place}: <xacro:include> {text} {self._why_missing()}")

    def _matching(self, name: str, child: Element) -> list[Path]:
        try:
            return self.sources.matches(name, self.folder, child.where)
        except ExpressionError as error:
            raise self.fault(child, "filename", str(error)) from None

    def insert_block_element(self, child: Element, out: Element, scope: Scope) -> None:
        name = self.given_by(child, "name", scope)
        block = scope.find(f"**{name}") or scope.find(f"*{name}")
        if not isinstance(block, Block):
            raise self.fault(child, "name", "no block of that name was given")
        (self.element if block.whole else self.inner)(block.element, out, scope)

    def element_element(self, child: Element, out: Element, scope: Scope) -> None:
        self.plain(child, self._name_in(child, "xacro:name", scope), out, scope)

    def attribute_element(self, child: Element, out: Element, scope: Scope) -> None:
        name, value = self._name_in(child, "name", scope), child.attributes.get("value", "")
        out.attributes[name] = self.text(value, scope, child, "value")

    def _name_in(self, child: Element, key: str, scope: Scope) -> str:
        name = str(self.given_by(child, key, scope))
        if not NAME.fullmatch(name) or name.startswith(PREFIX):
            raise self.fault(child, key, "expected the name of an element or attribute")
        return name

    def call_element(self, child: Element, out: Element, scope: Scope) -> None:
        self.call(str(self.given_by(child, "macro", scope)), child, out, scope, "macro")

    def call(
        self, name: str, child: Element, out: Element, scope: Scope, skipped: str = "xmlns"
    ) -> None:
        """Expand a macro: its parameters by name, its blocks in order, its body in a new scope.

        The new scope lies inside that of the caller, whose properties the body can use.
        """
        macro, home = scope.macro(name)
        if macro is None:
            text = f"<{clip(child.tag)}>: there is no macro {show(name)}; is an include missing?"
            raise ParseError(f"{child.place}: {text}{nearest(name, self.macros)}")
        called, local = f"{child.place}: macro {show(name)} of {macro.element.where}", Scope(home)
        missing = dict(macro.parameters)
        for key in child.attributes:
            if key == skipped or key.startswith("xmlns"):
                continue
            if key not in missing or key.startswith("*"):
                listed = ", ".join(macro.parameters) or "none"
                raise ParseError(f"{called} has no parameter {show(key)}; it has {listed}.")
            local.values[key] = expressions.literal(self.given_by(child, key, scope))
            del missing[key]
        self._take_blocks(called, child, missing, scope, local)
        for key, (forward, default) in missing.items():
            if key.startswith("*"):
                continue
            if forward and scope.home(key):  # ^: the value of the caller
                local.values[key] = self.value_of(key, scope)
            elif default is None:
                raise ParseError(f"{called} needs the parameter {show(key)}.")
            else:
                value = self.evaluate(default, scope, macro.element, "params")
                local.values[key] = expressions.literal(value)
        self.inner(macro.element, out, local)

    def _take_blocks(
        self, called: str, child: Element, missing: Mapping[str, Any], scope: Scope, local: Scope
    ) -> None:
        """Give the elements inside a call to the block parameters of the macro, in order."""
        given = Element(child.tag, {}, child.file, child.line, child.column)
        for x in child.children:
            self.element(x, given, scope)
        names = [key for key in missing if key.startswith("*")]
        if len(names) != len(given.children):
            text = f"takes {len(names)} blocks ({', '.join(names)}), elements inside of the call"
            raise ParseError(f"{called} {text}; found {len(given.children)}.")
        for key, block in zip(names, given.children, strict=True):
            local.values[key] = Block(block, whole=not key.startswith("**"))

    # texts

    def text(self, text: str, scope: Scope, element: Element, what: str) -> str:
        expanded = str(self.evaluate(text, scope, element, what))
        if wrong := NOT_XML.search(expanded):
            raise self.fault(element, what, f"XML has no character {wrong[0]!r}", text)
        return expanded

    def given_by(self, element: Element, key: str, scope: Scope, default: str | None = None) -> Any:
        """The value of an attribute, which is required without a default."""
        text = element.attributes.get(key, default)
        if text is None:
            raise ParseError(f"{element.place}: <{element.tag}> has no attribute {key!r}.")
        return self.evaluate(text, scope, element, key)

    def evaluate(self, text: str, scope: Scope, element: Element, what: str) -> Any:
        """A text with its ${...} and $(...): the value itself if the text is one of them."""
        if "$" not in text:
            return text
        previous, self.current = self.current, element
        try:
            values = [
                inside if kind == "text" else self._piece(kind, inside, scope, element, what)
                for kind, inside in pieces(text)
            ]
            if len(values) == 1:
                return values[0]
            return self.evaluator.spend("".join(map(str, values)))
        except ExpressionError as error:
            raise self.fault(element, what, str(error), text) from None
        finally:
            self.current = previous

    def _piece(self, kind: str, inside: str, scope: Scope, element: Element, what: str) -> Any:
        inside = str(self.evaluate(inside, scope, element, what))
        if kind == "expression":
            return self.evaluator.value(inside, lambda name: self.value_of(name, scope))
        return self.substitution(inside)

    def value_of(self, name: str, scope: Scope) -> Any:
        """The value of a property, evaluated where it was defined when first used."""
        home = scope.home(name)
        if home is None:
            raise KeyError(name)
        value = home.values[name]
        if isinstance(value, Scope):
            return Namespace(value.namespace or "", lambda name: self.value_of(name, value))
        if not isinstance(value, Lazy):
            return value
        if value.busy:
            text = (
                f"property {show(name)} depends on itself; lazy_eval='false' evaluates it at once"
            )
            raise ParseError(f"{value.element.place}: {text}.")
        value.busy = True
        try:
            found = self.evaluate(value.text, home, value.element, "value")
            home.values[name] = expressions.literal(found)
        finally:
            value.busy = False
        return home.values[name]

    def fault(
        self, element: Element, what: str, reason: str, text: str | None = None
    ) -> ParseError:
        text = element.attributes.get(what, "") if text is None else text
        what = f"<{clip(element.tag)}> {what}={show(text)}"
        return ParseError(f"{element.place}: {what}: {reason.rstrip('.')}.")

    # substitutions and functions

    def substitution(self, text: str) -> str:
        word, _, rest = text.strip().partition(" ")
        values, calls = rest.split(), self._substitutions()
        if word == "eval":
            return str(self._eval(rest))
        if word == "optenv" and values:
            values = [values[0], " ".join(values[1:])]
        try:
            return str(calls[word](*values))
        except (KeyError, TypeError):
            known = ", ".join([*calls, "eval"])
            text = f"$({clip(text)}) is not known; expected one of {known}"
            raise ExpressionError(text) from None

    def _substitutions(self) -> dict[str, Callable[..., Any]]:
        return {
            "arg": self.argument_value,
            "cwd": lambda: seen_path(Path.cwd()),
            "dirname": lambda: seen_path(self.folder),
            "find": lambda name: seen_path(self.sources.package(str(name), self.current.where)),
            "env": lambda name: self._variable(str(name), None),
            "optenv": lambda name, default="": self._variable(str(name), str(default)),
        }

    def _eval(self, text: str) -> Any:
        """The value of $(eval TEXT), which sees the arguments and no properties, as in ROS."""
        calls = self._substitutions() | {"arg": self._number_or_text}

        def value(name: str) -> Any:
            if name in calls:
                return Function(name, calls[name])
            if name in self.values and not hasattr(math, name):  # math hides arguments, as in ROS
                return self._number_or_text(name)
            raise KeyError(name)

        try:
            return self.evaluator.value(text, value)
        except ExpressionError as error:
            hint = f"$(eval ...) sees arguments and no properties. {self.listed()}"
            raise ExpressionError(f"{error}; {hint}") from None

    def _number_or_text(self, name: str) -> str | int | float | bool:
        """The value of an argument in $(eval ...): a number or truth value if it looks like one."""
        text = self.argument_value(name)
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            return {"true": True, "false": False}.get(text.lower(), text)

    def _variable(self, name: str, default: str | None) -> str:
        """The value of an environment variable, if the caller lets the file see it, or the default.

        There is a warning where a variable that is set was not read.
        """
        known, is_set = f"the environment variable {show(name)} is", name in environment()
        allow = f"If the file is to be trusted, allow it by {argument('environment', True)}"
        if self.sees_environment and is_set:
            self.findings.note(self.current, f"{known} read.")
            return environment()[name]
        if default is None:
            why = "not set" if self.sees_environment else "not read: files see no environment"
            raise ExpressionError(f"{known} {why}. {allow}")
        if is_set:
            text = f"{known} set, but files see no environment: the default {show(default)} is used"
            self.findings.warn(self.current, f"{text}. {allow}.")
        return default

    def _own_functions(self) -> dict[str, Function | Namespace]:
        own: dict[str, Callable[..., Any]] = {
            "load_yaml": self._load_yaml,
            "abs_filename": lambda name: seen_path(self.located(str(name), self.current)),
            "dotify": dict,
            "arg": lambda name: self.argument_value(str(name)),
            "tokenize": expressions.tokens,
            "message": lambda *texts, **_: self._report(self.findings.note, texts),
            "warning": lambda *texts, **_: self._report(self.findings.warn, texts),
            "error": lambda *texts, **_: self._report(self.findings.warn, texts),
            "fatal": _stop,
            "print_location": lambda: "",
        }
        functions = {name: Function(f"xacro.{name}", call) for name, call in own.items()}
        direct = {name: functions[name] for name in ("load_yaml", "abs_filename", "dotify")}
        return {**direct, "xacro": Namespace("xacro", functions.__getitem__)}

    def _load_yaml(self, name: object) -> Any:
        path = self.located(str(name), self.current)
        if not path.is_file():
            raise ExpressionError(f"there is no file {path}. {self._why_missing()}")
        text = decode(self.sources.read(path, YAML_SIZE), path.name)
        return expressions.yaml_of(text, path.name, self.evaluator)

    def _why_missing(self) -> str:
        text = "Relative paths start from the folder of the file that names them."
        return f"{text} {self.listed()}" if self.declared else text

    def _report(self, add: Callable[[Element, str], None], texts: tuple[object, ...]) -> str:
        add(self.current, f"the file says: {clip(' '.join(map(str, texts)), 400)}")
        return ""


def _stop(*texts: object) -> None:
    raise ExpressionError(f"the file stops with: {' '.join(map(str, texts))}")
