"""The models in the package, a folder each."""

from pathlib import Path

FOLDER = Path(__file__).parent
# source languages of the judgements that `unified` learned from, as its README.md has them
UNIFIED_SOURCES = frozenset("cs de en et fi fr gu kk lt ne ro ru si tr zh".split())
