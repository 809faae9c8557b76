"""Tables of pandas, which need not be installed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import pandas


def frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> "pandas.DataFrame":
    try:
        import pandas
    except ImportError as error:
        raise InputError(
            "to_pandas needs pandas, which is not installed", fix="install it with: pip install pandas"
        ) from error
    return pandas.DataFrame(rows, columns=columns)
