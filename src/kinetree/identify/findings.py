"""What there is to say about an identification: motions that tell nothing, errors with a shape."""

from typing import Any

import numpy as np

from kinetree.algorithms.natural_units import natural_units
from kinetree.errors import InputError, SingularityError
from kinetree.identify.base import Base
from kinetree.identify.least_squares import Fit
from kinetree.identify.recording import Recording
from kinetree.identify.suspicions import STILL, listing

POOR = 1000  # condition of the regressor
WILD = 8.0  # standard deviations that no sample in a billion reaches by itself
SHIFTED = 0.5  # mean of the errors, in units of their standard deviation


def check_motion(model: Any, data: Recording) -> None:
    """Refuse recordings in which nothing moves, or no joint force ever changes."""
    if not np.any(np.ptp(data.tau, axis=0)):
        raise InputError(
            "tau never changes in the recording; expected the measured forces of all joints."
        )
    units = natural_units(model)
    if (np.ptp(data.q, axis=0) / np.where(units.positions, units.length, 1)).max(initial=0) < STILL:
        raise SingularityError(
            f"no joint moves by more than {STILL:g} rad or {STILL * units.length:.3g} m in the "
            "recording; expected a motion of all joints. `kinetree.identify.excite` plans one."
        )


def poorly_told(whole: Base, base: Base, found: Fit) -> list[str]:
    """Notes on base parameters that the recording tells poorly, or not from the others."""
    notes = []
    if count := int((found.standard_error > np.abs(found.beta)).sum()):
        notes.append(f"{count} of {base.r} base parameters are smaller than their standard error")
    if found.condition > POOR:
        notes.append(
            f"the motion excites some parameters poorly (condition {found.condition:.0f}); "
            "`kinetree.identify.excite` plans a better one"
        )
    if untold := [whole.names[k] for k in whole.kept if k not in base.kept]:
        notes.append(
            f"the recording tells {base.r} of {whole.r} base parameters apart; left together with "
            f"others, or without effect in it: {listing(untold)}. The robot has them as described"
        )
    return notes


def odd_errors(model: Any, found: Fit, method: str) -> list[str]:
    """Notes on errors of the fit that do not look like noise."""
    names, notes = np.array(model.dof_names, object), []
    forces = natural_units(model).forces
    rest = found.residual / forces
    typical = 1.4826 * np.median(np.abs(rest), axis=0)
    wild = np.abs(rest) > np.maximum(WILD * typical, 1e-9 * np.abs(rest).max(initial=0))
    if method != "robust" and (count := int(wild.sum())):
        notes.append(
            f"{count} measured forces of {listing(names[wild.any(axis=0)])} are far off all "
            "others: 'robust' least squares gives outliers less weight"
        )
    mean, spread = rest.mean(axis=0), rest.std(axis=0)
    if np.any(shifted := np.abs(mean) > SHIFTED * np.maximum(spread, 1e-300)):
        values = ", ".join(f"{x:.3g}" for x in (mean * forces)[shifted][:8])
        notes.append(
            f"errors of {listing(names[shifted])} have a mean of {values}: does the sensor have "
            "an offset? 'directional' friction takes it up"
        )
    return notes
