"""`kinetree completion`: words that the shell completes."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from kinetree.cli.arguments import Json


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"] | None, Parameter(help="The running one where left out.")
    ] = None,
    /,
    *,
    install: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Write it where the shell finds it.")
    ] = False,
    json: Json = False,
) -> None:
    """Completion of commands, options, built-in robots and files for bash, zsh or fish.

    Prints the script; --install writes it to the place of the shell, makes the shell read it (a
    line in .bashrc or .zshrc) and says where it is. JSON has shell, script, and path where it was
    installed.

    For example:

    ```
    kinetree completion bash
    ```
    """
    from cyclopts.completion.detect import ShellDetectionError, detect_shell

    from kinetree.cli.app import app
    from kinetree.cli.show import print_json
    from kinetree.errors import InputError

    try:
        shell = shell or detect_shell()  # type: ignore[assignment]
    except ShellDetectionError:
        raise InputError("the shell is not known; say bash, zsh or fish.") from None
    path = str(app.install_completion(shell=shell)) if install else None
    if install and shell == "zsh":
        start_completion(Path.home() / ".zshrc")
    if json:
        script = app.generate_completion(shell=shell)
        print_json({"shell": shell, "script": script, "path": path})
    else:
        print(
            f"installed as {path}; open a new shell"
            if path
            else app.generate_completion(shell=shell)
        )


def start_completion(startup: Path) -> None:
    """Zsh completes once its start-up file says so; most do already, a new one does not."""
    text = startup.read_text(encoding="utf-8", errors="replace") if startup.exists() else ""
    if "compinit" not in text and "oh-my-zsh" not in text:
        with startup.open("a", encoding="utf-8") as file:
            file.write("autoload -Uz compinit && compinit\n")
