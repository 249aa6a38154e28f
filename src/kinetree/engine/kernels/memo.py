"""The one memo of compiled forms: a kernel is made once for a model and a request.

The entries belong to the model and are freed with it. They cannot live in a dictionary with weak
keys: a kernel may refer to its model (to compile the variant with external wrenches on demand), and
would keep its own key alive.

The compiler is imported at the first request, not with this module: `import kinetree` stays light.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kinetree.core.options import optional_name
from kinetree.model import Model

if TYPE_CHECKING:
    from kinetree.engine.cuda.kernel import CudaKernel
    from kinetree.engine.kernel import Kernel

Form = TypeVar("Form")


def remembered(model: Model, request: Hashable, make: Callable[[], Form]) -> Form:
    """Return the form of the model that was made for `request` before, or make it now.

    Two threads may both make it; the first one is kept and returned to both. The request is
    everything that the form depends on apart from the model. It begins with the name of the
    form, so that two callers cannot mean different things by one request.
    """
    known = model.memo.get(request)
    return model.memo.setdefault(request, make()) if known is None else known


class Recent(Generic[Form]):
    """Forms by key, of a total weight up to `most`; what was not used for longest goes first.

    Every form weighs 1 without `weigh`. The latest form is kept whatever it weighs.
    """

    def __init__(self, most: float, weigh: Callable[[Form], float] = lambda form: 1) -> None:
        self.most, self.weigh = most, weigh
        self._forms: OrderedDict[Hashable, Form] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._forms)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(tuple(self._forms))

    def get(self, key: Hashable) -> Form | None:
        """Return the form for a key, which counts as a use of it; None if there is none."""
        with self._lock:
            form = self._forms.get(key)
            if form is not None:
                self._forms.move_to_end(key)
            return form

    def put(self, key: Hashable, form: Form) -> Form:
        """Keep a form, unless there is one for the key; return the one that is kept."""
        with self._lock:
            kept = self._forms.setdefault(key, form)
            self._forms.move_to_end(key)
            weights = [self.weigh(x) for x in self._forms.values()]
            while len(weights) > 1 and sum(weights) > self.most:
                self._forms.popitem(last=False)
                del weights[0]
            return kept

    def find(
        self,
        key: Hashable,
        make: Callable[[], Form],
        keep: Callable[[Form], bool] = lambda form: True,
    ) -> Form:
        """Return the form for a key, or make it; `keep` decides whether a new one is kept."""
        form = self.get(key)
        if form is None:
            form = make()
            if keep(form):
                form = self.put(key, form)
        return form


def kernel(model: Model, quantity: str, **options: Any) -> Any:
    """Return the kernel of a quantity or its derivatives, compiled at the first request.

    The options are those of `Request`. With target="cuda" it is a `CudaKernel`, else a `Kernel`.
    """
    from kinetree.engine.kernels.request import Request

    request = Request(quantity, **options)

    def make() -> "Kernel | CudaKernel":
        from kinetree.engine.kernels.compile import compiled

        return compiled(model, request)

    return remembered(model, request, make)


def frame_kernel(
    model: Model, quantity: str, frame: str | None, expressed: str | None = None
) -> "Kernel":
    """Return the kernel of a pose, Jacobian or twist of a frame, compiled at the first request.

    Robot looks it up at every call, so the key is shorter than a Request.
    """
    key = quantity, optional_name(frame, "frame"), optional_name(expressed, "expressed")
    return remembered(model, key, lambda: kernel(model, quantity, frame=frame, expressed=expressed))
