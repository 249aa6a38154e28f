"""Studies of many samples: draws of parameters, rollouts and envelopes on any executor."""

from kinetree.studies.draws import Anywhere, Choice, Grid, Noise, Normal, Spread, Uniform
from kinetree.studies.results import Results, read
from kinetree.studies.study import Options, envelope, rollouts

__all__ = [
    "Anywhere",
    "Choice",
    "Grid",
    "Noise",
    "Normal",
    "Options",
    "Results",
    "Spread",
    "Uniform",
    "envelope",
    "read",
    "rollouts",
]
