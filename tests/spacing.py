"""Options of a simulation for a method of either kind."""

ADAPTIVE = ("DOP853", "LSODA", "Radau", "BDF")


def by(method, spacing, **tolerances):
    """A method whose steps are so long, or which adapts them and whose results are so far apart."""
    if method in ADAPTIVE:
        return {"method": method, "record": spacing, **tolerances}
    return {"method": method, "dt": spacing}
