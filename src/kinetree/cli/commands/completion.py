"""`kinetree completion`: words that a shell completes."""

from pathlib import Path
from typing import Literal

from kinetree.cli import options as opt
from kinetree.cli import writer
from kinetree.cli.app import ITSELF, app, command, register


@command(ITSELF, also="completions autocomplete")
def run(
    shell: Literal["bash", "zsh", "fish"], /, *, install: opt.Flag = False, json: opt.Json = False
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
        shell: Your shell, as in `echo $SHELL`.
        install: Write it where the shell finds it.
    """
    register()
    path = str(app.install_completion(shell=shell)) if install else None
    if install and shell == "zsh":
        start_completion(Path.home() / ".zshrc")
    script = app.generate_completion(shell=shell)
    if json:
        writer.print_json({"shell": shell, "script": script, "path": path})
    else:
        writer.print_text(f"installed as {path}; open a new shell" if path else script)


def start_completion(startup: Path) -> None:
    """Make zsh load completions: add compinit to a start-up file that does not have it."""
    text = startup.read_text(encoding="utf-8", errors="replace") if startup.exists() else ""
    if "compinit" not in text and "oh-my-zsh" not in text:
        with startup.open("a", encoding="utf-8", newline="\n") as file:
            file.write("autoload -Uz compinit && compinit\n")
