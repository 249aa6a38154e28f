"""`kinetree cache`: what compiled code is kept, and how to be rid of it."""

from rich.console import Console

from kinetree.backends import cache


def show_cache(console: Console) -> None:
    """Print folder, entries and size."""
    found = cache.info()
    state = "on" if found.enabled else "off (KINETREE_CACHE=0)"
    # a folder may be called anything, also what looks like markup
    console.print(f"folder   {found.folder}", soft_wrap=True, highlight=False, markup=False)
    console.print(f"cache    {state}", highlight=False)
    console.print(f"entries  {found.entries}", highlight=False)
    console.print(
        f"size     {found.size / 2**20:.1f} MiB of at most {found.limit / 2**20:.0f} MiB",
        highlight=False,
    )


def clear_cache(console: Console) -> None:
    """Remove every entry and say how many there were."""
    removed = cache.clear()
    console.print(f"{removed} entries removed", highlight=False)
