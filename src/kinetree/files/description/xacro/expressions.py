"""Expressions of xacro, evaluated without running code of the file.

An expression is parsed to Python's syntax tree and walked here. A value is a number, a text, a
truth value, None, a list, a tuple, a set, a dictionary, a namespace or one of the functions below.
Of the attributes of Python objects only the listed methods can be reached. The work for a
description and the size of a value are bounded.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kinetree.core.text import nearest
from kinetree.errors import need

MOST_STEPS = 1_000_000  # nodes evaluated for one description
MOST_ENTRIES = 100_000  # characters and entries of one value, those of its entries included
MOST_BITS = 4096  # of an integer
WEIGHT_OF_STEP = 4  # entries whose weighing takes the time of a step
UNBOUNDED = ("factorial", "comb", "perm", "prod", "lcm")  # functions of math that are left out
WIDE_FORMAT = re.compile(r"\*|[0-9]{4}")  # '%9999d' makes a text of that length


class ExpressionError(ValueError):
    """An expression that has no value; the message has no place yet."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function that expressions may call."""

    name: str
    call: Callable[..., Any] = field(repr=False)


Names = Callable[[str], Any]  # the value of a name; KeyError if there is none


@dataclass(frozen=True, eq=False)
class Namespace:
    """Values by name, reached as NAMESPACE.name."""

    name: str
    values: Names = field(repr=False)


METHODS = {
    str: "capitalize count endswith find index isalnum isalpha isdecimal isdigit isidentifier "
    "islower isnumeric isspace isupper join lower lstrip partition removeprefix removesuffix "
    "replace rfind rindex rpartition rsplit rstrip split splitlines startswith strip swapcase "
    "title upper",
    list: "count index copy",
    tuple: "count index",
    dict: "get items keys values copy",
    float: "is_integer",
}


BOUNDED = ("join", "replace")  # whose results can be longer than all that they are given


def _operators(words: str) -> dict[type[ast.AST], Callable[..., Any]]:
    """Functions of the module operator by nodes of the syntax tree: "Add:add Sub:sub"."""
    pairs = (word.split(":") for word in words.split())
    return {getattr(ast, node): getattr(operator, name) for node, name in pairs}


UNARY = _operators("UAdd:pos USub:neg Not:not_ Invert:invert")
BINARY = _operators(
    "Add:add Sub:sub Mult:mul Div:truediv FloorDiv:floordiv Mod:mod Pow:pow BitAnd:and_ BitOr:or_ "
    "BitXor:xor RShift:rshift"
)
COMPARE = _operators("Eq:eq NotEq:ne Lt:lt LtE:le Gt:gt GtE:ge Is:is_ IsNot:is_not")
COMPARE |= {ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}


class Evaluator:
    """Evaluator of expressions; the steps of all of them are counted together."""

    def __init__(self) -> None:
        self.steps = 0
        self.functions = _functions()

    def value(self, expression: str, names: Names) -> Any:
        """The value of an expression, with names looked up by `names` and then in `functions`.

        Raises:
            ExpressionError: the expression is not of the language, or has no value.
        """
        try:
            return self._node(ast.parse(expression.strip(), mode="eval").body, names)
        except ExpressionError:
            raise
        except SyntaxError as error:
            raise ExpressionError(f"it is not an expression ({error.msg})") from None
        except KeyError as error:
            raise ExpressionError(f"there is no key {error.args[0]!r}") from None
        except (ArithmeticError, TypeError, ValueError, LookupError, MemoryError) as error:
            raise ExpressionError(str(error) or type(error).__name__) from None

    def spend(self, value: Any) -> Any:
        """`value`, after a check of its size; large ones count as several steps of work."""
        weight = _weight(value)
        self.steps += 1 + weight // WEIGHT_OF_STEP
        if self.steps > MOST_STEPS:
            raise ExpressionError(f"the file takes more than {MOST_STEPS} steps to evaluate")
        if weight > MOST_ENTRIES or (isinstance(value, int) and value.bit_length() > MOST_BITS):
            _refuse_size()
        return value

    def _node(self, node: ast.AST | None, names: Names) -> Any:
        """The value of a node: by the method of its name, or by the table of operators."""
        if node is None:
            return None
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise ExpressionError(f"{type(node).__name__} is not allowed in expressions")
        return self.spend(method(node, names))

    def _constant(self, node: ast.Constant, names: Names) -> Any:
        if not isinstance(node.value, str | int | float | None):
            raise ExpressionError(f"{type(node.value).__name__} is not allowed in expressions")
        return node.value

    def _name(self, node: ast.Name, names: Names) -> Any:
        try:
            return names(node.id)
        except KeyError:
            if node.id in self.functions:
                return self.functions[node.id]
        raise ExpressionError(f"name {node.id!r} is not defined")

    def _unaryop(self, node: ast.UnaryOp, names: Names) -> Any:
        return UNARY[type(node.op)](self._node(node.operand, names))

    def _binop(self, node: ast.BinOp, names: Names) -> Any:
        sign = type(node.op)
        if sign not in BINARY:
            raise ExpressionError(f"{sign.__name__} is not allowed in expressions")
        a, b = self._node(node.left, names), self._node(node.right, names)
        _check_size(sign, a, b)
        return BINARY[sign](a, b)

    def _boolop(self, node: ast.BoolOp, names: Names) -> Any:
        value = None
        for part in node.values:
            value = self._node(part, names)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _compare(self, node: ast.Compare, names: Names) -> bool:
        left = self._node(node.left, names)
        for sign, part in zip(node.ops, node.comparators, strict=True):
            right = self._node(part, names)
            if not COMPARE[type(sign)](left, right):
                return False
            left = right
        return True

    def _ifexp(self, node: ast.IfExp, names: Names) -> Any:
        return self._node(node.body if self._node(node.test, names) else node.orelse, names)

    def _list(self, node: ast.List | ast.Tuple | ast.Set, names: Names) -> Any:
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        return kind(self._each(node.elts, names))

    _tuple = _set = _list

    def _each(self, nodes: Iterable[ast.expr | None], names: Names) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from _entries(self._node(node.value, names))
            else:
                yield self._node(node, names)

    def _dict(self, node: ast.Dict, names: Names) -> Any:
        if None in node.keys:
            raise ExpressionError("** is not allowed in expressions")
        return dict(zip(self._each(node.keys, names), self._each(node.values, names), strict=True))

    def _subscript(self, node: ast.Subscript, names: Names) -> Any:
        value, index = self._node(node.value, names), self._node(node.slice, names)
        if not isinstance(value, str | list | tuple | dict):
            raise ExpressionError(f"{type(value).__name__} has no entries")
        return value[index]

    def _slice(self, node: ast.Slice, names: Names) -> slice:
        return slice(*(self._node(part, names) for part in (node.lower, node.upper, node.step)))

    def _attribute(self, node: ast.Attribute, names: Names) -> Any:
        value, name = self._node(node.value, names), node.attr
        if isinstance(value, Namespace):
            return value.values(name)
        if name in METHODS.get(type(value), "").split():
            method = getattr(value, name)
            return Function(name, partial(_bounded, method) if name in BOUNDED else method)
        if not isinstance(value, dict):
            raise ExpressionError(f"{type(value).__name__} has no attribute {name!r}")
        if name not in value:
            hint = nearest(name, (key for key in value if isinstance(key, str)))
            raise ExpressionError(f"the dictionary has no key {name!r}.{hint}")
        return value[name]

    def _call(self, node: ast.Call, names: Names) -> Any:
        function, values = self._node(node.func, names), list(self._each(node.args, names))
        named = {x.arg: self._node(x.value, names) for x in node.keywords if x.arg is not None}
        if len(named) < len(node.keywords):
            raise ExpressionError("** is not allowed in expressions")
        if not isinstance(function, Function):
            raise ExpressionError(f"{type(function).__name__} {function!s:.40} is not a function")
        try:
            return function.call(*values, **named)
        except TypeError as error:
            raise ExpressionError(f"{function.name}() cannot be called so: {error}") from None

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp, names: Names) -> list[Any]:
        return [self._node(node.elt, local) for local in self._loops(node.generators, names)]

    _generatorexp = _listcomp

    def _loops(self, loops: list[ast.comprehension], names: Names) -> Iterator[Names]:
        if not loops:
            yield names
            return
        loop, *inner = loops
        for value in _entries(self._node(loop.iter, names)):
            local = _local(_assigned(loop.target, value), names)
            if all(self._node(test, local) for test in loop.ifs):
                yield from self._loops(inner, local)

    def _joinedstr(self, node: ast.JoinedStr, names: Names) -> str:
        return "".join(str(self._node(part, names)) for part in node.values)

    def _formattedvalue(self, node: ast.FormattedValue, names: Names) -> str:
        value, spec = self._node(node.value, names), self._node(node.format_spec, names) or ""
        if WIDE_FORMAT.search(spec):
            _refuse_size()
        if node.conversion == ord("r"):
            value = repr(value)
        return format(value if isinstance(value, int | float) else str(value), spec)


def _functions() -> dict[str, Any]:
    """All functions and constants of the language, and the namespaces `math` and `python`."""
    mathematics = {
        name: Function(f"math.{name}", value) if callable(value) else value
        for name, value in vars(math).items()
        if not name.startswith("_") and name not in UNBOUNDED
    }
    calls: dict[str, Callable[..., Any]] = {
        call.__name__: call
        for call in (abs, all, any, bool, dict, float, int, len, max, min, str, sum)
    }
    calls |= {
        "range": lambda *ends: _entries(range(*ends)),
        "enumerate": lambda x, start=0: list(enumerate(_entries(x), start)),
        "reversed": lambda x: _entries(x)[::-1],
        "sorted": lambda x, reverse=False: sorted(_entries(x), reverse=reverse),
        "zip": lambda *xs: list(zip(*map(_entries, xs), strict=False)),
        "round": _rounded,
        "list": lambda x=(): _entries(x),
        "tuple": lambda x=(): tuple(_entries(x)),
        "set": lambda x=(): set(_entries(x)),
    }
    python = {name: Function(name, call) for name, call in calls.items()}
    constants: dict[str, Any] = {"True": True, "False": False, "None": None}
    spaces = {
        "math": Namespace("math", mathematics.__getitem__),
        "python": Namespace("python", (python | constants).__getitem__),
    }
    return mathematics | python | spaces | constants | {"true": True, "false": False}


def _refuse_size() -> None:
    text = f"a power, text or list has more than {MOST_BITS} bits or {MOST_ENTRIES} entries"
    raise ExpressionError(text)


def _weight(value: object) -> int:
    """Characters and entries of a value and of its entries, counted to just above the limit."""
    total, waiting = 0, [value]
    while waiting and total <= MOST_ENTRIES:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        if isinstance(part, str | list | tuple | dict | set | frozenset):
            total += len(part)
    return total


def _local(values: dict[str, Any], names: Names) -> Names:
    """Names with local values before them."""
    return lambda name: values[name] if name in values else names(name)


def _assigned(target: ast.expr, value: object) -> dict[str, Any]:
    """The names that a loop sets."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple | ast.List):
        raise ExpressionError("a loop sets names only")
    found: dict[str, Any] = {}
    for part, entry in zip(target.elts, _entries(value), strict=True):
        found |= _assigned(part, entry)
    return found


def _entries(value: object) -> list[Any]:
    """The entries of a list, text or dictionary."""
    if isinstance(value, range) and len(value) > MOST_ENTRIES:
        _refuse_size()
    if not isinstance(value, Iterable):
        raise ExpressionError(f"{type(value).__name__} has no entries")
    return list(value)


def _rounded(value: Any, digits: int | None = None) -> Any:
    if digits is not None and abs(digits) > 400:
        _refuse_size()
    return round(value, digits)


def _bounded(method: Callable[..., str], *given: Any) -> str:
    """'text'.join(parts) or 'text'.replace(old, new), if the result cannot be too long."""
    longest = max(_weight(method.__self__), 1) * max(_weight(list(given)) - len(given), 1)  # type: ignore[attr-defined]
    if longest > MOST_ENTRIES:
        _refuse_size()
    return method(*given)


def _check_size(sign: type[ast.operator], a: Any, b: Any) -> None:
    """Raise for a product, power or text that would be too large, before it is computed."""
    if sign is ast.Mult:
        for x, n in ((a, b), (b, a)):
            long = isinstance(x, str | list | tuple) and isinstance(n, int)
            if long and len(x) * n > MOST_ENTRIES:
                _refuse_size()
    elif sign is ast.Pow and isinstance(a, int) and isinstance(b, int):
        if a.bit_length() * abs(b) > MOST_BITS:
            _refuse_size()
    elif sign is ast.Mod and isinstance(a, str) and WIDE_FORMAT.search(a):
        _refuse_size()


# values of texts and of YAML files


WORDS = {"true": True, "True": True, "false": False, "False": False}


def literal(value: object) -> Any:
    """The value that a text stands for by itself: a quoted text, a number, a truth value."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" in value or len(value) > 400:  # Python would read 1_000 as a number
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return WORDS.get(value, value)


def truth(value: object) -> bool:
    """The truth value of a condition; of texts, only true, false and integers have one."""
    if not isinstance(value, str):
        return bool(value)
    try:
        return WORDS[value] if value in WORDS else bool(int(value))
    except ValueError:
        text = f"the condition is {value[:60]!r}; expected true, false or a number"
        raise ExpressionError(text) from None


def tokens(text: object, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    """The parts of a text between any of the characters in `sep`."""
    parts = re.split(f"[{re.escape(str(sep))}]", str(text)) if sep else [str(text)]
    return [part for part in parts if part or not skip_empty]


UNITS = {"radians": 1.0, "degrees": math.pi / 180.0}  # of YAML, in rad and m
UNITS |= {"meters": 1.0, "millimeters": 0.001, "foot": 0.3048, "inches": 0.0254}


def yaml_of(text: str, name: str, evaluator: Evaluator) -> Any:
    """Data of a YAML text, plain values only; !degrees and the like scale numbers."""
    yaml = need("yaml", "xacro", f"{name} is a YAML file, which")

    class Loader(yaml.SafeLoader):
        """A class of this call alone: constructors added here do not affect other users of yaml."""

        entries = 0  # of all mappings, those that merge keys (<<) copy counted each time

        def flatten_mapping(self, node: Any) -> None:
            super().flatten_mapping(node)
            self.entries += len(node.value)
            if self.entries > MOST_ENTRIES:
                raise yaml.YAMLError(f"its mappings have more than {MOST_ENTRIES} entries")

    def scaled(factor: float, loader: Any, node: Any) -> float:
        return factor * float(evaluator.value(str(loader.construct_scalar(node)), {}.__getitem__))

    for unit, factor in UNITS.items():
        Loader.add_constructor(f"!{unit}", partial(scaled, factor))
    try:
        return evaluator.spend(yaml.load(text, Loader))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ExpressionError(f"{name} is not YAML that can be read: {reason[:300]}") from None
