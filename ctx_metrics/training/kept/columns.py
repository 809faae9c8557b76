"""Numbers of texts on disk (metrics' scores, sentence vectors), so that a second training need not compute them again."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...notices import notice
from ..digest import digest
from .files import MEND, read_kept, write_kept


class FeatureCache:
    """Arrays in one .npy file each, named by what they were computed of, with a checksum behind them.

    folder    where the files lie, made if it is not there; None keeps nothing

    Raises InputError for a folder that cannot be made.
    """

    def __init__(self, folder: Path | None):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._unusable(error) from error

    def columns(self, signature: str, texts_key: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """What `compute` gives, from the folder where it is there already, else computed and kept there.

        A damaged file is computed again, with a notice.

        signature    all that the numbers depend on beside the texts: settings, versions, number format
        texts_key    of all texts, by texts_key()
        compute      gives an array of numbers, not of objects

        Raises InputError where the folder cannot be read or written, and what `compute` raises.
        """
        if self.folder is None:
            return compute()
        path = self.folder / f"{digest([signature, texts_key, 'checksum'])}.npy"
        try:
            content = read_kept(path)
            if content is not None:
                return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        except ValueError:  # none of ours, or empty
            content = None
        except FileNotFoundError:
            content = b""
        except OSError as error:
            raise self._unusable(error) from error
        if content is None:
            notice(f"{path}: the file is damaged; what it held is computed again")
        values, written = compute(), io.BytesIO()
        np.save(written, values, allow_pickle=False)
        write_kept(path, written.getvalue())
        return values

    def _unusable(self, error: OSError) -> InputError:
        return InputError(f"cannot use {self.folder} as feature cache: {error.strerror or error}{MEND}")


def texts_key(streams: Sequence[Sequence[str | None] | None]) -> str:
    """64 hex digits, equal for equal streams of texts alone; None is a missing stream, or a missing text of one.

    >>> texts_key([["a", "b"]]) == texts_key([["a"], ["b"]]), texts_key([[None]]) == texts_key([["None"]])
    (False, False)
    """
    return digest(digest(stream) if stream is not None else None for stream in streams)
