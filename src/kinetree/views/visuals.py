"""Visuals: the shapes, meshes and colours that a URDF, MJCF or SDF file gives its links.

Dynamics do not need them, so the model does not keep them and the file is read again. A visual that
cannot be drawn is left out with a remark.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError, ParseError
from kinetree.files.description.element import Part
from kinetree.files.description.findings import Findings
from kinetree.files.description.meshes import MeshFolder
from kinetree.files.description.mjcf.bodies import mesh_geoms
from kinetree.files.description.mjcf.compile import compile_file
from kinetree.files.description.sdf import link_frames
from kinetree.files.description.sdf.elements import shape_pose
from kinetree.files.description.sdf.format import SDF as SDF_FORMAT
from kinetree.files.description.source import RobotFile, path_text
from kinetree.files.description.sources import own_package
from kinetree.files.description.urdf import URDF, origin_pose
from kinetree.files.description.xacro import expand_xacro
from kinetree.files.description.xml import Element, parse_xml, show
from kinetree.files.loading import MJCF, SDF, root_tag
from kinetree.model import Model
from kinetree.robot import Robot
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import from_quaternion
from kinetree.views.shapes import BODY, Colour, Shape, TriangleMesh

MAX_VISUALS = 5000
MAX_COLOURS = 64  # of one mesh; further ones get the last of them
COLLISION_GROUP = 3  # MuJoCo's viewer hides geoms of groups 3 and up, usually collision shapes


@dataclass(frozen=True, eq=False)
class Visual:
    """One visual of a file: a shape in the frame of link `link`; kind and size as in Shape.

    path: of a mesh, as written in the file; `size` is then the scale along x, y, z.
    painted: whether colours in the mesh's own file count before `colour`.
    """

    link: str
    kind: str
    T: Array
    size: tuple[float, ...]
    colour: Colour = BODY
    path: str = ""
    mesh: TriangleMesh | None = None
    painted: bool = False


@dataclass(frozen=True)
class VisualSource:
    """A robot's file, or the text of one, with the options that it was loaded with.

    Args:
        file: the file with its options.
        folder: the only folder that meshes are read from; None: the ROS package or repository that
            the file lies in, or else its folder; for a text the first of its folders.
    """

    file: RobotFile
    folder: Path | None = None

    @property
    def path(self) -> Path:
        """The file; only a name if there is a text."""
        return Path(path_text(self.file.path))

    @property
    def mesh_folder(self) -> Path | None:
        """The only folder that meshes are read from; None for a text without folders."""
        if self.folder is not None or self.file.text is not None:
            return self.folder or next(map(Path, self.file.folders), None)
        return own_package(Path(os.path.abspath(self.path)).parent)

    @property
    def meshes(self) -> MeshFolder:
        """The meshes of that folder, by the paths of the file."""
        chosen = self.mesh_folder
        if chosen is None:
            raise InputError(
                "has no folder: the robot is from a text. Name the folder of its meshes"
            )
        return MeshFolder(self.path.parent if self.file.text is None else chosen, chosen)

    def visuals(self) -> "Iterator[Visual]":
        """Visuals by the format of the file or text, without their meshes."""
        root, ending = root_tag(self.file.text or ""), self.path.suffix.lower()
        if root == "mujoco" or ending in MJCF:
            return mjcf_visuals(self)
        if root == "sdf" or ending in SDF:
            return sdf_visuals(self)
        return urdf_visuals(self)


def visual_source(
    robot: Robot | Model,
    source: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> VisualSource | None:
    """The file of a robot, read with the options of its loading, or another one; None: no file."""
    report = None if isinstance(robot, Model) else robot.report
    meshes = None if folder is None else Path(path_text(folder))
    file = None if source is None else Path(path_text(source))
    if report is not None and file in (None, report.source):
        return VisualSource(report.file, meshes)
    return None if file is None else VisualSource(RobotFile(file), meshes)


def read_visuals(source: VisualSource) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
    """Visuals of a URDF, MJCF or SDF file with their meshes, and remarks about those left out."""
    chosen = source.mesh_folder
    if chosen is not None and not chosen.is_dir():
        raise InputError(f"folder is {str(chosen)!r}; expected an existing folder with meshes.")
    listed = list(source.visuals())
    meshes = None if chosen is None else source.meshes
    visuals: list[Visual] = []
    pieces: Pieces = {}
    remarks: dict[str, None] = {}  # an ordered set
    for visual in listed[:MAX_VISUALS]:
        try:
            if visual.kind == "mesh":
                visual = _with_mesh(visual, meshes or source.meshes)
            visuals += _by_colour(visual, pieces)
        except InputError as error:
            remarks[f"mesh {visual.path[:200]!r} {error}"] = None
    if len(listed) > MAX_VISUALS:
        remarks[f"the file has {len(listed)} visuals; the first {MAX_VISUALS} are drawn"] = None
    return tuple(visuals), tuple(remarks)


def missing_meshes(source: VisualSource) -> tuple[str, ...]:
    """Mesh files of the visuals that cannot be found, as the file names them; none is read."""
    missing = dict[str, None]()  # an ordered set
    for path in (x.path for x in source.visuals() if x.kind == "mesh"):
        try:
            source.meshes.find(path)
        except InputError:
            missing[path] = None
    return tuple(missing)


def _with_mesh(visual: Visual, meshes: MeshFolder) -> Visual:
    mesh, scale = meshes.load(visual.path), np.array(visual.size)
    if np.any(scale != 1):
        # a mirror image turns triangles inside out; reversing their corners turns them back
        triangles = mesh.triangles if scale.prod() > 0 else mesh.triangles[:, ::-1]
        mesh = TriangleMesh(mesh.vertices * scale, triangles, mesh.colours)
    return replace(visual, mesh=mesh)


# pieces of one colour of a mesh, by the identity of the mesh, which the entry keeps alive
Pieces = dict[int, tuple[TriangleMesh, list[tuple[TriangleMesh, Colour | None]]]]


def _by_colour(visual: Visual, pieces: Pieces) -> Iterator[Visual]:
    """A mesh with several colours as one visual for each colour; others as they are.

    pieces: of meshes that were seen before, so that visuals of one file share them.
    """
    mesh = visual.mesh
    if mesh is None or mesh.colours is None or not visual.painted:
        yield visual
        return
    if id(mesh) not in pieces:
        pieces[id(mesh)] = mesh, list(_pieces(mesh, mesh.colours))
    for piece, colour in pieces[id(mesh)][1]:
        yield replace(visual, mesh=piece, colour=colour or visual.colour)


def _pieces(mesh: TriangleMesh, colours: Array) -> Iterator[tuple[TriangleMesh, Colour | None]]:
    """Triangles of one colour each; None for those without a colour of their own."""
    distinct, group = np.unique(colours, axis=0, return_inverse=True)
    group = np.minimum(group.ravel(), MAX_COLOURS - 1)
    for k, rgb in enumerate(distinct[:MAX_COLOURS]):
        used, triangles = np.unique(mesh.triangles[group == k], return_inverse=True)
        r, g, b = rgb.tolist()
        piece = TriangleMesh(mesh.vertices[used], triangles.reshape(-1, 3))
        yield piece, None if r < 0 else (r, g, b)


def visual_shapes(model: Model, visuals: tuple[Visual, ...]) -> Iterator[Shape]:
    """Visuals as shapes of the model's links; a link merged at a fixed joint is a frame there."""
    for visual in visuals:
        frame = model.frames.get(visual.link)
        if frame is None:  # the link was removed from the model
            continue
        T = np.asarray(frame.T_if, float) @ visual.T
        size = () if visual.kind == "mesh" else visual.size
        yield Shape(
            visual.kind, "visual", frame.link, T, size, visual.colour, visual.link, visual.mesh
        )


def urdf_visuals(source: VisualSource) -> Iterator[Visual]:
    """Visuals of all links of a URDF; a visual that cannot be read is left out.

    Packages of a xacro file are looked for in the folders, or else in that of the meshes.
    """
    file, text = source.file, source.file.text
    if source.path.suffix.lower() == ".xacro" or (text is not None and "<xacro:" in text):
        places = file.folders or _one(source.mesh_folder)
        root, _ = expand_xacro(replace(file, folders=places), Findings())
    else:
        root = parse_xml(file.content(), file.name)
    colours = {m.attributes.get("name", ""): _rgba(m) for m in root.all("material")}
    for link in root.all("link"):
        name = link.attributes.get("name", "")
        for element in link.all("visual"):
            visual = Part(element, f"visual of link {show(name)}", Findings(), URDF)
            colour = _material_colour(element, colours)
            yield from _visuals(visual, name, origin_pose, colour, painted=True)


def _visuals(
    part: Part, link: str, place: Callable[[Part], Array], colour: Colour, painted: bool
) -> Iterator[Visual]:
    """The shapes of a visual; none if it cannot be read."""
    try:
        T = np.asarray(place(part), float)
        for kind, size, path in part.shapes():
            if kind == "mesh":
                yield Visual(link, kind, T, size, colour, path, painted=painted)
            elif size:
                yield Visual(link, kind, T, size, colour)
    except ParseError:
        return


def _material_colour(element: Element, colours: dict[str, Colour | None]) -> Colour:
    """Colour of a visual's own material, or of the robot's material of that name."""
    for material in element.all("material"):
        colour = _rgba(material) or colours.get(material.attributes.get("name", ""))
        if colour is not None:
            return colour
    return BODY


def _rgba(material: Element) -> Colour | None:
    for colour in material.all("color"):
        try:
            r, g, b, _ = Part(colour, "material", Findings(), URDF).numbers("rgba", 4)
        except ParseError:
            continue
        return _colour(r, g, b)
    return None


def sdf_visuals(source: VisualSource) -> Iterator[Visual]:
    """Visuals of all links of an SDF robot; a visual that cannot be read is left out."""
    for frame in link_frames(source.file):
        for element in frame.element.all("visual"):
            visual = Part(element, f"visual of link {show(frame.name)}", Findings(), SDF_FORMAT)
            painted = not element.all("material")  # a material of the visual replaces the mesh's
            place = partial(shape_pose, frame=frame)
            yield from _visuals(visual, frame.name, place, _diffuse(element), painted)


def _diffuse(element: Element) -> Colour:
    """Colour of the material of an SDF visual."""
    for colour in (x for material in element.all("material") for x in material.all("diffuse")):
        try:
            r, g, b, _ = Part(colour, "material", Findings(), SDF_FORMAT).own_numbers(4)
        except ParseError:
            continue
        return _colour(r, g, b)
    return BODY


def mjcf_visuals(source: VisualSource) -> Iterator[Visual]:
    """Visuals of an MJCF file: primitives and meshes of its geoms, except planes and height fields.

    Files that it includes are also looked for in the folder of the meshes.
    """
    compiled = compile_file(replace(source.file, folders=_one(source.mesh_folder)))
    model, types, bodies = compiled.model, compiled.mujoco.mjtGeom, compiled.body_names
    for g in range(model.ngeom):
        drawn = primitive(model, g, types)
        if drawn is None or int(model.geom_group[g]) >= COLLISION_GROUP:
            continue
        kind, size = drawn
        T = pose(from_quaternion(model.geom_quat[g]), np.array(model.geom_pos[g]))
        link = bodies[int(model.geom_bodyid[g])]
        yield Visual(link, kind, T, size, _geom_colour(model, g))
    geoms = list(mesh_geoms(compiled).items())
    for g, mesh in [x for x in geoms if not x[1].touches] or geoms:
        colour = _geom_colour(model, g)
        yield Visual(mesh.link, "mesh", np.asarray(mesh.T, float), mesh.scale, colour, mesh.path)


def _one(folder: Path | None) -> tuple[Path, ...]:
    return () if folder is None else (folder,)


def primitive(model: Any, g: int, types: Any) -> tuple[str, tuple[float, ...]] | None:
    """Kind and size of geom g as in Shape, from MuJoCo's half lengths; None for other kinds."""
    a, b, c = (float(x) for x in model.geom_size[g])
    return {
        int(types.mjGEOM_SPHERE): ("sphere", (a,)),
        int(types.mjGEOM_CAPSULE): ("capsule", (a, 2 * b)),
        int(types.mjGEOM_ELLIPSOID): ("ellipsoid", (a, b, c)),
        int(types.mjGEOM_CYLINDER): ("cylinder", (a, 2 * b)),
        int(types.mjGEOM_BOX): ("box", (2 * a, 2 * b, 2 * c)),
    }.get(int(model.geom_type[g]))


def _geom_colour(model: Any, g: int) -> Colour:
    material = int(model.geom_matid[g])
    rgba = model.geom_rgba[g] if material < 0 else model.mat_rgba[material]
    return _colour(*map(float, rgba[:3]))


def _colour(*rgb: float) -> Colour:
    r, g, b = (int(255 * min(max(x, 0.0), 1.0)) for x in rgb)
    return r, g, b
