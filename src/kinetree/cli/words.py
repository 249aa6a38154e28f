"""Words of the command line that begin with a minus and are no options."""

import re
from collections.abc import Iterable

STREAM = "<standard stream>"  # what `-` stands for: standard input, or output
NEGATIVE_LIST = re.compile(r"-[\d.][^=\s]*,[^=]*")


def digest(words: Iterable[str]) -> list[str]:
    """The words, `-0.1,0.2` in pieces and `-` by a name, lest they be taken for options."""
    found: list[str] = []
    for word in words:
        if word == "-":
            found.append(STREAM)
        else:
            found += re.split(r"[,\s]+", word) if NEGATIVE_LIST.fullmatch(word) else [word]
    return found
