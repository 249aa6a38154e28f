"""MJCF files through MuJoCo's own compiler: MuJoCo decides what a file means."""

from collections.abc import Sequence
from os import PathLike

from kinetree.arrays import array
from kinetree.description.mjcf_checks import check_nodes
from kinetree.description.mjcf_compile import import_mujoco
from kinetree.description.mjcf_files import read_document
from kinetree.description.mjcf_meshes import compile_with_meshes
from kinetree.description.mjcf_notes import notes_of, warnings_of
from kinetree.description.mjcf_records import frames, links_and_joints, meshes
from kinetree.description.records import RobotDescription


def read_mjcf(
    path: str | PathLike[str], *, folders: Sequence[str | PathLike[str]] = ()
) -> RobotDescription:
    """The robot of an MJCF file, with the constants that MuJoCo compiles.

    Hinges become revolute, slides prismatic, balls spherical and free joints free; a body with
    several joints hangs on massless links called "body/joint". A body without name is "#<id>", a
    joint without name "#j<id>". The base is the world. Gravity is that of the file's <option>.

    Nothing but the file and what it includes is opened, and includes only from the file's own
    folder (links followed). Mesh files, from the same folder, are opened where a body has no other
    inertia; no other asset ever is.

    Args:
        path: the MJCF file.
        folders: further folders that includes and meshes may lie in, for files that are trusted.
    """
    import_mujoco()
    nodes, files = read_document(path, folders)
    check_nodes(nodes)
    meshed = compile_with_meshes(nodes, files)
    model = meshed.compiled.model
    links, joints = links_and_joints(meshed)
    return RobotDescription(
        name=nodes[0].attributes.get("model", "robot"),
        links=links,
        joints=joints,
        frames=frames(model, {link.name for link in links}),
        gravity=tuple(float(x) for x in array(model.opt.gravity, (3,), "gravity of <option>")),
        notes=notes_of(meshed.compiled, nodes),
        warnings=warnings_of(meshed, nodes),
        meshes=meshes(meshed),
    )
