"""All quantities: every function of this folder that is declared with `@quantity`.

A declaration is found by reading the files, which takes 4 ms, and its file is imported when the
quantity is first needed: importing all of them would take twenty times as long.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from kinetree.model.quantity import DECLARED as IMPORTED
from kinetree.model.quantity import Quantity

FOLDER = Path(__file__).parent
PREFIX = "kinetree.dynamics."
DECLARATION = re.compile(r"^@quantity\(((?:.*\n)*?)def (\w+)\(", re.MULTILINE)
NO_METHOD = "method=False"


class Index(Mapping[str, Quantity]):
    """Declarations by name, each imported when it is first looked up."""

    @cached_property
    def files(self) -> dict[str, str]:
        """The module of each quantity."""
        return {name: module for name, (module, _) in self._found.items()}

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The quantities that are attributes of Robot."""
        return tuple(name for name, (_, options) in self._found.items() if NO_METHOD not in options)

    @cached_property
    def _found(self) -> dict[str, tuple[str, str]]:
        """Module and options of each quantity."""
        found: dict[str, tuple[str, str]] = {}
        for path in FOLDER.rglob("*.py"):
            module = PREFIX + ".".join(path.relative_to(FOLDER).with_suffix("").parts)
            for options, name in DECLARATION.findall(path.read_text(encoding="utf-8")):
                found[name] = module, options
        return dict(sorted(found.items())) or self._imported()

    def _imported(self) -> dict[str, tuple[str, str]]:
        """The same of a program that was packed without sources."""
        for module in walk_packages([str(FOLDER)], PREFIX):
            import_module(module.name)
        return {
            x.name: (x.function.__module__, "" if x.method else NO_METHOD)
            for x in IMPORTED.values()
        }

    def __getitem__(self, name: str) -> Quantity:
        if name not in IMPORTED:
            import_module(self.files[name])
        return IMPORTED[name]

    def __contains__(self, name: object) -> bool:
        return name in self.files

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


DECLARED = Index()
