"""Work that is put off until its first use, so that programs start quickly: imports and records.

A frozen dataclass takes about 0.5 ms to define, since Python compiles the text of six methods, and
a program defines a hundred of them and uses thirty.
"""

import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

# what a dataclass is made of, for new objects and for old ones
NEW = ("__init__", "__dataclass_fields__", "__dataclass_params__", "__match_args__")
OLD = ("__repr__", "__eq__", "__hash__")
MAKING = threading.RLock()  # a class makes those that it derives from
BODY = ("__annotations__", "__doc__", "__module__", "__orig_bases__", "__post_init__")
PLAIN = {"frozen", "eq", "repr", "kw_only"}  # options of records whose `__init__` is written here
SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")  # in types of fields
NO_DEFAULT = object()


def later(
    package: str, names: Mapping[str, str], files: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a package: it imports the file of a name.

    Args:
        package: its `__name__`.
        names: by file below the package, those that it has, between spaces.
        files: further names with their files.
    """
    listed = {name: file for file, text in names.items() for name in text.split()}
    places = {**(files or {}), **listed}

    def attribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return attribute


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """`dataclasses.dataclass`; methods of frozen records are made at their first use (`_Part`).

        The first object, comparison or look at the fields is such a use. One difference: objects of
        a subclass are frozen too, with all their attributes. Records with slots are made at once.
        """
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        if options.get("slots") or not options.get("frozen"):
            import dataclasses  # here and below, since it imports `inspect`, 6 ms

            return dataclasses.dataclass(cls, **options)
        compared, shown = options.get("eq", True), options.get("repr", True)
        wanted = {"__repr__": shown, "__eq__": compared, "__hash__": compared}
        fields = vars(cls).get("__annotations__", {})
        body = {name: x for name, x in vars(cls).items() if name in fields or name in BODY}
        for name in (*NEW, *OLD):
            if wanted.get(name, True) and vars(cls).get(name) is None:  # not of the class itself
                setattr(cls, name, _Part(cls, name, options, body))
        cls.__setattr__, cls.__delattr__ = _refuse_change, _refuse_removal
        return cls


class _Part:
    """A method or a table of a dataclass until its first use, which makes it and its siblings.

    They are those of another dataclass with the same fields, made from `body`; the class keeps its
    identity.
    """

    def __init__(
        self, cls: type, name: str, options: Mapping[str, bool], body: Mapping[str, Any]
    ) -> None:
        self.cls, self.name, self.options, self.body = cls, name, options, body

    def __get__(self, instance: object, owner: type) -> Any:
        with MAKING:
            if vars(self.cls)[self.name] is self:  # else another thread has just made it
                self._make()
        made = vars(self.cls)[self.name]  # a subclass that calls it by super() has another
        return made.__get__(instance, owner) if hasattr(made, "__get__") else made

    def _make(self) -> None:
        fields = _plain_fields(self.cls) if self.name == "__init__" else None
        if fields is not None:
            setattr(self.cls, self.name, _initialiser(self.cls, fields))
            return

        import dataclasses

        cls, is_new = self.cls, self.name in NEW
        others = {"repr": False, "eq": False} if is_new else {"init": False}
        named = {**self.body, "__qualname__": cls.__qualname__}
        made = dataclasses.dataclass(**{**self.options, **others})(
            type(cls)(cls.__name__, cls.__bases__, named)
        )
        for name in self.body:
            if isinstance(vars(cls).get(name), dataclasses.Field):  # its default alone remains
                delattr(cls, name)
                if name in vars(made):
                    setattr(cls, name, vars(made)[name])
        for name in NEW if is_new else OLD:
            if isinstance(vars(cls).get(name), _Part):
                setattr(cls, name, vars(made)[name])


def _plain_fields(cls: type) -> dict[str, tuple[Any, Any, bool]] | None:
    """Type, default, and whether it is for keywords alone, of each field.

    None for a class that `dataclasses` has to understand: with options of fields, with variables of
    the class, or one that it would refuse.
    """
    fields: dict[str, tuple[Any, Any, bool]] = {}
    for base in reversed(cls.__mro__):
        part = vars(base).get("__dataclass_fields__")
        if part is None:
            continue
        if not isinstance(part, _Part) or not part.options.keys() <= PLAIN:
            return None
        by_keyword = part.options.get("kw_only", False)
        for name, hint in part.body.get("__annotations__", {}).items():
            default = part.body.get(name, NO_DEFAULT)
            kind, written = type(default), str(hint)
            if written == "<class 'dataclasses.KW_ONLY'>":
                by_keyword = True
                continue
            # looked up in the classes themselves, so that no hash of a record is made
            hashes = next(vars(x)["__hash__"] for x in kind.__mro__ if "__hash__" in vars(x))
            if kind.__module__ == "dataclasses" or hashes is None:
                return None
            if any(word in written for word in SPECIAL):
                return None
            fields[name] = hint, default, by_keyword
    needed = [default is NO_DEFAULT for _, default, by_keyword in fields.values() if not by_keyword]
    return fields if needed == sorted(needed, reverse=True) else None


def _initialiser(cls: type, fields: Mapping[str, tuple[Any, Any, bool]]) -> Any:
    """The `__init__` of a frozen record, as `dataclasses` makes it, in a quarter of the time."""
    placed = [name for name, (_, _, by_keyword) in fields.items() if not by_keyword]
    named = [name for name in fields if name not in placed]
    words = ", ".join(["self", *placed, *(["*", *named] if named else [])])
    lines = [f" __put__(self, {name!r}, {name})" for name in fields]
    lines += [" self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    text = "\n".join([f"def __init__({words}):", *lines, " return None"])
    names: dict[str, Any] = {"__put__": object.__setattr__, "__name__": cls.__module__}
    exec(text, names)
    function = names["__init__"]
    defaults = {name: x for name, (_, x, _) in fields.items() if x is not NO_DEFAULT}
    function.__defaults__ = tuple(defaults[name] for name in placed if name in defaults)
    function.__kwdefaults__ = {name: defaults[name] for name in named if name in defaults}
    function.__annotations__ = {name: hint for name, (hint, _, _) in fields.items()}
    function.__annotations__["return"] = None
    function.__qualname__ = f"{cls.__qualname__}.__init__"
    return function


def _refuse_change(record: object, name: str, value: object) -> NoReturn:
    import dataclasses

    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_removal(record: object, name: str) -> NoReturn:
    import dataclasses

    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
