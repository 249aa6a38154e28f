"""One process that runs the program for all tests, and one folder for the tests of a file."""

import pytest
from cli_program import Program, Server


@pytest.fixture(scope="session")
def server():
    found = Server()
    yield found
    found.close()


@pytest.fixture(scope="module")
def program(tmp_path_factory, server):
    return Program(tmp_path_factory.mktemp("cli"), server)


@pytest.fixture(scope="module")
def with_own_cache(tmp_path_factory, server):
    """The program with a cache of its own, for tests that look at it or clear it."""
    folder = tmp_path_factory.mktemp("cli")
    return Program(folder, server, folder / "cache")
