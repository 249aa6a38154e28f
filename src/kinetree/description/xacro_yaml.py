"""YAML files of xacro: plain data only, with the units that xacro adds."""

import math
from pathlib import Path
from typing import Any

from kinetree.base.extras import need
from kinetree.description.source import decode, read_bytes
from kinetree.description.xacro_values import Evaluator, ExpressionError, bounded

UNITS = {  # factor of the base unit: rad, m
    "radians": 1.0,
    "degrees": math.pi / 180.0,
    "meters": 1.0,
    "millimeters": 0.001,
    "foot": 0.3048,
    "inches": 0.0254,
}
YAML_SIZE = 4 * 2**20


def load_yaml(path: Path, evaluator: Evaluator) -> Any:
    """The data of a YAML file; !degrees, !millimeters and the like scale an expression.

    Raises:
        ExpressionError: the file is not YAML, or larger than any list of parameters.
        MissingPackageError: PyYAML is not installed.
    """
    yaml = need("yaml", "xacro", f"{path.name} is a YAML file, which")

    class Loader(yaml.SafeLoader):
        """A loader of its own: constructors added here are not seen elsewhere."""

    def constructor(factor: float) -> Any:
        def construct(loader: Any, node: Any) -> float:
            value = evaluator.value(str(loader.construct_scalar(node)), _no_names)
            return float(value) * factor

        return construct

    for unit, factor in UNITS.items():
        Loader.add_constructor(f"!{unit}", constructor(factor))
    text = decode(read_bytes(path, YAML_SIZE), path.name)
    try:
        return bounded(yaml.load(text, Loader))  # a subclass of SafeLoader: plain data only
    except (yaml.YAMLError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ExpressionError(f"{path.name} is not YAML that can be read: {reason[:300]}") from None


def _no_names(name: str) -> Any:
    raise KeyError(name)
