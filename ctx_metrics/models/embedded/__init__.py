"""The models that the package contains, one folder each."""

from pathlib import Path

FOLDER = Path(__file__).parent
# source languages of the judgements that `unified` was trained on, as listed in its README.md
UNIFIED_SOURCES = frozenset("cs de en et fi fr gu kk lt ne ro ru si tr zh".split())
