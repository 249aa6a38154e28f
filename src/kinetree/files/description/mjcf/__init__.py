"""MJCF files -> records, through MuJoCo's own compiler, which decides the meaning of a file.

`document` puts the file together and takes all names of files out of it; `compile` has MuJoCo
compile it, with the mesh files that an inertia needs; `bodies`, `forces`, `equality`, `collisions`
and `notes` make the records.
"""

from kinetree.core.arrays import array
from kinetree.files.description.mjcf.bodies import frames, links_and_joints
from kinetree.files.description.mjcf.collisions import read_collisions
from kinetree.files.description.mjcf.compile import compile_file
from kinetree.files.description.mjcf.equality import Equality
from kinetree.files.description.mjcf.forces import Forces
from kinetree.files.description.mjcf.notes import notes_of, warnings_of
from kinetree.files.description.records import RobotDescription
from kinetree.files.description.source import RobotFile


def read_mjcf(file: RobotFile) -> RobotDescription:
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

    `folders` are further folders that includes, attached models and meshes may lie in, for files
    that are trusted. With contacts, the geoms that touch where the file starts are listed, too.
    """
    compiled = compile_file(file)
    forces = Forces(compiled)
    links, joints = links_and_joints(compiled, forces)
    equality = Equality(compiled, forces, frames(compiled, links))
    gravity = array(compiled.model.opt.gravity, (3,), "gravity of <option>")
    return RobotDescription(
        name=compiled.document.nodes[0].attributes.get("model", "robot"),
        links=links,
        joints=joints,
        frames=tuple(equality.frames),
        gravity=(0.0, 0.0, 0.0) if compiled.disabled("GRAVITY") else tuple(map(float, gravity)),
        springs=forces.springs,
        actuators=forces.actuators,
        motors=forces.motors,
        notes=notes_of(compiled, forces, equality),
        warnings=warnings_of(compiled, forces, equality),
        constrained=equality.record,
        collisions=read_collisions(compiled, start=file.contacts == "file"),
    )
