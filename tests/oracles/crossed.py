"""Cases of several lists: every value at least once, and all of their products with --many."""

from itertools import product

import pytest


def crossed(*lists, name=str):
    """Parameters of a test; a product is marked `many` unless it is the next of all lists."""
    lists = [list(values) for values in lists]
    count = max(map(len, lists))
    few = {tuple(k % len(values) for values in lists) for k in range(count)}
    for place in product(*(range(len(values)) for values in lists)):
        case = [values[k] for values, k in zip(lists, place, strict=True)]
        marks = () if place in few else pytest.mark.many
        yield pytest.param(*case, id="-".join(map(name, case)), marks=marks)
