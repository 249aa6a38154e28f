"""`kinetree demo`: the first command to try."""


def demo() -> None:
    """Work the exercises of the course and print each result next to the printed one."""
    from rich.console import Console

    from kinetree.cli.exercises import demonstrate

    demonstrate(Console())
