"""Fingerprints: the value of a user's function, so that equal functions are traced once.

A function computes what its code says, with the values that the code reads: the closure, default
arguments, globals, attributes of objects and of their classes, and the same of every function that
it calls. A fingerprint has the code and all these values. Two functions with equal fingerprints
compute the same, even if they are different objects, as a `lambda` in a loop is; and a function
whose gain was changed between two calls has another fingerprint.

Only values that can be compared completely count. A function that reads a file, a clock, random
numbers, or an object that is not known here has no fingerprint (None), and is traced at every use.
The same applies to code that imports, or that looks up names while it runs (`getattr`, `eval`).
"""

import abc
import dataclasses
import dis
import functools
import sys
import types
import typing
from collections.abc import Hashable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.kernels.memo import remembered
from kinetree.model import Model

DEPTH = 12  # levels of objects within objects
MOST = 3_000  # entries that are read
LARGEST = 200_000  # numbers of an array
SMALL = 64  # numbers of an array whose bytes are kept as they are, not as a hash

# libraries whose functions give equal results for equal arguments, but for these names
PURE = (
    "math", "cmath", "operator", "_operator", "functools", "_functools", "itertools", "numbers",
    "numpy", "kinetree.base", "kinetree.scalars", "kinetree.spatial", "kinetree.algorithms",
    "kinetree.formulations", "kinetree.model",
)  # fmt: skip
IMPURE = frozenset({
    "random", "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "open_memmap",
    "empty", "empty_like", "datetime64", "geterr", "getbufsize", "testing", "ctypeslib", "lib",
    "core", "_core", "vectorize", "attrgetter", "methodcaller", "get_printoptions",
    "printoptions", "array2string", "array_repr", "array_str", "format_float_positional",
    "format_float_scientific",
})  # fmt: skip
BUILTINS = frozenset({
    "abs", "all", "any", "bool", "bytes", "callable", "complex", "dict", "divmod", "enumerate",
    "filter", "float", "frozenset", "int", "isinstance", "issubclass", "iter", "len", "list", "map",
    "max", "min", "next", "pow", "property", "range", "reversed", "round", "set", "slice", "sorted",
    "staticmethod", "str", "sum", "super", "tuple", "type", "zip", "object", "Ellipsis",
    "NotImplemented", "ArithmeticError", "AssertionError", "AttributeError", "Exception",
    "FloatingPointError", "IndexError", "KeyError", "LookupError", "NotImplementedError",
    "OverflowError", "RuntimeError", "StopIteration", "TypeError", "ValueError",
    "ZeroDivisionError", "__name__", "__build_class__",
})  # fmt: skip
# entries of a class that are made from others, or that no computation reads
MADE = frozenset({
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__",
    "__slots__", "__dataclass_fields__", "__dataclass_params__", "__match_args__",
    "__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__", "__firstlineno__",
    "__static_attributes__", "__annotate__", "__annotations_cache__", "__conditional_annotations__",
    "__annotate_func__", "__protocol_attrs__", "_is_protocol", "__non_callable_proto_members__",
})  # fmt: skip
# methods that `dataclasses` writes where the user does not
WRITTEN = frozenset({
    "__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__",
    "__lt__", "__le__", "__gt__", "__ge__", "__getstate__", "__setstate__",
})  # fmt: skip
CHANGING = ("IMPORT_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")  # instructions of CPython
BASES = (object, abc.ABC, typing.Generic, typing.Protocol)  # classes without any state


class Unknown(Exception):
    """A value that cannot be compared completely."""


def fingerprint(x: object) -> Hashable | None:
    """Return a key that is equal for functions, or other values, that compute the same.

    None if that cannot be known. The key keeps no robot alive.
    """
    try:
        key = _Reader().read(x, 0, frozenset())
        hash(key)
    except (Unknown, TypeError, RecursionError):
        return None
    return key


def model_token(model: Model) -> Hashable:
    """Return an object that stands for a model in a key, without keeping the model alive."""
    return remembered(model, ("token",), object)


class _Reader:
    """Reads values into one key; an object that was read before is its number."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.kept: list[object] = []  # the id of an object that is gone may be that of another
        self.left = MOST

    def read(self, x: Any, depth: int, names: frozenset[str]) -> Hashable:
        """Return the key of a value; names: those that the code around it reads."""
        plain = _plain(x)
        if plain is not None:
            return plain
        self.left -= 1
        if depth > DEPTH or self.left < 0:
            raise Unknown
        if isinstance(x, types.ModuleType):
            raise Unknown  # some code elsewhere may read any of its entries
        if isinstance(x, Model):
            return "model", model_token(x)
        if isinstance(x, Kernel | types.CodeType) or _is_pure(x):
            return "itself", x
        if id(x) in self.seen:
            return "seen", self.seen[id(x)]
        self.seen[id(x)] = len(self.seen)
        self.kept.append(x)
        return self.compound(x, depth + 1, names)

    def compound(self, x: Any, depth: int, names: frozenset[str]) -> Hashable:
        """Return the key of something that has parts."""
        if isinstance(x, np.ndarray):
            return self.array(x, depth, names)
        if type(x) in (list, tuple):
            return type(x), *(self.read(entry, depth, names) for entry in x)
        if type(x) in (set, frozenset):
            return type(x), frozenset(self.read(entry, depth, names) for entry in x)
        if type(x) in (dict, types.MappingProxyType):
            pairs = [(self.read(k, depth, names), self.read(v, depth, names)) for k, v in x.items()]
            return dict, *pairs
        if isinstance(x, types.FunctionType):
            return self.function(x, depth)
        if isinstance(x, types.MethodType):
            return (
                "method",
                self.read(x.__func__, depth, names),
                self.read(x.__self__, depth, names),
            )
        if isinstance(x, functools.partial):
            return "partial", self.read((x.func, x.args, x.keywords), depth, names)
        if isinstance(x, property):
            return "property", self.read((x.fget, x.fset, x.fdel), depth, names)
        if isinstance(x, staticmethod | classmethod):
            return type(x).__name__, self.read(x.__func__, depth, names)
        if isinstance(x, type):
            return self.class_of_user(x, depth)
        return self.instance(x, depth)

    def array(self, x: Array, depth: int, names: frozenset[str]) -> Hashable:
        """Return the key of an array: shape, type and numbers."""
        if type(x) is not np.ndarray or x.size > LARGEST:
            raise Unknown
        if x.dtype == object:
            return "array", x.shape, *(self.read(entry, depth, names) for entry in x.flat)
        if x.dtype.kind not in "biufcSU":
            raise Unknown
        data = x.tobytes()
        return "array", x.shape, x.dtype.str, data if x.size <= SMALL else blake2b(data).digest()

    def function(self, x: types.FunctionType, depth: int) -> Hashable:
        """Return the key of a function: its code and every value that the code reads."""
        names = _names(x.__code__)
        if names is None:
            raise Unknown
        found: list[Hashable] = ["function", x.__code__]
        for part in (x.__defaults__, x.__kwdefaults__, x.__dict__ or None):
            found.append(self.read(part, depth, names))
        for name in sorted(names):
            if name in x.__globals__:
                found.append((name, self.variable(x.__globals__[name], depth, names)))
            elif name in x.__builtins__ and name not in BUILTINS:
                raise Unknown
        return *found, *(self.cell(cell, depth, names) for cell in x.__closure__ or ())

    def variable(self, x: Any, depth: int, names: frozenset[str]) -> Hashable:
        """Return the key of a variable of a code; names: all that the code reads."""
        if isinstance(x, types.ModuleType):
            return self.module(x, depth, names)
        return self.read(x, depth, names)

    def cell(self, cell: types.CellType, depth: int, names: frozenset[str]) -> Hashable:
        """Return the key of a variable of the enclosing function."""
        try:
            return self.variable(cell.cell_contents, depth, names)
        except ValueError:  # not bound yet
            raise Unknown from None

    def module(self, x: types.ModuleType, depth: int, names: frozenset[str]) -> Hashable:
        """Return the key of a library: those of its entries that the code may read.

        A module of the user may be handed on to code that reads other entries, so it is unknown.
        """
        pure, own = _within(x.__name__, PURE), _within(x.__name__, ("kinetree",))
        if not (pure or own) or (pure and names & IMPURE & vars(x).keys()):
            raise Unknown
        # modules of kinetree import their entries at the first use
        entries = [name for name in sorted(names) if name in vars(x) or (own and hasattr(x, name))]
        parts = [(name, self.variable(getattr(x, name), depth + 1, names)) for name in entries]
        return "module", x.__name__, *parts

    def class_of_user(self, x: type, depth: int) -> Hashable:
        """Return the key of a class: itself, with everything that can be changed in it."""
        if type(x).__module__ not in ("builtins", "abc", "typing"):
            raise Unknown  # its own class decides what its entries are
        found: list[Hashable] = [x]
        for kind in x.__mro__:
            if kind in BASES or _within(kind.__module__, ("kinetree",)):
                continue
            if _within(kind.__module__, ("builtins", *PURE)):
                raise Unknown  # a list, an array and the like with additions
            for name, value in sorted(vars(kind).items()):
                # classes that are not written in Python have entries of types that are unknown here
                if name in MADE or isinstance(value, types.MemberDescriptorType):
                    continue
                if not _is_generated(kind, name, value):
                    found.append((name, self.read(value, depth, frozenset())))
            for field in vars(kind).get("__dataclass_fields__", {}).values():
                if field.default_factory is not MISSING:
                    found.append(self.read(field.default_factory, depth, frozenset()))
        return tuple(found)

    def instance(self, x: Any, depth: int) -> Hashable:
        """Return the key of an object: its class and all its attributes."""
        kind = type(x)
        root = kind.__module__.partition(".")[0]
        if root == "kinetree":
            return self.own_instance(x, depth)
        if kind is types.SimpleNamespace:
            return "namespace", self.read(dict(sorted(vars(x).items())), depth, frozenset())
        if root == "numpy" or root in sys.stdlib_module_names:
            raise Unknown  # its state may be out of reach
        found: list[Hashable] = ["object", self.read(kind, depth, frozenset())]
        own = dict(getattr(x, "__dict__", {}))
        own |= {name: getattr(x, name) for name in _slots(kind) if hasattr(x, name)}
        for name, value in sorted(own.items()):
            found.append((name, self.read(value, depth, frozenset())))
        return tuple(found)

    def own_instance(self, x: Any, depth: int) -> Hashable:
        """Return the key of an object of kinetree: a robot by its model, a record by its fields."""
        kind = type(x)
        model = getattr(x, "model", None)
        if isinstance(model, Model) and not is_dataclass(x):
            # kernels of the model are stored under their names at the first use
            rest = {
                name: value
                for name, value in sorted(vars(x).items())
                if name not in ("model", "report")
                and not (isinstance(value, Kernel) and hasattr(kind, name))
            }
            return "robot", kind, model_token(model), self.read(rest, depth, frozenset())
        if not is_dataclass(x) or not kind.__dataclass_params__.frozen:
            raise Unknown
        values = [self.read(getattr(x, field.name), depth, frozenset()) for field in fields(x)]
        return "record", kind, *values


def _plain(x: object) -> Hashable | None:
    """Return the key of a number, a text or None; None for anything else."""
    if type(x) is float:
        return float, x.hex()  # 0.0 differs from -0.0, and NaN equals NaN
    if x is None or type(x) in (bool, int, str, bytes):
        return type(x), x
    if type(x) is complex:
        return complex, x.real.hex(), x.imag.hex()
    if isinstance(x, np.generic) and x.dtype.kind in "biufcSU":
        return x.dtype.str, x.tobytes()
    return ("constant", repr(x)) if x is Ellipsis or x is NotImplemented else None


def _is_pure(x: object) -> bool:
    """Return True for a function or class of a library whose results depend on arguments alone."""
    if isinstance(x, np.ufunc):
        return getattr(np, x.__name__, None) is x  # not one that was made of a Python function
    dispatched = type(x).__name__ == "_ArrayFunctionDispatcher"  # as most functions of NumPy are
    if not isinstance(x, types.FunctionType | types.BuiltinFunctionType | type) and not dispatched:
        return False
    name, place = getattr(x, "__name__", ""), getattr(x, "__module__", None) or ""
    if isinstance(x, types.BuiltinFunctionType) and not isinstance(x.__self__, types.ModuleType):
        return False  # a method of some object
    if place == "builtins":
        return name in BUILTINS
    return _within(place, PURE) and name not in IMPURE and not place.startswith("numpy.random")


def _within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _is_generated(kind: type, name: str, value: object) -> bool:
    """Return True for a method that `dataclasses` wrote from the fields of a class."""
    if name not in WRITTEN or "__dataclass_fields__" not in vars(kind):
        return False
    if not isinstance(value, types.FunctionType):
        return value is None  # __hash__ of a class that can be changed
    return value.__code__.co_filename in ("<string>", dataclasses.__file__)


def _slots(kind: type) -> list[str]:
    """Names of the slots of a class and of its bases."""
    return [
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if isinstance(value, types.MemberDescriptorType)
    ]


@functools.lru_cache(maxsize=512)
def _names(code: types.CodeType) -> frozenset[str] | None:
    """Return all names that a code reads; None if it imports or changes globals."""
    names: set[str] = set()
    for part in _codes(code):
        names.update(part.co_names)
        if any(step.opname in CHANGING for step in dis.get_instructions(part)):
            return None
    return frozenset(names)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
