"""The one memo of compiled forms: a kernel is made once for a model and a request.

The entries belong to the model and are freed with it. They cannot live in a dictionary with weak
keys: a kernel may refer to its model (to compile the variant with external wrenches on demand), and
would keep its own key alive.

The compiler is imported at the first request, not with this module: `import kinetree` stays light.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from kinetree.base.options import name, names, optional_name, switch
from kinetree.model import Model

if TYPE_CHECKING:
    from kinetree.backends.cuda.kernel import CudaKernel
    from kinetree.backends.kernel import Kernel

Form = TypeVar("Form")


def remembered(model: Model, request: Hashable, make: Callable[[], Form]) -> Form:
    """Return the form of the model that was made for `request` before, or make it now.

    Two threads may both make it; the first one is kept and returned to both.

    Args:
        model: the robot.
        request: everything that the form depends on apart from the model. It begins with the name
            of the form, so that two callers cannot mean different things by one request.
        make: makes the form.
    """
    memo = model.memo
    if request not in memo:
        memo.setdefault(request, make())
    return memo[request]


class Recent(Generic[Form]):
    """Forms by key, the latest `most` of them; a form that was not used for longest goes first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._forms: OrderedDict[Hashable, Form] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._forms)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(tuple(self._forms))

    def get(self, key: Hashable) -> Form | None:
        """Return the form for a key, which counts as a use of it; None if there is none."""
        with self._lock:
            found = self._forms.get(key)
            if found is not None:
                self._forms.move_to_end(key)
            return found

    def put(self, key: Hashable, form: Form) -> Form:
        """Keep a form, unless there is one for the key; return the one that is kept."""
        with self._lock:
            found = self._forms.setdefault(key, form)
            self._forms.move_to_end(key)
            while len(self._forms) > self.most:
                self._forms.popitem(last=False)
            return found

    def find(
        self,
        key: Hashable,
        make: Callable[[], Form],
        keep: Callable[[Form], bool] = lambda form: True,
    ) -> Form:
        """Return the form for a key, or make it; `keep` decides whether a new one is kept."""
        found = self.get(key)
        if found is None:
            found = make()
            if keep(found):
                found = self.put(key, found)
        return found


def plain_options(
    *,
    frame: object = None,
    expressed: object = None,
    rows: object = None,
    wrenches: object = False,
    free: object = (),
    target: object = "cpu",
) -> dict[str, Any]:
    """Return the options of `compile_kernel` as plain values that can be compared.

    Raises:
        InputError: an option has another type than the one it is declared with.
    """
    frame, expressed = optional_name(frame, "frame"), optional_name(expressed, "expressed")
    return {
        "frame": frame,
        "expressed": expressed,
        "rows": None if rows is None else _rows(rows),
        "wrenches": switch(wrenches, "wrenches"),
        "free": names(free, "free"),
        "target": name(target, "target"),
    }


def _rows(rows: Any) -> tuple[int, ...]:
    from kinetree.algorithms.task_space import task_rows  # not needed by most robots

    return tuple(task_rows(rows))


@overload
def kernel(
    model: Model,
    quantity: str,
    *,
    frame: str | None = ...,
    expressed: str | None = ...,
    rows: Sequence[int] | None = ...,
    wrenches: bool = ...,
    free: Sequence[str] = ...,
    target: Literal["cpu"] = ...,
) -> "Kernel": ...
@overload
def kernel(
    model: Model,
    quantity: str,
    *,
    frame: str | None = ...,
    expressed: str | None = ...,
    rows: Sequence[int] | None = ...,
    wrenches: bool = ...,
    free: Sequence[str] = ...,
    target: str,
) -> "Kernel | CudaKernel": ...
def kernel(
    model: Model,
    quantity: str,
    *,
    frame: str | None = None,
    expressed: str | None = None,
    rows: Sequence[int] | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
    target: str = "cpu",
) -> Any:
    """Return the kernel of a quantity, compiled at the first request.

    Arguments as in `kinetree.kernels.compile.compile_kernel`.
    """
    options = plain_options(
        frame=frame, expressed=expressed, rows=rows, wrenches=wrenches, free=free, target=target
    )

    def make() -> "Kernel | CudaKernel":
        from kinetree.kernels.compile import compile_kernel

        return compile_kernel(model, quantity, **options)

    request = "kernel", name(quantity, "quantity"), *options.values()
    return remembered(model, request, make)


@overload
def derivative_kernel(
    model: Model,
    quantity: str,
    wrt: str | Sequence[str] = ...,
    *,
    frame: str | None = ...,
    expressed: str | None = ...,
    rows: Sequence[int] | None = ...,
    wrenches: bool = ...,
    free: Sequence[str] = ...,
    target: Literal["cpu"] = ...,
) -> "Kernel": ...
@overload
def derivative_kernel(
    model: Model,
    quantity: str,
    wrt: str | Sequence[str] = ...,
    *,
    frame: str | None = ...,
    expressed: str | None = ...,
    rows: Sequence[int] | None = ...,
    wrenches: bool = ...,
    free: Sequence[str] = ...,
    target: str,
) -> "Kernel | CudaKernel": ...
def derivative_kernel(
    model: Model,
    quantity: str,
    wrt: str | Sequence[str] = "q",
    *,
    frame: str | None = None,
    expressed: str | None = None,
    rows: Sequence[int] | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
    target: str = "cpu",
) -> Any:
    """Return the kernel of d quantity/d arguments, compiled at the first request.

    Arguments as in `kinetree.kernels.compile.compile_derivative`.
    """
    by = names([wrt] if isinstance(wrt, str) else wrt, "wrt")
    options = plain_options(
        frame=frame, expressed=expressed, rows=rows, wrenches=wrenches, free=free, target=target
    )

    def make() -> "Kernel | CudaKernel":
        from kinetree.kernels.compile import compile_derivative

        return compile_derivative(model, quantity, by, **options)

    request = "derivative", name(quantity, "quantity"), by, *options.values()
    return remembered(model, request, make)


def frame_kernel(
    model: Model, quantity: str, frame: str | None, expressed: str | None = None
) -> "Kernel":
    """Return the kernel of a pose, Jacobian or twist of a frame, compiled at the first request.

    Robot looks it up at every call, so the key is shorter than that of `kernel`.
    """
    optional_name(frame, "frame")
    request = quantity, frame, optional_name(expressed, "expressed")
    found = model.memo.get(request)
    if found is None:
        made = kernel(model, quantity, frame=frame, expressed=expressed)
        found = model.memo.setdefault(request, made)
    return found
