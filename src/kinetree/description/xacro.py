"""Xacro -> URDF text, by the package xacrodoc (the extra `kinetree[xacro]`)."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kinetree.errors import ParseError
from kinetree.extras import need


def expand_xacro(
    path: str | os.PathLike[str],
    package_paths: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, str] | None = None,
) -> str:
    """URDF text of a xacro file.

    Xacro evaluates expressions and reads the files that it includes: expand only files you trust.

    Args:
        path: the .xacro file.
        package_paths: folders that hold packages, for $(find NAME).
        arguments: values of its <xacro:arg> elements.

    Raises:
        MissingPackageError: xacrodoc is not installed.
        ParseError: xacro cannot expand the file.
    """
    file = Path(path).name
    xacrodoc = need("xacrodoc", "xacro", f"{file} is a xacro file, which")
    try:
        xacrodoc.packages.update_package_cache(_packages(package_paths))
        document = xacrodoc.XacroDoc.from_file(
            os.fspath(path), subargs=dict(arguments or {}), resolve_packages=False
        )
        return document.to_urdf_string()
    except Exception as error:  # xacro evaluates expressions of the file: anything may come out
        reason = str(error) or type(error).__name__
        raise ParseError(
            f"{file}: xacro cannot expand the file: {reason}. If a package is not found, name the "
            "folder that holds it in folders= of kt.load (--folder on the command line)."
        ) from error


def _packages(package_paths: Sequence[str | os.PathLike[str]]) -> dict[str, Path]:
    """Packages by name: each folder of the paths, and the paths themselves."""
    found: dict[str, Path] = {}
    for root in map(Path, package_paths):
        if root.is_dir():
            found[root.resolve().name] = root
            found |= {folder.name: folder for folder in root.iterdir() if folder.is_dir()}
    return found
