"""`kinetree options`: the options that commands share."""

from typing import Annotated

from cyclopts import Group, Parameter

from kinetree.cli import options as opt
from kinetree.cli.app import ITSELF, app, command


@command(ITSELF)
def run(
    *,
    reading: Annotated[opt.Reading, Parameter(name="*", group=Group(opt.HOW_READ))] = opt.READING,
    recorded: Annotated[
        opt.Recorded, Parameter(name="*", group=Group(opt.HOW_RECORDED))
    ] = opt.RECORDED,
) -> None:
    """Explain the options that all commands with a robot or a recording have.

    For example:

    ```
    kinetree options
    kinetree info arm.urdf --no-mimic --constraints none
    ```
    """
    app.help_print(["options"])
