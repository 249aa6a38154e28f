"""One folder and one cache of compiled code for all tests of a file."""

import pytest
from cli_program import Program


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    found = Program(tmp_path_factory.mktemp("cli"))
    yield found
    found.close()
