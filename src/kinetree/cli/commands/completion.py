"""`kinetree completion`: words that a shell completes."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from kinetree.cli import options as opt
from kinetree.cli.app import ITSELF, app, command, register
from kinetree.cli.output import print_json, print_text
from kinetree.errors import InputError


@command(ITSELF, also="completions autocomplete")
def run(
    shell: Annotated[Literal["bash", "zsh", "fish"] | None, Parameter()] = None,
    /,
    *,
    install: opt.Flag = False,
    json: opt.Json = False,
) -> None:
    """Complete commands, options, built-in robots and files in bash, zsh or fish.

    Prints the script. --install writes it to the folder of the shell, makes the shell read it (a
    line in .bashrc or .zshrc) and prints its path.

    For example:

    ```
    kinetree completion bash
    ```

    JSON has shell, script, and path if it was installed.

    Args:
        shell: The running shell if left out.
        install: Write it where the shell finds it.
    """
    try:
        chosen = shell or detect_shell()
    except ShellDetectionError:
        raise InputError("the running shell is not known; add bash, zsh or fish.") from None
    register()
    path = str(app.install_completion(shell=chosen)) if install else None
    if install and chosen == "zsh":
        start_completion(Path.home() / ".zshrc")
    if json:
        script = app.generate_completion(shell=chosen)
        print_json({"shell": chosen, "script": script, "path": path})
    elif path:
        print(f"installed as {path}; open a new shell")
    else:
        print_text(app.generate_completion(shell=chosen))


def start_completion(startup: Path) -> None:
    """Make zsh load completions: add compinit to a start-up file that does not have it."""
    text = startup.read_text(encoding="utf-8", errors="replace") if startup.exists() else ""
    if "compinit" not in text and "oh-my-zsh" not in text:
        with startup.open("a", encoding="utf-8", newline="\n") as file:
            file.write("autoload -Uz compinit && compinit\n")
