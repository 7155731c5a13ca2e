"""What the tests share."""

import pytest

from server import Server


@pytest.fixture
def data_dir(tmp_path):
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def no_server_is_left():
    """Ends what a failed test left running."""
    yield
    for server in Server.running.copy():
        server.kill()
