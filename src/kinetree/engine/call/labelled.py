"""Arguments that are not arrays of NumPy: the functions that take calls made with them.

Labelled arrays (dicts, data frames, DataArrays) are aligned by name here, see `present/labels.py`.
`import kinetree` registers a function for each package of tensors. A package is recognised
by the name of the array's type, so nothing of it is imported to find out; its function is loaded
when the first of its arrays arrives.
"""

from typing import Any

import numpy as np

from kinetree.core.containers import describe, has_labels, is_masked_type, label_kind, refuse_masked
from kinetree.engine.call import PACKAGES, Arguments, Options, TensorCall
from kinetree.engine.call.diagnose import ArgumentError, usage
from kinetree.errors import InputError
from kinetree.present.labels import Alignment

_known: dict[type, TensorCall | None] = {}


def call_of_type(kind: type) -> TensorCall | None:
    """Return the function for arrays of this type or of a class derived from it; None: NumPy."""
    if kind not in _known:
        if label_kind(kind) is not None:
            _known[kind] = call_by_name
        elif is_masked_type(kind):
            _known[kind] = call_unmasked
        else:
            packages = (base.__module__.partition(".")[0] for base in kind.__mro__)
            load = next((PACKAGES[name] for name in packages if name in PACKAGES), None)
            _known[kind] = None if load is None else load()
    return _known[kind]


def call_for(arrays: Arguments) -> TensorCall | None:
    """Return the function for a call: labels come first, then the first package of tensors."""
    first_call = None
    for array in arrays:
        kind = type(array)
        call = _known[kind] if kind in _known else call_of_type(kind)
        if call is None:
            if (kind is list or kind is tuple) and has_labels(array):
                return call_by_name
        elif call is call_by_name:
            return call
        elif first_call is None:
            first_call = call
    return first_call


def call_by_name(dispatch: Any, arrays: Arguments, options: Options) -> object:
    """Evaluate a kernel on labelled arguments: aligned by name, the results labelled alike."""
    graph, axes = dispatch.graph, dispatch.axes
    if options.get("out") is not None or {"axes", "axis"} & options.keys():
        raise InputError(
            f"{dispatch.name} with labelled arguments makes labelled results of its own; out= and "
            "axes= are for plain arrays."
        )
    unnamed = (None,) * len(graph.inputs), [(None,) * len(x.shape) for x in graph.outputs]
    axes = axes or unnamed
    names = [port.name for port in graph.inputs]
    if len(arrays) != len(names):
        raise ArgumentError(f"{usage(dispatch.name, graph)} was given {len(arrays)} arguments.")
    alignment = Alignment(list(zip(arrays, axes[0], names, strict=True)))
    computed = dispatch.call(*alignment.values, **options)
    results = computed if isinstance(computed, tuple) else (computed,)
    ports = zip(results, axes[1], graph.outputs, strict=True)
    labelled = tuple(alignment.label(x, names_along, port.name) for x, names_along, port in ports)
    return labelled if isinstance(computed, tuple) else labelled[0]


def call_unmasked(dispatch: Any, arrays: Arguments, options: Options) -> object:
    """Evaluate a kernel on masked arrays of which no entry is masked; refuse others."""
    for port, array in zip(dispatch.graph.inputs, arrays, strict=False):
        refuse_masked(array, port.name)
    plain = (np.asarray(x) if is_masked_type(type(x)) else x for x in arrays)
    return dispatch.call(*plain, **options)


def check_outputs(name: str, out: object) -> None:
    """Raise InputError if results would be written by position under names of the caller."""
    for array in out if isinstance(out, tuple) else (out,):
        if has_labels(array):
            raise InputError(
                f"out of {name} is {describe(array)}; expected a plain array, since results are "
                "written in the order of the robot. Labelled arguments make labelled results."
            )


# torch.compile does not look into the reading of names, and puts the call between two graphs
call_by_name.__dict__["_torchdynamo_disable"] = True
