"""A model as text: what workers are given instead of pickled objects.

JSON, in which every number is written with as many digits as bring the same bits back, whole
numbers as whole numbers. The model that is read from the text makes the same kernels to the bit.
Notes about a source are left out; friction functions are code and are refused.
"""

import json
import math
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import SCREW_TYPES
from kinetree.description.records import Limits
from kinetree.errors import ModelError, ParseError
from kinetree.kernels.compile import check_model
from kinetree.model import Frame, Joint, JointFriction, JointRotor, Model
from kinetree.model.joint import RATES
from kinetree.parallel.reader import Reader

FORMAT = "kinetree model 1"
TYPES = (*SCREW_TYPES, *RATES)
LIMITS = ("lower", "upper", "velocity", "effort")


def model_text(model: Model) -> str:
    """The text of a model of numbers."""
    check_model(model)
    for joint in model.joints:
        if joint.friction.function is not None:
            raise ModelError(
                f"joint {joint.name!r} of {model.name!r} has a friction function, which is code; "
                "workers are given data alone. Use viscous and Coulomb coefficients."
            )
    return json.dumps(
        {
            "format": FORMAT,
            "name": model.name,
            "base": [model.base_name, *map(_plain, model.base)],
            "gravity": _plain(model.gravity),
            "links": [_link(model, i) for i in model.links],
            "rotors": [[r.joint, r.dof, r.link, *map(_plain, _turning(r))] for r in model.rotors],
            "frames": [[name, x.link, _plain(x.T_if)] for name, x in model.frames.items()],
            "tool": model.tool,
        },
        allow_nan=False,
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _link(model: Model, i: int) -> dict[str, Any]:
    joint = model.joints[i]
    limits = [getattr(joint.limits, key) for key in LIMITS]
    return {
        "name": model.link_names[i],
        "parent": model.parent[i],
        "M_pi": _plain(model.M_pi[i]),
        "m": _plain(model.m[i]),
        "com": _plain(model.com[i]),
        "I_com": _plain(model.I_com[i]),
        "joint": joint.name,
        "type": joint.type,
        "coords": list(joint.coords),
        "dofs": list(joint.dofs),
        "screw": None if joint.screw is None else _plain(joint.screw),
        "scale": _plain(joint.scale),
        "offset": _plain(joint.offset),
        "armature": _plain(joint.armature),
        "viscous": [_plain(x) for x in joint.friction.viscous],
        "coulomb": [_plain(x) for x in joint.friction.coulomb],
        "limits": [_plain(x) if math.isfinite(x) else None for x in limits],
        "follows": joint.follows,
    }


def _turning(rotor: JointRotor) -> tuple[Any, Any, Array]:
    return rotor.inertia, rotor.ratio, rotor.s


def _plain(x: Any) -> Any:
    """Numbers and arrays as numbers and lists; floats keep their point, and so their kind."""
    return np.asarray(x).tolist()


def read_model_text(text: str) -> Model:
    """The model of a text; ParseError where it is none."""
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise ParseError(f"this is no text of a model: {problem}.") from None
    top = Reader(data, "model")
    if top.get("format") != FORMAT:
        raise ParseError(f"the text is of format {top.get('format')!r}; expected {FORMAT!r}.")
    links = [Reader(x, f"link {i}") for i, x in enumerate(top.list("links"))]
    count = len(links)
    joints = tuple(_joint(x) for x in links)
    parents = tuple(x.whole("parent", -1, i - 1) for i, x in enumerate(links))
    base = Reader(
        dict(zip(("name", "m", "com", "I_com"), top.list("base", 4), strict=True)), "base"
    )
    frames = _frames(top, count)
    model = Model(
        name=top.text("name"),
        joints=joints,
        link_names=tuple(x.text("name") for x in links),
        base_name=base.text("name"),
        parent=parents,
        M_pi=_stacked(links, "M_pi", (4, 4)),
        m=_stacked(links, "m", ()),
        com=_stacked(links, "com", (3,)),
        I_com=_stacked(links, "I_com", (3, 3)),
        gravity=top.array("gravity", (6,)),
        rotors=tuple(_rotor(row, k, joints) for k, row in enumerate(top.list("rotors"))),
        frames=frames,
        tool=top.one_of("tool", tuple(frames)),
        base=(base.number("m"), base.array("com", (3,)), base.array("I_com", (3, 3))),
    )
    _check_numbering(model)
    return model


def _joint(x: Reader) -> Joint:
    type = x.one_of("type", TYPES)
    viscous, coulomb = x.array("viscous", (2,)).tolist(), x.array("coulomb", (2,)).tolist()
    follows = x.get("follows")
    return Joint(
        name=x.text("joint"),
        type=type,
        coords=x.numbers("coords"),
        dofs=x.numbers("dofs"),
        screw=x.array("screw", (6,)) if type in SCREW_TYPES else None,
        scale=x.number("scale"),
        offset=x.number("offset"),
        armature=x.number("armature"),
        friction=JointFriction((viscous[0], viscous[1]), (coulomb[0], coulomb[1])),
        limits=_limits(x),
        follows=None if follows is None else x.text("follows"),
    )


def _limits(x: Reader) -> Limits:
    """The four limits; null stands for none."""
    given = dict(zip(LIMITS, x.list("limits", len(LIMITS)), strict=True))
    own = Reader(given, f"limits of {x.where}")
    return Limits(**{key: own.number(key) for key, value in given.items() if value is not None})


def _rotor(row: Any, k: int, joints: tuple[Joint, ...]) -> JointRotor:
    names = ("joint", "dof", "link", "inertia", "ratio", "s")
    if not isinstance(row, list) or len(row) != len(names):
        raise ParseError(f"rotor {k} of the model is {row!r}; expected {', '.join(names)}.")
    x = Reader(dict(zip(names, row, strict=True)), f"rotor {k}")
    last = len(joints) - 1
    dofs = 1 + max((d for joint in joints for d in joint.dofs), default=-1)
    return JointRotor(
        x.whole("joint", 0, last),
        x.whole("dof", 0, dofs - 1),
        x.whole("link", -1, last),
        x.number("inertia"),
        x.number("ratio"),
        x.array("s", (3,)),
    )


def _frames(top: Reader, count: int) -> dict[str, Frame]:
    found = {}
    for k, row in enumerate(top.list("frames")):
        if not isinstance(row, list) or len(row) != 3:
            raise ParseError(f"frame {k} of the model is {row!r}; expected name, link, T_if.")
        x = Reader(dict(zip(("name", "link", "T_if"), row, strict=True)), f"frame {k}")
        found[x.text("name")] = Frame(x.whole("link", -1, count - 1), x.array("T_if", (4, 4)))
    return found


def _stacked(links: list[Reader], key: str, shape: tuple[int, ...]) -> Array:
    return np.array([x.array(key, shape) for x in links]).reshape(len(links), *shape)


def _check_numbering(model: Model) -> None:
    """Every coordinate and degree of freedom belongs to one joint that moves by itself."""
    own = [joint for joint in model.joints if joint.follows is None]
    for key, size in (("coords", model.nq), ("dofs", model.n)):
        found = [k for joint in own for k in getattr(joint, key)]
        if found != list(range(size)):
            raise ParseError(f"the {key} of the model's joints are {found}; expected 0, 1, 2, ...")
    sources = {joint.name: joint for joint in own}
    for joint in model.joints:
        lead = joint if joint.follows is None else sources.get(joint.follows)
        if lead is None or (joint.coords, joint.dofs) != (lead.coords, lead.dofs):
            raise ParseError(f"joint {joint.name!r} follows {joint.follows!r} with other numbers.")
        if len(joint.dofs) != len(RATES.get(joint.type, "1")):
            raise ParseError(f"joint {joint.name!r} ({joint.type}) has {len(joint.dofs)} dofs.")
