"""Every number of a model, by name: for whoever asks what kinds of scalars a robot is made of."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.model.model import Model

BODY = ("m", "com", "I_com")


def numbers_of(model: Model) -> Iterator[tuple[str, Any]]:
    """Name and value, an array or a tuple, of everything in a model that decides its dynamics."""
    yield from ((key, getattr(model, key)) for key in ("M_pi", *BODY, "gravity"))
    yield from ((f"{key} of the base", x) for key, x in zip(BODY, model.base, strict=True))
    for x in model.joints:
        yield f"axis of joint {x.name!r}", () if x.screw is None else x.screw
        yield f"drive of joint {x.name!r}", (x.scale, x.offset, x.armature)
        yield f"friction of joint {x.name!r}", (*x.friction.viscous, *x.friction.coulomb)
    for rotor in model.rotors:
        name = model.joints[rotor.joint].name
        yield f"rotor of joint {name!r}", (rotor.inertia, rotor.ratio, *rotor.s)
    yield from ((f"pose of frame {name!r}", frame.T_if) for name, frame in model.frames.items())


def strangest(x: Any) -> Any:
    """What to show of an array of objects: a symbol rather than a number, a long one rather."""
    numbers = (int, float, np.number)
    entries = np.ravel(np.asarray(x)).tolist()
    return max(entries, key=lambda entry: (not isinstance(entry, numbers), len(str(entry))))
