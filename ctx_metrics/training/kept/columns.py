"""A disk cache of numbers computed from texts (metrics' scores, sentence vectors), for reuse by other trainings."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...notices import notice
from ..digest import digest
from .files import MEND, read_kept, write_kept


class FeatureCache:
    """Caches each array in a .npy file that is named by a digest of its inputs and ends with a checksum.

    folder    folder of the files, created if it does not exist; None: no cache

    Raises InputError if the folder cannot be created.
    """

    def __init__(self, folder: Path | None):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._unusable(error) from error

    def columns(self, signature: str, texts_key: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the result of `compute`, from the cache if it is there; otherwise compute and store it.

        A damaged file is computed again, with a notice.

        signature    everything that the numbers depend on besides the texts: settings, versions, number format
        texts_key    key of all texts, from texts_key()
        compute      returns an array of numbers, not of objects

        Raises InputError if the folder cannot be read or written, and any error of `compute`.
        """
        if self.folder is None:
            return compute()
        path = self.folder / f"{digest([signature, texts_key, 'checksum'])}.npy"
        try:
            content = read_kept(path)
            if content is not None:
                return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        except ValueError:  # not a file of this cache, or an empty one
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
    """Return 64 hex digits that are equal only for equal streams of texts; None is a missing stream or a missing text.

    >>> texts_key([["a", "b"]]) == texts_key([["a"], ["b"]]), texts_key([[None]]) == texts_key([["None"]])
    (False, False)
    """
    return digest(digest(stream) if stream is not None else None for stream in streams)
