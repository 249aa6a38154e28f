"""A long study takes no more memory than a short one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "stream_rollouts.py"


def test_memory_does_not_grow_with_the_study():
    pytest.importorskip("pyarrow", reason="streaming to Parquet needs pyarrow")
    pytest.importorskip("resource", reason="the resident set is measured by POSIX's resource")
    command = [sys.executable, "-W", "error", str(SCRIPT), "1500000"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    grown = float(re.search(r"grew by (\S+) MB", found.stdout).group(1))
    # rows take 64 bytes: the million that a study of half a million lacks would add 64 MB
    assert grown < 48, found.stdout
