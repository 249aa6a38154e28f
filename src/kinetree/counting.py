"""Numbers of things in words: 1 joint, 2 joints."""


def counted(count: int, noun: str, rest: str = "") -> str:
    """The count with its noun, in the plural unless it is one: 1 entry, 2 entries, 0 rows.

    rest: what follows the noun, as in "2 degrees of freedom".
    """
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun} {rest}".rstrip()
