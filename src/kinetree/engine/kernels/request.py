"""A request for a kernel: the name of a quantity and its options, as one value, checked once."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from kinetree.core.options import is_one_of, names, optional_name, switch
from kinetree.core.options import name as read_name
from kinetree.core.text import listing, nearest
from kinetree.dynamics.quantities import DECLARED
from kinetree.errors import InputError, NameLookupError
from kinetree.model.quantity import EXPRESSED, Quantity, check_expressed, task_rows

TARGETS = ("cpu", "cuda")


@dataclass(frozen=True)
class Request:
    """What a kernel is made for, apart from the robot: the key of the memos and of the disk cache.

    The options are checked when the request is made, so every way to a kernel refuses the same
    ones. Left out or stated, a default gives the same request.

    Args:
        name: the quantity.
        frame: the frame of a pose, Jacobian, twist or task; the tool when None.
        expressed: "body", "space" or "aligned": axes of a twist or task; "body" when None.
        rows: which of the six coordinates of a twist make a task; all when None.
        wrenches: whether F_ext, (links, 6), follows the state as a further argument.
        free: robot data that become further arguments instead of constants: names of `FREE`.
        target: "cpu", or "cuda" for a `CudaKernel`, which takes and returns CuPy arrays.
        wrt: differentiate by these arguments, free data included; None: the quantity itself.
        order: 1; 2: twice, with weights y of the results as a further argument.
        sparse: whether the result is one vector of the numbers that the tree does not make zero.

    Raises:
        InputError: an option has another type than the one it is declared with, a value that does
            not exist, or does not belong to this quantity.
    """

    name: str
    frame: str | None = None
    expressed: str | None = None
    rows: Sequence[int] | None = None
    wrenches: bool = False
    free: Sequence[str] = ()
    target: str = "cpu"
    wrt: str | Sequence[str] | None = None
    order: int = 1
    sparse: bool = False
    quantity: Quantity = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        quantity = find_quantity(read_name(self.name, "quantity"))
        optional_name(self.frame, "frame")
        optional_name(self.expressed, "expressed")
        rows = None if self.rows is None else tuple(task_rows(self.rows))
        if not is_one_of(read_name(self.target, "target"), TARGETS):
            raise InputError(f"target is {self.target!r}; expected 'cpu' or 'cuda'.")
        wrt = [self.wrt] if isinstance(self.wrt, str) else self.wrt
        normal = {
            "quantity": quantity,
            "expressed": _choice(quantity, "expressed", self.expressed, EXPRESSED[0]),
            "rows": _choice(quantity, "rows", rows, tuple(range(6))),
            "wrenches": switch(self.wrenches, "wrenches"),
            "free": names(self.free, "free"),
            "sparse": switch(self.sparse, "sparse"),
            "wrt": None if wrt is None else names(wrt, "wrt"),
        }
        if type(self.order) is not int or self.order not in (1, 2):
            raise InputError(f"order is {self.order!r}; expected 1, or 2 for second derivatives.")
        for key, value in normal.items():
            object.__setattr__(self, key, value)
        if self.expressed is not None:
            check_expressed(self.expressed)
        if self.frame is not None and not quantity.framed:
            raise InputError(
                f"{self.name} has no frame, but the frame {self.frame!r} was given; poses and "
                "Jacobians have one."
            )
        if self.wrenches and not quantity.wrenches:
            raise InputError(
                f"{self.name} does not depend on external wrenches, but they were requested; "
                "inverse_dynamics, forward_dynamics and bias_forces do."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Request, tuple(getattr(self, x.name) for x in fields(self) if x.init)

    @property
    def choices(self) -> dict[str, Any]:
        """The options of the quantity's `make`: expressed and rows, where it has them."""
        return {key: getattr(self, key) for key in self.quantity.choices}


def find_quantity(name: str) -> Quantity:
    """Return the quantity of that name; those of steps are imported when one is requested."""
    if name in DECLARED:
        return DECLARED[name]
    steps = step_quantities()
    if name not in steps:
        known = [*DECLARED, *steps]
        longer = [x for x in known if x.startswith(f"{name}_") and "_with_" not in x]
        hint = f" Did you mean {', '.join(longer)}?" if longer else nearest(str(name), known)
        every = f"; choose {', '.join(known)}." if not hint else f".{hint}"
        raise NameLookupError(f"there is no quantity {name!r} to compile{every}")
    return steps[name]


def step_quantities() -> dict[str, Quantity]:
    """Return the declarations of steps, which are composed of the graphs of several quantities."""
    from kinetree.engine.kernels.step import CONTROLLED, STEPS

    return {**STEPS, **CONTROLLED}


def quantities() -> dict[str, Quantity]:
    """Return the declaration of every quantity that `Robot.compile` takes, by name.

    A declaration has `inputs`, the names of the arguments; `results`, each with its letter, the
    letters of its shape (`dims`) and its unit; `choices`, the options besides the frame; `framed`:
    it is a quantity of a frame; `wrenches`: F_ext may follow; `refused`: why a robot with
    constraints does not have it, or "".

    Example:
        >>> kt.testing.quantities()["mass_matrix"].inputs
        ('q',)
    """
    return {**DECLARED, **step_quantities()}


def _choice(quantity: Quantity, option: str, value: Any, default: Any) -> Any:
    """Return the value of an option, or its default; None for a quantity without that option."""
    if option in quantity.choices:
        return default if value is None else value
    if value is not None:
        having = [name for name, other in DECLARED.items() if option in other.choices]
        raise InputError(
            f"{quantity.name} has no option {option}, which was given; "
            f"{listing(having, 4)} {'has' if len(having) == 1 else 'have'} it."
        )
    return None
