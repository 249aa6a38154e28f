"""kinetree: robot dynamics, the Newton-Euler equations of chains and trees in textbook form."""

import importlib
import types
import typing

from kinetree.present import display as _display

if typing.TYPE_CHECKING:
    from kinetree import (
        constraints,
        contacts,
        controllers,
        convert,
        dynamics,
        errors,
        friction,
        identify,
        joints,
        kernels,
        motion,
        optimal,
        robots,
        simulate,
        spatial,
        studies,
        testing,
        views,
    )
    from kinetree.core.versions import __version__ as __version__
    from kinetree.engine.export import export
    from kinetree.files.loading import load, load_string
    from kinetree.linting import lint
    from kinetree.robot import Robot
    from kinetree.robot.builder import Builder
    from kinetree.symbols.robot import symbolic

__all__ = [
    "Builder",
    "Robot",
    "constraints",
    "contacts",
    "controllers",
    "convert",
    "dynamics",
    "errors",
    "export",
    "friction",
    "identify",
    "joints",
    "kernels",
    "lint",
    "load",
    "load_string",
    "motion",
    "optimal",
    "robots",
    "simulate",
    "spatial",
    "studies",
    "symbolic",
    "testing",
    "views",
]

# where the names live that are imported when first used, so that `import kinetree` stays quick
_LATER = {
    "__version__": "kinetree.core.versions",
    "Builder": "kinetree.robot.builder",
    "Robot": "kinetree.robot",
    "export": "kinetree.engine.export",
    "lint": "kinetree.linting",
    "load": "kinetree.files.loading",
    "load_string": "kinetree.files.loading",
    "symbolic": "kinetree.symbols.robot",
}

# functions of kinetree.views.notebook that show results, imported when a notebook first needs them
_DISPLAYS = {
    "animation": "animation_html",
    "animation_file": "save_animation",
    "robot": "robot_html",
    "trajectory": "trajectory_html",
}


def _display_later(function: str) -> "_display.Display":
    def show(*result: object) -> str:
        return getattr(importlib.import_module("kinetree.views.notebook"), function)(*result)

    return show


for _kind, _function in _DISPLAYS.items():
    _display.register(_kind, _display_later(_function))


def __getattr__(name: str) -> typing.Any:
    if name in _LATER:
        value = getattr(importlib.import_module(_LATER[name]), name)
    elif name in __all__:
        value = _module(name)
    else:
        from kinetree.core.foreign_names import UnknownAttributeError

        raise UnknownAttributeError("module 'kinetree'", name, _reachable)
    globals()[name] = value
    return value


def _module(name: str) -> types.ModuleType:
    """Import a public module."""
    return importlib.import_module(f"kinetree.{name}")


def _reachable() -> list[str]:
    """Public names, and those of the public modules with the module before them."""
    modules = [name for name in __all__ if name.islower() and name not in _LATER]
    inside = [
        f"{module}.{name}" for module in modules for name in getattr(_module(module), "__all__", ())
    ]
    return [*__all__, *inside]


def __dir__() -> list[str]:
    return list(__all__)
