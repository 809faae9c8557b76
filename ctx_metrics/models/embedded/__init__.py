"""The models that the package contains, one folder each."""

from pathlib import Path

FOLDER = Path(__file__).parent
