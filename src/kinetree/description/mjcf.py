"""MJCF files through MuJoCo's own compiler: MuJoCo decides what a file means."""

from collections.abc import Sequence
from os import PathLike

from kinetree.base.arrays import array
from kinetree.description.mjcf_checks import check_keyframes, check_nodes
from kinetree.description.mjcf_compile import Compiled, import_mujoco
from kinetree.description.mjcf_drives import disabled
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

    MuJoCo attaches other models (<asset><model/>, <attach/>) itself; prefixes are part of names.
    Gravity is 0 where <flag gravity="disable"/> says so; frictionloss and damping likewise.

    Nothing but the file, what it includes and the models that it attaches is opened, and these only
    from the file's own folder (links followed). Mesh files, from the same folder, are opened where
    a moving body has no other inertia; no other asset ever is.

    Args:
        path: the MJCF file.
        folders: further folders that includes, attached models and meshes may lie in, for files
            that are trusted.
    """
    import_mujoco()
    nodes, files = read_document(path, folders)
    check_nodes(nodes)
    meshed = compile_with_meshes(nodes, files)
    model = meshed.compiled.model
    check_keyframes(nodes, model.nq)
    links, joints = links_and_joints(meshed)
    return RobotDescription(
        name=nodes[0].attributes.get("model", "robot"),
        links=links,
        joints=joints,
        frames=frames(model, {link.name for link in links}),
        gravity=gravity_of(meshed.compiled),
        notes=notes_of(meshed.compiled, nodes),
        warnings=warnings_of(meshed, nodes),
        meshes=meshes(meshed),
    )


def gravity_of(compiled: Compiled) -> tuple[float, ...]:
    """Gravity of <option>, zero where a flag disables it."""
    if disabled(compiled.model, "GRAVITY"):
        return 0.0, 0.0, 0.0
    return tuple(float(x) for x in array(compiled.model.opt.gravity, (3,), "gravity of <option>"))
