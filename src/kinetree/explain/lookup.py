"""Lookup by name, with the known names in the complaint."""

from collections.abc import Mapping
from typing import Any

from kinetree.errors import NameLookupError


def find(known: Mapping[str, Any], name: str, kind: str, owner: str) -> Any:
    """What is called `name`; `kind` and `owner` are for the message."""
    try:
        return known[name]
    except KeyError:
        names = ", ".join(known)
        raise NameLookupError(f"{owner!r} has no {kind} {name!r}; there are {names}.") from None
