"""The numbers y that a rate gives beside k, and their places."""

from kinetree.algorithms.steps import Method
from kinetree.algorithms.stiction import dry_dofs
from kinetree.model import Model
from kinetree.simulate.core.forces import ActingForces
from kinetree.simulate.friction.modes import friction_size

Places = dict[str, slice]


def result_places(model: Model, method: Method | None, acting: ActingForces | None) -> Places:
    """Places in y, in this order.

    - tau, (n,), the joint forces;
    - ddq, (n,), of an implicit method, whose rate has the acceleration of the step instead;
    - friction of joints in a mode, of the adaptive method (None);
    - lam and Phi, the forces and errors of the constraints of a robot that has some;
    - controls of actuators, and command, (n,), the joint forces before the drives.
    """
    sizes = {"tau": model.n}
    if method is None:
        dry = len(dry_dofs(model, () if acting is None else acting.parameters))
        sizes["friction"] = friction_size(model, dry)
    elif method.implicit:
        sizes["ddq"] = model.n
    if model.constraints is not None:
        sizes |= dict.fromkeys(("lam", "Phi"), len(model.constraints.row_names))
    if acting is not None and acting.actuation is not None:
        sizes |= {} if acting.controls is None else {"controls": len(model.actuators)}
        sizes |= {"command": model.n} if acting.actuation.driven else {}
    places, start = Places(), 0
    for name, size in sizes.items():
        places[name] = slice(start, start + size)
        start += size
    return places
