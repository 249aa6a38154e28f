"""`kinetree explain`: both passes of the recursion, and where every joint force comes from."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from kinetree.cli.arguments import (
    USUAL,
    Acceleration,
    Data,
    Options,
    Output,
    Position,
    Rate,
    RobotName,
    split,
    whole_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.output import print_json, print_text, waiting
from kinetree.cli.states import (
    closed_state,
    document,
    read_state,
    refuse_both,
)
from kinetree.cli.tables import console
from kinetree.core.arrays import Array
from kinetree.core.text import counted, nearest
from kinetree.errors import InputError

if TYPE_CHECKING:
    from kinetree.explain import Explanation, Torque
    from kinetree.motion.recordings import ReadRequest

PAGES = (".html", ".htm")  # endings of -o
MAX_LINKS = 40  # whose steps are all shown on the screen
FIRST_LINKS = 10  # that are shown of more


def explain(
    robot: RobotName,
    data: Data = None,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    ddq: Acceleration = None,
    link: Annotated[
        list[str] | None,
        words_argument(
            "Links whose steps are shown; by default all, of many the first on a screen."
        ),
    ] = None,
    row: Annotated[int, whole_argument("Row of DATA to explain, counted from 1.")] = 1,
    format: Annotated[
        Literal["text", "html"] | None,
        Parameter(
            help="Format of the output; by default that of the ending of -o, otherwise text."
        ),
    ] = None,
    output: Output = None,
    options: Options = USUAL,
) -> None:
    """Explain inverse dynamics at one state: every step, link by link, with the parts that add up.

    In HTML every joint force unfolds into the numbers that add up to it.
    Entries of a state that are left out follow from the constraints. Angles and angular rates
    inside the explanation are in radians also with --degrees.

    For example:

    ```
    kinetree explain planar_2r --q 20 40 --dq 10 5 --degrees
    kinetree explain panda --link panda_link7
    kinetree explain panda -o panda.html
    echo 0.1,0.2,0.5,0,1,0 | kinetree explain planar_2r - --json
    ```

    JSON has robot, joints, units, q, dq, ddq, links (each with its terms, their parts
    and equations), torque (the share of every cause, and tau; for a robot with constraints also
    their forces at the joints and of every equation).
    """
    given = {"q": q, "dq": dq, "ddq": ddq}
    refuse_both(data, given)
    loaded = find_robot(robot, options.reading)
    degrees = options.degrees
    if data is None:
        state = closed_state(loaded, read_state(loaded.model, given, degrees), given, degrees)
    else:
        from kinetree.cli.rows import request_of

        request = request_of(
            loaded.model, options.recorded, degrees=degrees, required=("q",), unnamed=tuple(given)
        )
        state = row_of(request, data, row, tuple(given))
    with waiting(f"explaining {loaded.name}"):
        explanation = loaded.explain(*state.values())
    explanation, ending = shown_links(explanation, link, output is None and not options.json)
    if options.json:
        print_json(document(loaded.model, state, degrees) | record(explanation), output)
        return
    page = output is not None and output.suffix.lower() in PAGES
    if (format or ("html" if page else "text")) == "html":
        from kinetree.views.page.explain import explain_page

        print_text(explain_page(explanation), output)
    elif output is None:
        print_text(f"{explanation.text(console().width)}{ending}")
    else:
        print_text(explanation.text(), output)


def shown_links(
    explanation: "Explanation", names: list[str] | None, screen: bool
) -> tuple["Explanation", str]:
    """The explanation with the steps of the links to show, and a sentence on the others.

    Args:
        explanation: of all links.
        names: of the links to show; None: all, on a screen the first of many.
        screen: the output is not a file.
    """
    links = explanation.links
    if names is not None:
        wanted = split(names)
        known = {steps.name for steps in links}
        for name in wanted:
            if name not in known:
                raise InputError(
                    f"--link is {name!r}; {explanation.model.name} has no such moving link."
                    f"{nearest(name, sorted(known))}"
                )
        return replace(explanation, links=tuple(x for x in links if x.name in wanted)), ""
    if not screen or len(links) <= MAX_LINKS:
        return explanation, ""
    more = counted(len(links) - FIRST_LINKS, "link")
    ending = (
        f"The steps of the other {more} are not shown. Choose links with --link NAME..., or write "
        "all to a file with -o."
    )
    return replace(explanation, links=links[:FIRST_LINKS]), ending


def row_of(
    request: "ReadRequest", data: str, row: int, wanted: tuple[str, ...]
) -> dict[str, Array]:
    """Read the state of one row of a recording."""
    from kinetree.cli.rows import read_states

    states = read_states(data, request, wanted)
    count = len(states["q"])
    if not 1 <= row <= count:
        raise InputError(f"--row is {row}; {data} has {counted(count, 'row')}, counted from 1.")
    return {x: states[x][row - 1] for x in wanted}


def record(explanation: "Explanation") -> dict[str, Any]:
    """Links, terms and parts as plain data."""
    torque = explanation.torque
    return {
        "links": [
            {
                "link": steps.name,
                "joint": steps.joint,
                "type": steps.type,
                "parent": steps.parent,
                "terms": {
                    symbol: {
                        "value": term.value,
                        "parts": [
                            {"name": x.name, "equation": x.latex, "value": x.value}
                            for x in term.children
                        ],
                    }
                    for symbol, term in steps.terms.items()
                },
            }
            for steps in explanation.links
        ],
        "torque": {"shares": dict(torque.shares), "tau": torque.tau, **constraint_record(torque)},
    }


def constraint_record(torque: "Torque") -> dict[str, Any]:
    """Forces of the constraints as plain data; empty for a robot without constraints."""
    carried = torque.constraints
    if carried is None:
        return {}
    return {"constraints": {"joints": dict(carried.joints), "forces": dict(carried.forces)}}
