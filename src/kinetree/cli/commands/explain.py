"""`kinetree explain`: both passes of the recursion, and where every joint force comes from."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from kinetree.cli import options as opt
from kinetree.cli.app import command
from kinetree.cli.output import PAGES, print_json, print_text, waiting, width
from kinetree.cli.recordings import read_states, request_of
from kinetree.cli.robots import choose, find_robot
from kinetree.cli.state import document, refuse_both, state
from kinetree.core.text import counted
from kinetree.errors import InputError

if TYPE_CHECKING:
    from kinetree.explain import Explanation

MAX_LINKS = 40  # whose steps are all shown on the screen
FIRST_LINKS = 10  # that are shown of more


@command("Compute", also="unfold why")
def run(
    robot: opt.RobotName,
    data: opt.Data = None,
    /,
    *,
    q: opt.Position = None,
    dq: opt.Rate = None,
    ddq: opt.Acceleration = None,
    link: opt.Words = None,
    row: opt.Whole = 1,
    format: Literal["text", "html"] | None = None,
    output: opt.Output = None,
    options: opt.Options = opt.USUAL,
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

    Args:
        link: Links whose steps are shown; by default all, of many the first on a screen.
        row: Row of DATA to explain, counted from 1.
        format: Format of the output; by default that of the ending of -o, otherwise text.
    """
    given = {"q": q, "dq": dq, "ddq": ddq}
    refuse_both(data, given)
    loaded, degrees = find_robot(robot, options.reading), options.degrees
    if data is None:
        vectors = state(loaded, given, degrees)
    else:
        request = request_of(loaded.model, options.recorded, degrees, ("q",), tuple(given))
        rows = read_states(data, request, tuple(given))
        if not 1 <= row <= len(rows["q"]):
            count = counted(len(rows["q"]), "row")
            raise InputError(f"--row is {row}; {data} has {count}, counted from 1.")
        vectors = {x: rows[x][row - 1] for x in given}
    with waiting(f"explaining {loaded.name}"):
        found = loaded.explain(*vectors.values())
    names = [steps.name for steps in found.links]
    wanted, ending = names, ""
    if link is not None:
        wanted = [
            choose(x, names, f"moving link of {loaded.name!r} called") for x in opt.split(link)
        ]
    elif output is None and not options.json and len(names) > MAX_LINKS:
        wanted, more = names[:FIRST_LINKS], counted(len(names) - FIRST_LINKS, "link")
        ending = (
            f"The steps of the other {more} are not shown. Choose links with --link NAME..., or "
            "write all to a file with -o."
        )
    found = replace(found, links=tuple(x for x in found.links if x.name in wanted))
    page = output is not None and output.suffix.lower() in PAGES
    if options.json:
        print_json(document(loaded.model, vectors, degrees) | record(found), output)
    elif (format or ("html" if page else "text")) == "html":
        from kinetree.views.page.explain import explain_page

        print_text(explain_page(found), output)
    elif output is None:
        print_text(f"{found.text(width())}{ending}")
    else:
        print_text(found.text(), output)


def record(explanation: "Explanation") -> dict[str, Any]:
    """Links, terms and parts as plain data, and the forces of constraints if there are any."""
    torque, links = explanation.torque, list[dict[str, Any]]()
    for steps in explanation.links:
        terms = {
            symbol: {
                "value": term.value,
                "parts": [
                    {"name": x.name, "equation": x.latex, "value": x.value} for x in term.children
                ],
            }
            for symbol, term in steps.terms.items()
        }
        about = {"link": steps.name, "joint": steps.joint, "type": steps.type}
        links.append(about | {"parent": steps.parent, "terms": terms})
    shares: dict[str, Any] = {"shares": dict(torque.shares), "tau": torque.tau}
    if (carried := torque.constraints) is not None:
        shares["constraints"] = {"joints": dict(carried.joints), "forces": dict(carried.forces)}
    return {"links": links, "torque": shares}
