"""The program `kinetree`: it finds its commands in the folder `commands`."""

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import Any, TypeVar

from cyclopts import App, Group, Parameter

from kinetree import __version__, robots
from kinetree.cli import commands

Function = TypeVar("Function", bound=Callable[..., Any])

# of commands, in the order of `kinetree --help`
GROUPS = (
    "Look at a robot",
    "Compute",
    "Simulate and check",
    "Identify",
    "Write files, equations and code",
    "The program itself",
)
HEADINGS = {name: Group(name, sort_key=k) for k, name in enumerate(GROUPS)}
ITSELF = GROUPS[-1]
EPILOGUE = f"""ROBOT is a file (.urdf, .xacro, .xml, .sdf), a built-in robot
({", ".join(robots.__all__)}), or a module of the package robot_descriptions, such as
panda_description.

Tables fit the width of the terminal. A number that is smaller than the rounding errors of its
computation is shown as 0; --json and CSV files have every bit.

Exit codes: 0 fine; 1 the verdict is negative (the help of a command has its meaning); 2 wrong
usage, input or file, with one paragraph on stderr; 130 interrupted; 141 the reader of the output
closed it."""
SHORT = """`kinetree options` explains the options that commands share: how a robot is read
(--floating, --payload, --friction, ...) and a recording (--columns, --topic). `kinetree --help`
lists the built-in robots and the exit codes."""
NAMES = sorted(x.name for x in iter_modules(commands.__path__))

app = App(
    name="kinetree",
    version=__version__,
    help="Robot dynamics: the Newton-Euler equations of chains and trees.",
    help_epilogue=EPILOGUE,
    usage="Usage: kinetree COMMAND [ARGUMENTS] [OPTIONS]",
    group_parameters=Group("Options", sort_key=1),
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)


def command(group: str, also: str = "") -> Callable[[Function], Function]:
    """Mark the function of a command.

    Args:
        group: of GROUPS, where `kinetree --help` lists it.
        also: words that other programs use for it, which are answered with its name.
    """

    def mark(function: Function) -> Function:
        function.__dict__.update(group=group, also=also.split())
        return function

    return mark


def register(*names: str) -> None:
    """Import commands, all if none is named, so that they can be called and are listed."""
    for name in names or NAMES:
        run = import_module(f"kinetree.cli.commands.{name}").run
        shared = SHORT if "robot" in signature(run).parameters else ""
        if name not in app:
            app.command(
                run,
                name=name,
                group=HEADINGS[run.group],
                usage=usage(name, run),
                help_epilogue=shared,
            )
            synonyms.update(dict.fromkeys(run.also, name))


def usage(name: str, run: Callable[..., Any]) -> str:
    """The line of usage of a command: its arguments, and the options that it needs."""
    words = [f"Usage: kinetree {name}"]
    for x in signature(run).parameters.values():
        needed = x.default is x.empty
        if x.kind is x.POSITIONAL_ONLY:
            words.append(x.name.upper() if needed else f"[{x.name.upper()}]")
        elif needed:
            words.append(f"--{x.name} FILE")
    return " ".join([*words, "[OPTIONS]"])


synonyms: dict[str, str] = {}  # words that other programs use, of registered commands
app["--help"].group = app["--version"].group = HEADINGS[ITSELF]
