"""`kinetree completion`: words that the shell completes."""

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
    """Completion of commands, options and built-in robots for bash, zsh or fish.

    Prints the script; --install writes it to the place of the shell and says where. JSON has shell,
    script, and path where it was installed.

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
    if json:
        script = app.generate_completion(shell=shell)
        print_json({"shell": shell, "script": script, "path": path})
    else:
        print(
            f"installed as {path}; open a new shell"
            if path
            else app.generate_completion(shell=shell)
        )
