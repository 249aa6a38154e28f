"""`kinetree cache`: what compiled code is kept, and how to be rid of it."""

from cyclopts import App

from kinetree.base.tables import counted
from kinetree.cli.arguments import Json

app = App(name="cache", help="The compiled code that kinetree keeps on disk.")


@app.command
def info(*, json: Json = False) -> None:
    """Where compiled code is kept, how much there is, and how much there may be.

    JSON has folder, enabled, entries, size and limit in bytes.

    For example:

    ```
    kinetree cache info
    ```
    """
    from kinetree.backends import cache
    from kinetree.cli.show import console, print_json

    found = cache.info()
    if json:
        names = ("enabled", "entries", "size", "limit")
        print_json({"folder": str(found.folder)} | {x: getattr(found, x) for x in names})
        return
    screen = console()
    screen.print(f"folder   {found.folder}", soft_wrap=True)
    screen.print(f"cache    {'on' if found.enabled else 'off (KINETREE_CACHE=0)'}")
    screen.print(f"entries  {found.entries}")
    limit = f"{found.limit / 2**20:.0f} MiB"
    screen.print(f"size     {found.size / 2**20:.1f} MiB of at most {limit}")


@app.command
def clear(*, json: Json = False) -> None:
    """Remove all compiled code; it is compiled again when needed.

    JSON has removed, the number of entries.

    For example:

    ```
    kinetree cache clear
    ```
    """
    from kinetree.backends import cache
    from kinetree.cli.show import console, print_json

    removed = cache.clear()
    if json:
        print_json({"removed": removed})
    else:
        console().print(f"{counted(removed, 'entry')} removed")
