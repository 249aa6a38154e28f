"""How fast kinetree is beside its peers: `python -m benchmarks.run` measures and writes a record."""
