"""`kinetree help`: the list of commands, or the help of one."""

from kinetree.cli import robots
from kinetree.cli.app import ITSELF, NAMES, app, command, register


@command(ITSELF)
def run(name: str | None = None, /) -> None:
    """Show the commands, or the help of one of them, as --help does.

    For example:

    ```
    kinetree help
    kinetree help simulate
    ```

    Args:
        name: A command.
    """
    register(*() if name is None else (robots.choose(name, NAMES, "the command"),))
    app.help_print([] if name is None else [name])
