"""Folders in which the program runs."""

import pytest

from cli_program import Program


@pytest.fixture(scope="module")
def program(tmp_path_factory, server):
    return Program(tmp_path_factory.mktemp("cli"), server)


@pytest.fixture(scope="module")
def with_own_cache(tmp_path_factory, server):
    """The program with a cache of its own."""
    folder = tmp_path_factory.mktemp("cli")
    return Program(folder, server, folder / "cache")
