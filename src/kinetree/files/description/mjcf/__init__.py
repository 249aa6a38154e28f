"""MJCF files -> records, through MuJoCo's own compiler, which decides the meaning of a file.

`files` reads the document with its includes as `nodes`; `checks` bounds it; `prepare` removes
everything that names a file; `meshes` compiles it, with the mesh files that an inertia needs;
`links`, `forces`, `equality` and `notes` make the records.
"""

from collections.abc import Sequence
from os import PathLike

from kinetree.core.arrays import Array, array
from kinetree.files.description.mjcf.checks import check_keyframes, check_nodes
from kinetree.files.description.mjcf.collisions import read_collisions
from kinetree.files.description.mjcf.compile import import_mujoco
from kinetree.files.description.mjcf.equality import Equality
from kinetree.files.description.mjcf.files import read_document
from kinetree.files.description.mjcf.forces import actuators_of, disabled, motors_of, springs_of
from kinetree.files.description.mjcf.links import frames, links_and_joints, mesh_records
from kinetree.files.description.mjcf.meshes import MeshedModel, compile_with_meshes
from kinetree.files.description.mjcf.nodes import Node
from kinetree.files.description.mjcf.notes import notes_of, warnings_of
from kinetree.files.description.records import RobotDescription


def read_mjcf(
    path: str | PathLike[str],
    *,
    folders: Sequence[str | PathLike[str]] = (),
    text: str | None = None,
    start: bool = False,
) -> RobotDescription:
    """Read the robot of an MJCF file, with the constants that MuJoCo compiles.

    Hinges become revolute, slides prismatic, balls spherical and free joints free; a body with
    several joints hangs on massless links called "body/joint". A body without name is "#<id>", a
    joint without name "#j<id>". The base is the world. Gravity is that of the file's <option>.

    MuJoCo attaches other models (<asset><model/>, <attach/>) itself; prefixes are part of names.
    Gravity is 0 with <flag gravity="disable"/>; frictionloss, damping and springs likewise.
    Stiffness of hinges and slides, and of <fixed> tendons, becomes springs; armature and friction
    of <fixed> tendons become motors; <actuator> becomes actuators, where its law is affine and its
    transmission joints or tendons. <equality> of connect, weld and joint becomes
    constraints, exact ones, and the driven joints have motors.

    Nothing but the file, what it includes and the models that it attaches is opened, and these only
    from the file's own folder (links followed). Mesh files, from the same folder, are opened where
    a moving body has no other inertia; no other asset ever is.

    Args:
        path: the MJCF file.
        folders: further folders that includes, attached models and meshes may lie in, for files
            that are trusted.
        text: the content, if it is not in a file; `path` is then its name in messages, and other
            files are opened in `folders` only.
        start: also list the geoms that touch where the file starts.
    """
    nodes, meshed = compile_file(path, folders, text)
    compiled = meshed.compiled
    check_keyframes(nodes, compiled.model.nq)
    links, joints = links_and_joints(meshed)
    equality = Equality(compiled, frames(compiled, links))
    return RobotDescription(
        name=nodes[0].attributes.get("model", "robot"),
        links=links,
        joints=joints,
        frames=tuple(equality.frames),
        gravity=_gravity(compiled.model.opt.gravity, disabled(compiled, "GRAVITY")),
        springs=springs_of(compiled),
        actuators=actuators_of(compiled),
        motors=motors_of(compiled),
        notes=notes_of(compiled, nodes, equality),
        warnings=warnings_of(meshed, nodes),
        meshes=mesh_records(meshed),
        constrained=equality.record,
        collisions=read_collisions(meshed, start=start),
    )


def compile_file(
    path: str | PathLike[str],
    folders: Sequence[str | PathLike[str]],
    text: str | None = None,
) -> tuple[list[Node], MeshedModel]:
    """The checked elements of an MJCF file, and the model that MuJoCo compiles from them."""
    import_mujoco()
    nodes, files = read_document(path, folders, text)
    check_nodes(nodes)
    return nodes, compile_with_meshes(nodes, files)


def _gravity(given: Array, is_off: bool) -> tuple[float, ...]:
    if is_off:
        return 0.0, 0.0, 0.0
    return tuple(float(x) for x in array(given, (3,), "gravity of <option>"))
