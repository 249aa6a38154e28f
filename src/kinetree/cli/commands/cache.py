"""`kinetree cache`: the compiled code on disk."""

from typing import Literal

from kinetree.cli import options as opt
from kinetree.cli import writer
from kinetree.cli.app import ITSELF, command
from kinetree.core.text import counted
from kinetree.engine import cache


@command(ITSELF)
def run(action: Literal["info", "clear"] = "info", /, *, json: opt.Json = False) -> None:
    """Show where compiled code is kept, how much there is and the limit; or remove it.

    For example:

    ```
    kinetree cache info
    kinetree cache clear
    ```

    JSON has folder, enabled, entries, size and limit in bytes; of clear removed, the number of
    entries.

    Args:
        action: clear removes all compiled code, which is compiled again when needed.
    """
    if action == "clear":
        removed = cache.clear()
        writer.give(
            json, lambda: {"removed": removed}, lambda: [f"{counted(removed, 'entry')} removed"]
        )
        return
    stored = cache.info()
    names = ("enabled", "entries", "size", "limit")
    parts = (
        f"folder   {stored.folder}",
        f"cache    {'on' if stored.enabled else 'off (KINETREE_CACHE=0)'}",
        f"entries  {stored.entries}",
        f"size     {stored.size / 2**20:.1f} MiB of at most {stored.limit / 2**20:.0f} MiB",
    )
    found = {"folder": str(stored.folder)} | {x: getattr(stored, x) for x in names}
    writer.give(json, lambda: found, lambda: parts)
