"""Studies of many samples on threads, processes, Ray or Dask: the same bits from all of them."""

from kinetree.parallel.draws import Anywhere, Choice, Grid, Noise, Normal, Spread, Uniform
from kinetree.parallel.model_text import model_text, read_model_text
from kinetree.parallel.results import Results, read
from kinetree.parallel.run import Options
from kinetree.parallel.schedule import StudyError
from kinetree.parallel.studies import bootstrap, envelope, rollouts, sweep

__all__ = [
    "Anywhere",
    "Choice",
    "Grid",
    "Noise",
    "Normal",
    "Options",
    "Results",
    "Spread",
    "StudyError",
    "Uniform",
    "bootstrap",
    "envelope",
    "model_text",
    "read",
    "read_model_text",
    "rollouts",
    "sweep",
]
