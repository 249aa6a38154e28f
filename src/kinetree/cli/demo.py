"""`kinetree demo`: the first command to try."""

from kinetree.cli.arguments import Degrees, Json


def demo(*, json: Json = False, degrees: Degrees = False) -> None:
    """Work the exercises of the course and print each result next to the printed one.

    JSON has exercises (each with label, robot, joints, q, dq, ddq, units, tau_no_gravity, tau,
    printed_no_gravity and printed) and disagreement of the four formulations, relative.

    For example:

    ```
    kinetree demo
    ```
    """
    from kinetree.cli.exercises import demonstrate, document
    from kinetree.cli.show import console, print_json

    if json:
        print_json(document(degrees))
    else:
        demonstrate(console())
