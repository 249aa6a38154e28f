"""A document compiled by MuJoCo, with the meshes that an inertia depends on.

A body depends on a mesh when its compiled mass, centre or inertia changes with the shape of the
mesh. So the model is compiled with two different stand-ins and compared; MuJoCo's rules about
defaults, groups and explicit inertias need not be repeated here.
"""

import base64
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from kinetree.errors import ParseError, need
from kinetree.files.description.collisions import unused
from kinetree.files.description.mjcf.document import Document, MeshFile, Node, read_document
from kinetree.files.description.source import MissingFileError, RobotFile, is_confined
from kinetree.files.description.sources import NotFoundError
from kinetree.files.description.xml import clip

WORLD = "world"  # name of the world body
FORMATS = (".stl", ".obj", ".msh")
INERTIAL = ("body_mass", "body_ipos", "body_iquat", "body_inertia")
# Corners of two stand-ins, so large that a scale of a thousandth still leaves a volume.
TETRAHEDRON = "0 0 0 1000 0 0 0 1000 0 0 0 1000"
OTHER_SHAPE = "0 0 0 1500 0 0 0 1700 0 300 200 1900"
SECONDS, MEMORY = 60, 4 << 30  # of the process that compiles an upload first
TRIAL = """
import base64, json, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
except ImportError:
    pass  # Windows bounds the time only
import mujoco
text, files = json.loads(sys.stdin.buffer.read())
files = {{name: base64.b64decode(data) for name, data in files.items()}}
models = {{name: data for name, data in files.items() if name.endswith(".xml")}}
assets = {{name: data for name, data in files.items() if name not in models}}
try:
    mujoco.MjSpec.from_string(text, include=models, assets=assets).compile()
except (ValueError, mujoco.FatalError, mujoco.UnexpectedError):
    pass  # what MuJoCo refuses is said by the reader itself
"""
# Elements whose attributes MuJoCo does not compare with its schema where they stand in a <frame> or
# <replicate>: it would ignore a misspelt one.
UNCHECKED = "body joint freejoint geom site inertial camera light frame".split()
_LOCK = Lock()  # MuJoCo's warning handler and Python's warning filters belong to the process


@dataclass(frozen=True)
class Compiled:
    """A compiled model, and the way back from it to the file.

    spec, model: MuJoCo's own objects. messages: MuJoCo's warnings. meshes: files by the names of
    compiled meshes. unknown: static bodies whose mass is unknown, each with the reason.
    """

    mujoco: Any
    document: Document
    spec: Any
    model: Any
    messages: tuple[str, ...]
    unknown: Mapping[int, str] = field(default_factory=dict[int, str])

    def node_of(self, element: Any) -> Node | None:
        """The node that an element of the spec was read from."""
        line = re.match(r"line (\d+)", element.info or "")
        k = int(line[1]) - 1 if line else -1
        return self.document.nodes[k] if 0 <= k < len(self.document.nodes) else None

    def places(self, elements: Iterable[Any]) -> dict[int, str]:
        """file:line of elements of the spec, by their number."""
        nodes = {int(x.id): self.node_of(x) for x in elements}
        return {k: node.where for k, node in nodes.items() if node is not None}

    @cached_property
    def meshes(self) -> dict[str, MeshFile]:
        """Mesh files by the names of compiled meshes; attaching a model renames and copies them."""
        nodes = {x.name: self.node_of(x) for x in self.spec.meshes} if self.document.meshes else {}
        files = self.document.meshes
        return {name: files[x.start] for name, x in nodes.items() if x and x.start in files}

    @cached_property
    def body_names(self) -> list[str]:
        """Names of all bodies; a body without name is "#<id>", the world is "world"."""
        model = self.model
        return [WORLD, *named([model.body(b).name for b in range(1, model.nbody)], "#", 1)]

    @cached_property
    def joint_names(self) -> list[str]:
        """Names of all joints; a joint without name is "#j<id>"."""
        return named([self.model.joint(j).name for j in range(self.model.njnt)], "#j", 0)

    def disabled(self, *flags: str) -> bool:
        """Return True if <option> disables one of these, named as in MuJoCo's mjtDisableBit."""
        bits, off = self.mujoco.mjtDisableBit, int(self.model.opt.disableflags)
        return any(off & int(getattr(bits, f"mjDSBL_{flag}")) for flag in flags)


def named(names: list[str], prefix: str, first: int) -> list[str]:
    """Names, with numbers where there were none; a given name may have taken such a name."""
    taken = {name for name in names if name}
    return [name or unused(f"{prefix}{k}", taken) for k, name in enumerate(names, first)]


def compile_file(file: RobotFile) -> Compiled:
    """The model that MuJoCo compiles from an MJCF file; see `read_mjcf`."""
    mujoco = need("mujoco", "mjcf", "reading MJCF, with MuJoCo's own compiler,")
    document = read_document(file)
    _check_attributes(mujoco, document)
    return _with_meshes(mujoco, document)


def _with_meshes(mujoco: Any, document: Document) -> Compiled:
    """The compiled document; of the mesh files, those are read that an inertia depends on."""
    compiled = _compiled(mujoco, document, TETRAHEDRON)
    if not compiled.meshes:
        return compiled
    other = _compiled(mujoco, document, OTHER_SHAPE)
    dependent = _differing(compiled, other)
    wanted = _meshes_of(compiled, dependent)
    data, refused = _read(document, wanted.values())
    if data:  # what still depends on the stand-in is missing
        compiled = _compiled(mujoco, document, TETRAHEDRON, data)
        dependent = _differing(compiled, _compiled(mujoco, document, OTHER_SHAPE, data))
    unknown: dict[int, str] = {}
    for body in dependent:
        missing = [x for x in _meshes_of(compiled, [body]).values() if x.node.start not in data]
        if missing:
            mesh, why = missing[0], refused[missing[0].node.start].rstrip(".")
            moves = int(compiled.model.body_weldid[body]) != 0
            if moves or float(compiled.spec.compiler.settotalmass) > 0:
                text = f"body {compiled.body_names[body]!r} takes its inertia from mesh "
                text += f"{mesh.name!r}, which {why}. Put the mesh beside the model, or give the "
                where = compiled.places(compiled.spec.bodies).get(body, mesh.node.where)
                raise ParseError(f"{where}: {text}body an <inertial>.")
            unknown[body] = why
    return replace(compiled, unknown=unknown)


def _differing(one: Compiled, other: Compiled) -> list[int]:
    """Bodies whose inertia differs between the two."""
    differs = np.zeros(one.model.nbody, bool)
    for key in INERTIAL:
        unequal = getattr(one.model, key) != getattr(other.model, key)
        differs |= unequal.reshape(len(differs), -1).any(axis=1)
    return np.flatnonzero(differs).tolist()


def _meshes_of(compiled: Compiled, bodies: Sequence[int]) -> dict[str, MeshFile]:
    """The mesh files that geoms of the bodies refer to."""
    found: dict[str, MeshFile] = {}
    for geom in compiled.spec.geoms:
        # MuJoCo may have fused the body that the geom was written in
        body = compiled.model.geom_bodyid[geom.id] if geom.id >= 0 else geom.parent.id
        if int(body) in bodies and geom.meshname in compiled.meshes:
            found[geom.meshname] = compiled.meshes[geom.meshname]
    return found


def _read(
    document: Document, wanted: Iterable[MeshFile]
) -> tuple[dict[int, tuple[str, bytes]], dict[int, str]]:
    """File name and bytes of the meshes that can be read, and why others cannot, by their nodes."""
    data: dict[int, tuple[str, bytes]] = {}
    refused: dict[int, str] = {}
    for mesh in wanted:
        k, path = mesh.node.start, mesh.path
        if path is None or not path.lower().endswith(FORMATS):
            refused[k] = (
                f"lies in no file that ends with {', '.join(FORMATS)}: {path or 'a plugin'}"
            )
            continue
        try:
            place = document.locate(path, mesh.node)
            data[k] = f"kinetree_mesh_{k}{place.suffix.lower()}", document.sources.read(place)
        except MissingFileError:
            refused[k] = f"lies in the file {path!r}, which is not there"
        except NotFoundError as error:
            refused[k] = f"was not opened: {error}"
    return data, refused


def _compiled(
    mujoco: Any,
    document: Document,
    corners: str,
    data: Mapping[int, tuple[str, bytes]] | None = None,
) -> Compiled:
    """Compile a document; the assets in `data` are the only files MuJoCo can open."""
    data = data or {}
    text, others = document.texts(corners, {k: name for k, (name, _) in data.items()})
    if is_confined():
        _try_apart(document, text, others | dict(data.values()))
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            spec = mujoco.MjSpec.from_string(text, include=others, assets=dict(data.values()))
            # length ranges of muscles are found by simulation, and dynamics do not need them
            spec.compiler.LRopt.mode = int(mujoco.mjtLRMode.mjLRMODE_NONE)
            model = spec.compile()
        except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            raise _refusal(str(error), document) from None
        except (MemoryError, RuntimeError, TypeError, UnicodeError) as error:
            file = document.nodes[0].element.file
            raise ParseError(f"{file}: MuJoCo cannot compile the file: {error}.") from None
    return Compiled(mujoco, document, spec, model, tuple(str(x.message).strip() for x in caught))


def _try_apart(document: Document, text: str, files: Mapping[str, bytes]) -> None:
    """Compile the text of an upload in a process with bounded memory and time first."""
    coded = {name: base64.b64encode(data).decode() for name, data in files.items()}
    command = [sys.executable, "-c", TRIAL.format(memory=MEMORY)]
    given: Any = {"input": json.dumps([text, coded]).encode(), "capture_output": True}
    try:
        subprocess.run(command, **given, timeout=SECONDS, check=True)
    except subprocess.SubprocessError:
        text = f"MuJoCo takes more than {SECONDS} s or {MEMORY >> 30} GB to compile the file"
        text += ". Load it in Python, if it is to be trusted."
        raise ParseError(f"{document.nodes[0].element.file}: {text}") from None


def _refusal(message: str, document: Document) -> ParseError:
    """MuJoCo's message with its line of the text replaced by the element and its place.

    MuJoCo writes: what is wrong, then "Element 'tag', line 3" or "Element name 'x', id 2, line 3".
    """
    nested = "could not parse model file with error: "
    inside = nested in message  # of a model that is attached: its own error stands first
    message = message.rpartition(nested)[2]
    reason = re.split(r"\n?\s*Element (?:name )?'", message)[0].strip()
    reason = re.sub(r"^(?:XML |Schema )?Error: (?:Error: )?", "", reason).rstrip(".")
    reason = clip(reason, 500)
    lines = re.findall(r"[Ll]ine (?:number=)?(\d+)", message)
    k = int(lines[0 if inside else -1]) - 1 if lines else -1
    if 0 <= k < len(document.nodes):
        node = document.nodes[k]
        return node.fault(f"MuJoCo refuses {node}: {reason}.")
    name = re.search(r"Element name '([^']+)'", message)
    what = f"element {name[1]!r}" if name else "the file"
    return ParseError(f"{document.nodes[0].element.file}: MuJoCo refuses {what}: {reason}.")


def _check_attributes(mujoco: Any, document: Document) -> None:
    """Raise if an element inside a <frame> or <replicate> has an attribute that MuJoCo lacks.

    Each attribute is tried on an element of the same kind in a body, where MuJoCo does compare it.
    """
    seen: dict[tuple[str, str], Node] = {}
    for node in document.nodes:
        if node.tag in UNCHECKED and node.lies_in("frame", "replicate"):
            for attribute in node.attributes:
                seen.setdefault((node.tag, attribute), node)
    for (tag, attribute), node in seen.items():
        text = f"<mujoco><worldbody><body><{tag} {attribute}='0'/></body></worldbody></mujoco>"
        with _LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                mujoco.MjSpec.from_string(text)
            except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
                if "unrecognized attribute" in str(error):
                    what = f"an attribute {clip(attribute)!r}, which MuJoCo does not know."
                    raise node.fault(f"{node} has {what}") from None
