"""A long study takes no more memory than a short one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


def grown(steps):
    """MB by which a process grew that streamed so many steps, beyond one that streamed a few."""
    script = Path(__file__).parent / "stream_rollouts.py"
    command = [sys.executable, "-W", "error", str(script), str(steps)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return float(re.search(r"grew by (\S+) MB", found.stdout).group(1))


def test_memory_does_not_grow_with_the_study():
    pytest.importorskip("pyarrow", reason="streaming to Parquet needs pyarrow")
    pytest.importorskip("resource", reason="the resident set is measured by POSIX's resource")
    # a row takes 64 bytes in the table: 1.5 million of them would add 96 MB, 0.5 million 32
    assert grown(1_500_000) < grown(500_000) + 32
