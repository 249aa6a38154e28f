"""Models as text: every bit comes back, and nothing that is no model is taken for one."""

import json

import numpy as np
import pytest

import kinetree as kt
from kinetree.compiler.store import encode
from kinetree.errors import KinetreeError, ModelError, ParseError
from kinetree.kernels.compile import trace_quantity
from kinetree.model.samples import ALL_TYPES, random_model
from kinetree.parallel import model_text, read_model_text


def without_functions(model):
    """Random robots may have friction functions, which no text can hold."""
    joints = [
        kt.model.Joint(
            **{
                **vars(x),
                "friction": kt.model.JointFriction(x.friction.viscous, x.friction.coulomb),
            }
        )
        for x in model.joints
    ]
    return model.replace(joints=tuple(joints))


MODELS = {
    **{
        name: getattr(kt.robots, name)().model
        for name in ("panda", "puma_560", "quadruped", "hand", "cart_pole", "spatial_3r")
    },
    **{
        f"random {k}": without_functions(random_model(k, 5, types=ALL_TYPES, mimic=True))
        for k in range(4)
    },
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


def arrays(model):
    names = ("M_pi", "m", "com", "I_com", "gravity")
    return {name: getattr(model, name) for name in names}


def test_every_bit_comes_back(model):
    text = model_text(model)
    found = read_model_text(text)
    assert model_text(found) == text
    for name, x in arrays(model).items():
        assert getattr(found, name).dtype == x.dtype
        assert getattr(found, name).tobytes() == x.tobytes()
    assert found.joint_names == model.joint_names and found.frames.keys() == model.frames.keys()
    assert [x.limits for x in found.joints] == [x.limits for x in model.joints]


def test_the_graph_that_is_traced_is_the_same(model, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "0")  # or one would be looked up for the other
    found = read_model_text(model_text(model))
    graphs = [encode(trace_quantity(x, "inverse_dynamics")) for x in (model, found)]
    assert graphs[0] == graphs[1]


def test_extreme_numbers_come_back():
    model = MODELS["panda"]
    odd = np.array([5e-324, 1 / 3, np.nextafter(1, 2), 1e300, 0.1, -0.0, 7.0])
    found = read_model_text(model_text(model.replace(m=odd)))
    assert found.m.tobytes() == odd.tobytes()


def test_code_and_symbols_are_refused():
    joint = kt.Friction(function=lambda dq: dq)
    builder = kt.Builder("rubs").link("base").link("arm", 1.0, (1, 0, 0))
    robot = builder.joint("hinge", "revolute", "base", "arm", friction=joint).build()
    with pytest.raises(ModelError, match=r"'hinge'.*friction function, which is code"):
        model_text(robot)
    with pytest.raises(ModelError, match="holds"):
        model_text(MODELS["panda"].replace(m=MODELS["panda"].m.astype(object)))


CHANGES = {
    "no link 9": (lambda x: x["links"][1].update(parent=9), "parent of link 1 is 9"),
    "own parent": (lambda x: x["links"][2].update(parent=2), "whole number from -1 to 1"),
    "no mass": (lambda x: x["links"][0].pop("m"), "link 0 has no 'm'"),
    "words": (lambda x: x["links"][0].update(m="heavy"), "m of link 0 is 'heavy'"),
    "no pose": (lambda x: x["links"][0].update(M_pi=[[1, 0], [0, 1]]), "shape \\(4, 4\\)"),
    "type": (lambda x: x["links"][0].update(type="ball"), "expected one of revolute"),
    "numbers": (lambda x: x["links"][3].update(dofs=[2]), "expected 0, 1, 2"),
    "follows": (lambda x: x["links"][3].update(follows="nobody"), "expected 0, 1, 2|follows"),
    "tool": (lambda x: x.update(tool="hammer"), "tool of model is 'hammer'"),
    "format": (lambda x: x.update(format="2"), "expected 'kinetree model 1'"),
    "frame": (lambda x: x["frames"].append(["f", 0]), "expected name, link, T_if"),
    "rotor": (lambda x: x["rotors"].append([1]), "rotor .* expected joint, dof"),
    "limits": (lambda x: x["links"][0].update(limits=[None, "far", None, None]), "upper of limits"),
    "huge": (lambda x: x["links"][0].update(m=10**400), "m of link 0"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_wrong_text_is_refused_in_words(name):
    change, message = CHANGES[name]
    data = json.loads(model_text(MODELS["panda"]))
    change(data)
    with pytest.raises(ParseError, match=message):
        read_model_text(json.dumps(data))


@pytest.mark.parametrize("text", ["", "[]", "{", "3", '{"format": "kinetree model 1"}'])
def test_what_is_no_text_of_a_model_is_refused(text):
    with pytest.raises(KinetreeError):
        read_model_text(text)
