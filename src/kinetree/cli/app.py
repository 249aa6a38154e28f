"""The commands of `kinetree`, and those about the program itself: cache and completion.

A command is imported when it is called or listed. Its module imports simulation, identification
and views inside its functions, so that help is quick.
"""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Group, Parameter

from kinetree import __version__, robots
from kinetree.cli.arguments import (
    AS_IT_IS,
    AS_NAMED,
    HOW_READ,
    HOW_RECORDED,
    Json,
    Reading,
    Recorded,
    option,
)

ROBOTS = f"""ROBOT is a file (.urdf, .xacro, .xml, .sdf), a built-in robot
({", ".join(robots.__all__)}), or a module of the package robot_descriptions, such as
panda_description."""

CODES = """Exit codes: 0 fine; 1 the verdict is negative (lint: the file has a problem; check: a
limit is violated; ik: a pose is not reached; optimize: the goal or a limit is missed; size: no
motor is enough; simulate: a joint left its limits and --limits is stop; watch: there is a contact;
identify: the recording is not usable); 2 wrong usage, input or file, with one paragraph on stderr;
130 interrupted; 141 the reader of the output closed it."""

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
        "ik": ("ik:ik", "ROBOT --pose NUMBER..."),
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

# words that other programs use, and the commands here
SYNONYMS = {
    word: command
    for command, words in {
        "info": "describe print summary inspect",
        "lint": "validate verify doctor check-urdf check_urdf sanity",
        "view": "show plot display gui visualize visualise browse workbench",
        "render": "draw picture image movie video screenshot animate",
        "id": "dynamics inverse-dynamics inverse_dynamics rnea torques torque forces",
        "fd": "forward-dynamics forward_dynamics aba accelerations",
        "terms": "mass-matrix mass_matrix gravity coriolis crba matrices",
        "explain": "unfold why",
        "simulate": "sim run integrate",
        "check": "limits feasible",
        "ik": "inverse-kinematics inverse_kinematics ikine",
        "optimize": "optimise ilqr ddp mpc trajectory-optimization swing-up",
        "identify": "calibrate estimate fit sysid identification",
        "watch": "contacts collisions observe detect",
        "convert": "to-urdf to-mjcf save transform urdf2mjcf mjcf2urdf",
        "equations": "symbolic symbols latex closed-form derive sympy formula",
        "export": "codegen generate compile code",
        "demo": "example examples tour",
        "completion": "completions autocomplete",
    }.items()
    for word in words.split()
}


EPILOGUE = f"""{ROBOTS}

Tables fit the width of the terminal. A number that is smaller than the rounding errors of its
computation is shown as 0; --json and CSV files have every bit.

{CODES}"""
SHORT = """`kinetree options` explains the options that commands share: how a robot is read
(--floating, --folder, --strict, ...) and a recording (--columns, --topic). `kinetree --help` lists
the built-in robots and the exit codes."""

app = App(
    name="kinetree",
    version=__version__,
    help="Robot dynamics: the Newton-Euler equations of chains and trees.",
    help_epilogue=EPILOGUE,
    usage="Usage: kinetree COMMAND [ARGUMENTS] [OPTIONS]",
    group_parameters=Group("Options", sort_key=1),
    suppress_keyboard_interrupt=False,
)


def usage(words: str, arguments: str) -> str:
    """The line of usage of a command."""
    return " ".join(f"Usage: kinetree {words} {arguments} [OPTIONS]".split())


GROUPS = {name: Group(name, sort_key=k) for k, name in enumerate(COMMANDS)}
ITSELF = GROUPS["The program itself"]
for title, commands in COMMANDS.items():
    for k, (name, (place, arguments)) in enumerate(commands.items()):
        app.command(
            f"kinetree.cli.{place}", name=name, group=GROUPS[title], sort_key=k,
            usage=usage(name, arguments), help_epilogue=SHORT,
        )  # fmt: skip


@app.command(group=ITSELF, usage=usage("options", ""), help_epilogue="")
def options(
    *,
    reading: Annotated[Reading, Parameter(name="*", group=Group(HOW_READ))] = AS_IT_IS,
    recorded: Annotated[Recorded, Parameter(name="*", group=Group(HOW_RECORDED))] = AS_NAMED,
) -> None:
    """Explain the options that all commands with a robot or a recording have.

    For example:

    ```
    kinetree options
    kinetree info arm.urdf --no-mimic --constraints none
    ```
    """
    app.help_print(["options"])


cache_app = App(
    name="cache", help="The compiled code that kinetree keeps on disk.", group=ITSELF,
    help_epilogue=CODES,
    usage="Usage: kinetree cache COMMAND [OPTIONS]",
)  # fmt: skip
app.command(cache_app)
app["--help"].group = app["--version"].group = ITSELF


@cache_app.command(name="info", usage=usage("cache info", ""))
def cache_info(*, json: Json = False) -> None:
    """Show where compiled code is kept, how much there is, and the limit.

    For example:

    ```
    kinetree cache info
    ```

    JSON has folder, enabled, entries, size and limit in bytes.
    """
    from kinetree.cli.output import print_json
    from kinetree.cli.tables import console
    from kinetree.engine import cache

    stored = cache.info()
    if json:
        names = ("enabled", "entries", "size", "limit")
        print_json({"folder": str(stored.folder)} | {x: getattr(stored, x) for x in names})
        return
    screen = console()
    screen.print(f"folder   {stored.folder}", soft_wrap=True)
    screen.print(f"cache    {'on' if stored.enabled else 'off (KINETREE_CACHE=0)'}")
    screen.print(f"entries  {stored.entries}")
    limit = f"{stored.limit / 2**20:.0f} MiB"
    screen.print(f"size     {stored.size / 2**20:.1f} MiB of at most {limit}")


@cache_app.command(name="clear", usage=usage("cache clear", ""))
def cache_clear(*, json: Json = False) -> None:
    """Remove all compiled code; it is compiled again when needed.

    For example:

    ```
    kinetree cache clear
    ```

    JSON has removed, the number of entries.
    """
    from kinetree.cli.output import print_json
    from kinetree.cli.tables import console
    from kinetree.core.text import counted
    from kinetree.engine import cache

    removed = cache.clear()
    if json:
        print_json({"removed": removed})
    else:
        console().print(f"{counted(removed, 'entry')} removed")


@app.command(group=ITSELF, usage=usage("completion", "[SHELL]"))
def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"] | None, Parameter(help="The running shell if left out.")
    ] = None,
    /,
    *,
    install: Annotated[bool, option("--install", "Write it where the shell finds it.")] = False,
    json: Json = False,
) -> None:
    """Complete commands, options, built-in robots and files in bash, zsh or fish.

    Prints the script. --install writes it to the folder of the shell, makes the shell read it (a
    line in .bashrc or .zshrc) and prints its path.

    For example:

    ```
    kinetree completion bash
    ```

    JSON has shell, script, and path if it was installed.
    """
    from cyclopts.completion.detect import ShellDetectionError, detect_shell

    from kinetree.cli.output import print_json
    from kinetree.errors import InputError

    try:
        chosen = shell or detect_shell()
    except ShellDetectionError:
        raise InputError("the running shell is not known; add bash, zsh or fish.") from None
    path = str(app.install_completion(shell=chosen)) if install else None
    if install and chosen == "zsh":
        start_completion(Path.home() / ".zshrc")
    if json:
        script = app.generate_completion(shell=chosen)
        print_json({"shell": chosen, "script": script, "path": path})
    elif path:
        print(f"installed as {path}; open a new shell")
    else:
        print(app.generate_completion(shell=chosen))


def start_completion(startup: Path) -> None:
    """Make zsh load completions: add compinit to a start-up file that does not have it."""
    text = startup.read_text(encoding="utf-8", errors="replace") if startup.exists() else ""
    if "compinit" not in text and "oh-my-zsh" not in text:
        with startup.open("a", encoding="utf-8", newline="\n") as file:
            file.write("autoload -Uz compinit && compinit\n")
