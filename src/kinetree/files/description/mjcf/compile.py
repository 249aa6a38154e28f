"""MuJoCo's compiler: text in, compiled constants out, its errors in the user's terms."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from kinetree.errors import ParseError, need
from kinetree.files.description.mjcf.nodes import (
    Node,
    document_name,
    documents,
    owner,
    with_ancestors,
    write,
)
from kinetree.files.description.xml import clip

WORLD = "world"  # name of the world body
_LOCK = Lock()  # MuJoCo's warning handler and Python's warning filters belong to the process

# A word in MuJoCo's message -> the remedy.
HINTS = {
    "mjMINVAL": "Give the body an <inertial> or a geom that has mass.",
    "balanceinertia": "Correct the moments, or set balanceinertia of <compiler>.",
    "euler sequence": "Set eulerseq of <compiler> to three of x y z (turning) or X Y Z (fixed).",
    "invalid keyword": "Joints are of type hinge, slide, ball or free; for other words see the XML "
    "reference of MuJoCo.",
    "default class": "Classes are declared in <default>.",
    "free joint": "Move the body to <worldbody>, or use slide and ball joints.",
    "Schema violation": "See the XML reference of MuJoCo for what the element may contain.",
}


@dataclass(frozen=True)
class Compiled:
    """A compiled model, and the way back from it to the file.

    spec, model: MuJoCo's own objects. nodes: the compiled document, node k from line k + 1; lines
    are counted on through all documents. messages: MuJoCo's warnings.
    """

    mujoco: Any
    spec: Any
    model: Any
    nodes: Sequence[Node]
    messages: tuple[str, ...]

    def node_of(self, element: Any) -> Node | None:
        """The node an element of the spec was read from."""
        line = re.match(r"line (\d+)", element.info or "")
        k = int(line.group(1)) - 1 if line else -1
        return self.nodes[k] if 0 <= k < len(self.nodes) else None

    @cached_property
    def body_names(self) -> list[str]:
        """Names of all bodies; a body without name is "#<id>", the world is "world"."""
        model = self.model
        return [WORLD, *_named([model.body(b).name for b in range(1, model.nbody)], "#", 1)]

    @cached_property
    def joint_names(self) -> list[str]:
        """Names of all joints; a joint without name is "#j<id>"."""
        return _named([self.model.joint(j).name for j in range(self.model.njnt)], "#j", 0)


def _named(names: list[str], prefix: str, first: int) -> list[str]:
    """Names, with numbers where there were none; a given name may have taken such a name."""
    taken = {name for name in names if name}
    return [name or unused(f"{prefix}{k}", taken) for k, name in enumerate(names, first)]


def unused(name: str, taken: set[str]) -> str:
    """`name`, or `name` with the first number that makes it new; it is added to `taken`."""
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}~{k}", k + 1
    taken.add(candidate)
    return candidate


def import_mujoco() -> Any:
    """The mujoco package, which is optional."""
    return need("mujoco", "mjcf", "reading MJCF, with MuJoCo's own compiler,")


# Elements whose attributes MuJoCo does not compare with its schema where they stand in a <frame> or
# <replicate>: it would ignore a misspelt one.
UNCHECKED = ("body", "joint", "freejoint", "geom", "site", "inertial", "camera", "light", "frame")


def check_attributes(nodes: Sequence[Node]) -> None:
    """Raise if an element inside a <frame> or <replicate> has an attribute that MuJoCo lacks.

    Each attribute is tried on an element of the same kind in a body, where MuJoCo does compare it.
    """
    mujoco = import_mujoco()
    seen: dict[tuple[str, str], tuple[Node, list[Node]]] = {}
    for node, around in with_ancestors(nodes):
        if node.tag in UNCHECKED and any(x.tag in ("frame", "replicate") for x in around):
            for attribute in node.attributes:
                seen.setdefault((node.tag, attribute), (node, list(around)))
    for (tag, attribute), (node, around) in seen.items():
        text = f"<mujoco><worldbody><body><{tag} {attribute}='0'/></body></worldbody></mujoco>"
        with _LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                mujoco.MjSpec.from_string(text)
            except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
                if "unrecognized attribute" in str(error):
                    raise ParseError(
                        f"{node.where}: {owner(node, around)} has an attribute "
                        f"{clip(attribute)!r}, which MuJoCo does not know. "
                        f"{HINTS['Schema violation']}"
                    ) from None


def compile_nodes(nodes: Sequence[Node], assets: Mapping[str, bytes] | None = None) -> Compiled:
    """Compile a prepared document; `assets` are the only files MuJoCo can open."""
    mujoco = import_mujoco()
    main, others = written(nodes)
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            spec = mujoco.MjSpec.from_string(main, include=others, assets=dict(assets or {}))
            # length ranges of muscles are found by simulation, and dynamics do not need them
            spec.compiler.LRopt.mode = int(mujoco.mjtLRMode.mjLRMODE_NONE)
            model = spec.compile()
        except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            raise ParseError(_in_user_terms(str(error), nodes)) from None
        except (MemoryError, RuntimeError, TypeError, UnicodeError) as error:
            raise ParseError(f"{nodes[0].file}: MuJoCo cannot compile the file: {error}.") from None
    messages = tuple(str(warning.message).strip() for warning in caught)
    return Compiled(mujoco, spec, model, nodes, messages)


def written(nodes: Sequence[Node]) -> tuple[str, dict[str, bytes]]:
    """The text of the model, and of the models that it attaches, by file name.

    Each begins on the line after the end of the one before, so that a line number belongs to one
    node whatever document it is in.
    """
    texts: dict[int, str] = {}
    line = 0
    for k, nodes_of_document in documents(nodes).items():
        texts[k] = "\n" * line + write(nodes_of_document)
        line += len(nodes_of_document)
    others = {document_name(k): text.encode() for k, text in texts.items() if k > 0}
    return texts[0], others


def _in_user_terms(message: str, nodes: Sequence[Node]) -> str:
    """MuJoCo's message with its line of the compiled text replaced by the element and its origin.

    MuJoCo writes: what is wrong, then "Element 'tag', line 3" or "Element name 'x', id 2, line 3".
    """
    nested = "could not parse model file with error: "
    inside = nested in message  # of a model that is attached: its own error stands first
    message = message.rpartition(nested)[2]
    reason = re.split(r"\n?\s*Element (?:name )?'", message)[0].strip()
    reason = re.sub(r"^(?:XML |Schema )?Error: (?:Error: )?", "", reason).rstrip(".")
    reason = clip(reason, 500)
    hint = next((f" {hint}" for word, hint in HINTS.items() if word in reason), "")
    line = re.findall(r"[Ll]ine (?:number=)?(\d+)", message)
    k = int(line[0 if inside else -1]) - 1 if line else -1
    if not 0 <= k < len(nodes):
        named = re.search(r"Element name '([^']+)'", message)
        about = f" {named.group(1)!r}" if named else ""
        return f"{nodes[0].file}: MuJoCo refuses the file{about}: {reason}.{hint}"
    around: list[Node] = []
    for i, (_, path) in enumerate(with_ancestors(nodes)):
        if i == k:
            around = list(path)
            break
    node = nodes[k]
    return f"{node.where}: MuJoCo refuses {owner(node, around)}: {reason}.{hint}"
