"""Substitutions of xacro, $(...): packages, arguments, folders, and environment variables.

$(eval ...) is an expression that sees the arguments of the file and no properties, as in ROS;
${...} sees the properties. An environment variable is read only if the caller allows it: it may be
a secret, and the name of a link would show it.
"""

import os
from collections.abc import Callable, Container
from typing import Any

from kinetree.files.description.findings import Findings
from kinetree.files.description.source import environment, is_confined, seen_path
from kinetree.files.description.xacro.expressions import Evaluator, ExpressionError, Function
from kinetree.files.description.xacro.files import Files
from kinetree.files.description.xacro.inputs import Arguments
from kinetree.files.description.xml import Element, clip, show

KNOWN = "find, arg, env, optenv, eval, dirname, cwd"
TRUTHS = {"true": True, "false": False, "True": True, "False": False}
PERMISSION = "environment=True of kt.load (--environment on the command line)"


class Substitutions:
    """The values of $(...) in one expansion."""

    def __init__(
        self,
        evaluator: Evaluator,
        files: Files,
        arguments: Arguments,
        findings: Findings,
        sees_environment: bool,
    ) -> None:
        self.evaluator, self.files, self.arguments = evaluator, files, arguments
        self.findings, self.sees_environment = findings, sees_environment
        self.python, mathematics = (evaluator.functions[x].values for x in ("python", "math"))
        self.before_arguments = {**mathematics, **TRUTHS}  # names that hide arguments, as in ROS

    def value(self, text: str, element: Element, properties: Container[str]) -> str:
        """The text that $(TEXT) stands for, in `element`; `properties` are named in messages."""
        word, _, rest = text.strip().partition(" ")
        values = rest.split()
        if word == "eval":
            return str(self._eval(rest, element, properties))
        if word == "cwd" and not values:
            if is_confined():
                raise ExpressionError(
                    "$(cwd), a folder of this machine, is not known to files that were opened "
                    "together; expected $(dirname), the folder of the file"
                )
            self.findings.note(element, "$(cwd) is the current folder of the process.")
            return os.getcwd()
        if word == "dirname" and not values:
            return seen_path(self.files.folder)
        if word == "optenv" and values:
            return self._variable(values[0], " ".join(values[1:]), element)
        if word == "find" and len(values) == 1:
            return seen_path(self.files.packages.find(values[0], element.where))
        if word == "arg" and len(values) == 1:
            return self.arguments.value(values[0])
        if word == "env" and len(values) == 1:
            return self._variable(values[0], None, element)
        raise ExpressionError(f"$({clip(text)}) is not known; expected one of {KNOWN}")

    def _eval(self, text: str, element: Element, properties: Container[str]) -> Any:
        """The value of $(eval TEXT)."""
        if "__" in text:
            raise ExpressionError("two underscores are not allowed in $(eval ...)")
        functions = {name: Function(name, x) for name, x in self._functions(element).items()}

        def value(name: str) -> Any:
            for known in (functions, self.before_arguments):
                if name in known:
                    return known[name]
            if name in self.arguments.values:
                return self.arguments.converted(name)
            if name in self.python:
                return self.python[name]
            hint = f"; the property is ${{{name}}}" if name in properties else ""
            raise ExpressionError(
                f"{name!r} is not an argument that has a value here, and $(eval ...) sees no "
                f"properties{hint}. {self.arguments.listed()}"
            )

        return self.evaluator.value(text, value)

    def _functions(self, element: Element) -> dict[str, Callable[..., Any]]:
        """Functions of $(eval ...) that stand for other substitutions."""
        return {
            "arg": lambda name: self.arguments.converted(str(name)),
            "dirname": lambda: seen_path(self.files.folder),
            "find": lambda name: seen_path(self.files.packages.find(str(name), element.where)),
            "env": lambda name: self._variable(str(name), None, element),
            "optenv": lambda name, default="": self._variable(str(name), str(default), element),
        }

    def _variable(self, name: str, default: str | None, element: Element) -> str:
        """The value of an environment variable, if the caller lets the file see it.

        A default is used instead, with a warning if the variable is set.
        """
        if self.sees_environment and name in environment():
            self.findings.note(element, f"the environment variable {show(name)} is read.")
            return environment()[name]
        if default is None and self.sees_environment:
            raise ExpressionError(f"the environment variable {show(name)} is not set")
        if default is None:
            raise ExpressionError(
                f"the environment variable {show(name)} is not read: files see no environment. "
                f"If the file is to be trusted, allow it by {PERMISSION}"
            )
        if name in environment():
            self.findings.warn(
                element,
                f"the environment variable {show(name)} is set, but files see no environment: the "
                f"default {show(default)} is used. Reading it is allowed by {PERMISSION}.",
            )
        return default
