"""Numbers of texts on disk (metrics' scores, sentence vectors), so that a second training need not compute them again."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

import numpy as np

from ..errors import InputError
from ..notices import notice
from ..writing import replacing


class FeatureCache:
    """Arrays in one .npy file each, named by what they were computed of.

    folder    where the files lie, made if it is not there; None keeps nothing

    Raises InputError for a folder that cannot be made.
    """

    def __init__(self, folder: Optional[Path]):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._unusable(error) from error

    def columns(self, signature: str, texts_key: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """What `compute` gives, from the folder where it is there already, else computed and kept there.

        A file that is damaged is computed again, which is said.

        signature    all that the numbers depend on beside the texts: settings, versions, number format
        texts_key    of all texts, by texts_key()
        compute      gives an array of numbers, not of objects

        Raises InputError where the folder cannot be read or written, and what `compute` raises.
        """
        if self.folder is None:
            return compute()
        path = self.folder / f"{_sha256([signature, texts_key])}.npy"
        try:
            with open(path, "rb") as file:
                found = np.lib.format.read_array(file, allow_pickle=False)
                if not file.read(1):
                    return found
        except FileNotFoundError:
            return self._keep(path, compute())
        except OSError as error:
            raise self._unusable(error) from error
        except Exception:  # whatever numpy makes of a damaged header or of too few numbers
            pass
        notice(f"{path}: the file is damaged; what it held is computed again")
        return self._keep(path, compute())

    def _keep(self, path: Path, values: np.ndarray) -> np.ndarray:
        try:
            with replacing(str(path)) as beside, open(beside, "wb") as file:
                np.save(file, values, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unusable(error) from error
        return values

    def _unusable(self, error: OSError) -> InputError:
        return InputError(
            f"cannot use {self.folder} as feature cache: {error.strerror or error}; name another --cache folder"
        )


def texts_key(streams: Sequence[Optional[Sequence[Optional[str]]]]) -> str:
    """64 hex digits, equal for equal streams of texts alone; None is a missing stream, or a missing text of one.

    >>> texts_key([["a", "b"]]) == texts_key([["a"], ["b"]]), texts_key([[None]]) == texts_key([["None"]])
    (False, False)
    """
    return _sha256(_sha256(stream) if stream is not None else None for stream in streams)


def _sha256(texts) -> str:
    digest = hashlib.sha256()
    for text in texts:
        data = b"" if text is None else text.encode("utf-8", "surrogatepass")
        digest.update((-1 if text is None else len(data)).to_bytes(8, "little", signed=True) + data)
    return digest.hexdigest()
