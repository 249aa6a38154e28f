"""`kinetree cache`: what compiled code is kept, and how to be rid of it."""

from cyclopts import App

app = App(name="cache", help="The compiled code that kinetree keeps on disk.")


@app.command
def info() -> None:
    """Where compiled code is kept, how much there is, and how much there may be."""
    from rich.console import Console

    from kinetree.backends import cache

    console, found = Console(), cache.info()
    state = "on" if found.enabled else "off (KINETREE_CACHE=0)"
    # a folder may be called anything, also what looks like markup
    console.print(f"folder   {found.folder}", soft_wrap=True, highlight=False, markup=False)
    console.print(f"cache    {state}", highlight=False)
    console.print(f"entries  {found.entries}", highlight=False)
    console.print(
        f"size     {found.size / 2**20:.1f} MiB of at most {found.limit / 2**20:.0f} MiB",
        highlight=False,
    )


@app.command
def clear() -> None:
    """Remove all compiled code; it is compiled again when needed."""
    from rich.console import Console

    from kinetree.backends import cache

    Console().print(f"{cache.clear()} entries removed", highlight=False)
