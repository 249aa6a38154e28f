"""The commands and their help."""

from cyclopts import App

from kinetree import __version__

app = App(
    name="kinetree",
    version=__version__,
    help="Robot dynamics: the Newton-Euler equations of chains and trees.",
)
cache_app = App(name="cache", help="The compiled code that kinetree keeps on disk.")
app.command(cache_app)


@app.command
def demo() -> None:
    """Work the exercises of the course and print each result next to the printed one."""
    from rich.console import Console

    from kinetree.cli.demo import demonstrate

    demonstrate(Console())


@cache_app.command(name="info")
def cache_info() -> None:
    """Where compiled code is kept, how much there is, and how much there may be."""
    from rich.console import Console

    from kinetree.cli.cache import show_cache

    show_cache(Console())


@cache_app.command(name="clear")
def cache_clear() -> None:
    """Remove all compiled code; it is compiled again when needed."""
    from rich.console import Console

    from kinetree.cli.cache import clear_cache

    clear_cache(Console())
