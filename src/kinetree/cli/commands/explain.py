"""`kinetree explain`: both passes of the recursion, and where every joint force comes from."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kinetree.cli import options as opt
from kinetree.cli import recordings, robots, states, writer
from kinetree.cli.app import command
from kinetree.core.text import counted
from kinetree.errors import InputError

if TYPE_CHECKING:
    from kinetree.explain import Explanation


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
    output: opt.Output = None,
    options: opt.Options = opt.USUAL,
) -> None:
    """Explain inverse dynamics at one state: every step, link by link, with the parts that add up.

    In HTML, with -o page.html, every joint force unfolds into the numbers that add up to it.
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
        link: Links whose steps are shown; by default all.
        row: Row of DATA to explain, counted from 1.
    """
    given = {"q": q, "dq": dq, "ddq": ddq}
    states.refuse_both(data, given)
    loaded, degrees = robots.find_robot(robot, options.reading), options.degrees
    if data is None:
        vectors = states.state(loaded, given, degrees)
    else:
        request = recordings.request_of(
            loaded.model, options.recorded, degrees, ("q",), tuple(given)
        )
        rows = recordings.read_states(data, request, tuple(given))
        if not 1 <= row <= len(rows["q"]):
            count = counted(len(rows["q"]), "a row")
            raise InputError(f"--row is {row}; {data} has {count}, counted from 1.")
        vectors = {x: rows[x][row - 1] for x in given}
    with writer.waiting(f"explaining {loaded.name}"):
        found = loaded.explain(*vectors.values())
    names = [steps.name for steps in found.links]
    if link is not None:
        wanted = [
            robots.choose(x, names, f"a moving link of {loaded.name!r}") for x in opt.split(link)
        ]
        found = replace(found, links=tuple(x for x in found.links if x.name in wanted))
    if options.json:
        writer.print_json(states.document(loaded.model, vectors, degrees) | record(found), output)
    elif output is not None and output.suffix.lower() in writer.PAGES:
        from kinetree.views.page.explain import explain_page

        writer.print_text(explain_page(found), output)
    elif output is None:
        writer.print_text(found.text(writer.width()))
    else:
        writer.print_text(found.text(), output)


def record(explanation: "Explanation") -> dict[str, Any]:
    """Links, terms and parts as plain data, and the forces of constraints if there are any."""
    torque, links = explanation.torque, list[dict[str, Any]]()
    for steps in explanation.links:
        terms = {
            symbol: {"value": term.value, "parts": [part(x) for x in term.children]}
            for symbol, term in steps.terms.items()
        }
        about = {"link": steps.name, "joint": steps.joint, "type": steps.type}
        links.append(about | {"parent": steps.parent, "terms": terms})
    shares: dict[str, Any] = {"shares": dict(torque.shares), "tau": torque.tau}
    if (carried := torque.constraints) is not None:
        shares["constraints"] = {"joints": dict(carried.joints), "forces": dict(carried.forces)}
    return {"links": links, "torque": shares}


def part(node: Any) -> dict[str, Any]:
    """One part of a term: its name, equation and value."""
    return {"name": node.name, "equation": node.latex, "value": node.value}
