"""`kinetree terms`: the terms of the equation of motion at a state or at many."""

from kinetree.cli.arguments import (
    AS_IT_IS,
    Data,
    Degrees,
    Json,
    Output,
    Position,
    Rate,
    Reading,
    RobotName,
)


def terms(
    robot: RobotName,
    data: Data = None,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    output: Output = None,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """The terms of M(q) ddq + C(q, dq) dq + g(q) + friction = tau as tables.

    Of one state, or of every row of a CSV file: then M:ROW:COLUMN, C:ROW:COLUMN, c:JOINT, g:JOINT
    and friction:JOINT come out in rows. JSON has robot, coordinates, joints, units, q, dq, M, C, c,
    g, friction; of a file, one object a line with row, t and the terms. Terms are in SI units also
    with --degrees.

    For example:

    ```
    kinetree terms planar_2r --q 0.1 -0.3 --dq 0.5 0.2
    kinetree terms ur5e --json
    ```
    """
    from kinetree.cli.batches import Job, run_batch
    from kinetree.cli.choices import find_robot
    from kinetree.cli.show import print_json, print_text
    from kinetree.cli.states import document, read_state, refuse_both
    from kinetree.cli.term_tables import heads, print_terms, terms_of
    from kinetree.cli.writing import csv_line, number_lines

    given = {"q": q, "dq": dq}
    refuse_both(data, given)
    found = find_robot(robot, reading)
    model = found.model
    if data is not None:
        job = Job(tuple(given), terms_of(found, rows=True), heads(model))
        run_batch(model, data, job, output=output, json=json, degrees=degrees)
        return
    state = read_state(model, given, degrees)
    values = terms_of(found, rows=False)(*state.values())
    if json:
        print_json(document(model, state, degrees) | values, output)
    elif output is not None:
        row = [x for value in values.values() for x in value.ravel().tolist()]
        print_text(csv_line(heads(model)) + "".join(number_lines([row])), output)
    else:
        print_terms(model, values)
