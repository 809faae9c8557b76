"""What several tests of trainings read."""

import pytest


@pytest.fixture
def put(tmp_path):
    """A function that writes a file and returns its path; cells are parted by |, lines are arguments."""

    def write(name, *lines):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line.replace("|", "\t") + "\n" for line in lines))
        return str(path)

    return write
