"""The commands of `kinetree`, and those about the program itself: cache and completion.

A command is named here by its module and function, and imported when it is called or listed. Its
module imports simulation, identification and views inside its functions, so that help is quick.
"""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from kinetree import __version__
from kinetree.cli.arguments import Json, option

EPILOGUE = """ROBOT is a file (.urdf, .xacro, .xml) or a built-in robot: cart_pole, double_pendulum,
hand, humanoid, iiwa_14, panda, planar_2r, puma_560, quadruped, rp, scara, spatial_3r, ur5e.

Exit codes: 0 fine; 1 the verdict is negative (check: a limit is violated; simulate --limits stop: a
joint left its limits); 2 wrong usage, input or file, with one paragraph on stderr; 130
interrupted; 141 the reader of the output closed it."""

app = App(
    name="kinetree",
    version=__version__,
    help="Robot dynamics: the Newton-Euler equations of chains and trees.",
    help_epilogue=EPILOGUE,
    suppress_keyboard_interrupt=False,
)
cache_app = App(name="cache", help="The compiled code that kinetree keeps on disk.")

app.command("kinetree.cli.demo:demo", name="demo")
app.command("kinetree.cli.info:info", name="info")
app.command("kinetree.cli.dynamics:inverse_dynamics", name="id")
app.command("kinetree.cli.dynamics:forward_dynamics", name="fd")
app.command("kinetree.cli.dynamics:terms", name="terms")
app.command("kinetree.cli.explain:explain", name="explain")
app.command("kinetree.cli.equations:equations", name="equations")
app.command("kinetree.cli.export:export", name="export")
app.command("kinetree.cli.simulate:simulate", name="simulate")
app.command("kinetree.cli.check:check", name="check")
app.command("kinetree.cli.identify:identify", name="identify")
app.command("kinetree.cli.bench:bench", name="bench")
app.command("kinetree.cli.report:report", name="report")
app.command("kinetree.cli.view:view", name="view")
app.command(cache_app)


@cache_app.command(name="info")
def cache_info(*, json: Json = False) -> None:
    """Show where compiled code is kept, how much there is, and the limit.

    JSON has folder, enabled, entries, size and limit in bytes.

    For example:

    ```
    kinetree cache info
    ```
    """
    from kinetree.backends.cache import entries as cache
    from kinetree.cli.output import print_json
    from kinetree.cli.tables import console

    found = cache.info()
    if json:
        names = ("enabled", "entries", "size", "limit")
        print_json({"folder": str(found.folder)} | {x: getattr(found, x) for x in names})
        return
    screen = console()
    screen.print(f"folder   {found.folder}", soft_wrap=True)
    screen.print(f"cache    {'on' if found.enabled else 'off (KINETREE_CACHE=0)'}")
    screen.print(f"entries  {found.entries}")
    limit = f"{found.limit / 2**20:.0f} MiB"
    screen.print(f"size     {found.size / 2**20:.1f} MiB of at most {limit}")


@cache_app.command(name="clear")
def cache_clear(*, json: Json = False) -> None:
    """Remove all compiled code; it is compiled again when needed.

    JSON has removed, the number of entries.

    For example:

    ```
    kinetree cache clear
    ```
    """
    from kinetree.backends.cache import entries as cache
    from kinetree.base.tables import counted
    from kinetree.cli.output import print_json
    from kinetree.cli.tables import console

    removed = cache.clear()
    if json:
        print_json({"removed": removed})
    else:
        console().print(f"{counted(removed, 'entry')} removed")


@app.command
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
    line in .bashrc or .zshrc) and prints its path. JSON has shell, script, and path if it was
    installed.

    For example:

    ```
    kinetree completion bash
    ```
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
        with startup.open("a", encoding="utf-8") as file:
            file.write("autoload -Uz compinit && compinit\n")
