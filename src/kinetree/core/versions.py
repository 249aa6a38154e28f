"""The version of kinetree, and the public names that a later version removes.

`__version__` stands here alone: the build reads it from this file, `kinetree.__version__`, exported
code, studies and the workbench read it from this module.

A name that is replaced stays for at least one minor version and warns. Its line in `OLD_NAMES`
has the name in use and the version that removes it; a test fails when that version is reached, so
that the name, its line and its tests go together. docs/versions.md is the policy for users.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kinetree.errors import KinetreeDeprecationWarning, warn

__version__ = "0.2.0"


class OldName(NamedTuple):  # a dataclass would be imported with kinetree, which takes 7 ms
    """A public name that will be removed, and the version that removes it.

    use: the name in use, as the caller writes it.
    since: the first version that warns.
    gone: the version that no longer has the old name.
    """

    use: str
    since: str
    gone: str


# old name: the name in use, the first version that warns, the version that removes the old name
OLD_NAMES: dict[str, OldName] = {
    "column F_ext.mx": OldName("F_ext.nx", "0.2.0", "0.3.0"),
    "column F_ext.my": OldName("F_ext.ny", "0.2.0", "0.3.0"),
    "column F_ext.mz": OldName("F_ext.nz", "0.2.0", "0.3.0"),
}


def warn_old(name: str, table: Mapping[str, OldName] = OLD_NAMES) -> None:
    """Warn, at the user's line, that a name of `OLD_NAMES` is old: when it goes, and what to use.

    Args:
        name: the old name, as it stands in the table.
        table: the names that will be removed.
    """
    old_name = table[name]
    warn(
        f"{name} goes in kinetree {old_name.gone}; use {old_name.use} instead.",
        KinetreeDeprecationWarning,
    )
