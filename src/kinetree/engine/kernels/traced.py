"""The function of the arguments of a kernel, for a request and a robot."""

from collections.abc import Callable
from typing import Any

from kinetree.core.arrays import Array
from kinetree.dynamics.traced import maker
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernels.ports import argument_port, check_model
from kinetree.engine.kernels.request import Request
from kinetree.model import Model


def traced_function(model: Model, request: Request) -> tuple[Callable[..., Any], list[Port]]:
    """Check a request for this robot; return the function to trace and its arguments."""
    quantity, free = request.quantity, request.free
    check_model(model)
    make = maker(quantity)
    if model.constraints is not None:
        from kinetree.dynamics.constraints.quantities import HONOURED, check_honoured

        check_honoured(model, quantity)
        make = HONOURED.get(request.name, make)
    if quantity.framed:
        model.frame(request.frame)  # an unknown frame names the known ones
    loads = ["F_ext"] if request.wrenches else []
    ports = [argument_port(model, x) for x in (*quantity.inputs, *loads)]
    count = len(ports)
    if free:
        from kinetree.engine.kernels.free import free_ports

        ports += free_ports(model, free)

    def function(*arrays: Array) -> Any:
        changed = model
        if free:
            from kinetree.engine.kernels.free import with_free

            changed = with_free(model, free, arrays[count:])
        if quantity.solves and not free:
            check_inertia(changed)
        return make(changed, not free, request.frame, **request.choices)(*arrays[:count])

    return function, ports


def check_inertia(model: Model) -> None:
    """Raise SingularityError for a mass matrix that is singular at every state."""
    from kinetree.dynamics.forward_dynamics import check_inertia as check  # not for stored graphs

    check(model)
