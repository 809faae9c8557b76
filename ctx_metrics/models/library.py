"""Load checkpoints with the transformers library: safely, and without its output on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.checkpoint import opening_foreign, weight_files

if TYPE_CHECKING:
    from transformers.models.auto.auto_factory import _BaseAutoModelClass


def load_with(auto_class: "type[_BaseAutoModelClass]", folder: Path, says: str, **more: Any) -> tuple[Any, list[str]]:
    """Load a checkpoint with one of transformers' auto classes; also return the names of the weights that it lacks.

    says    the message about a folder that cannot be loaded, as in engine.opening

    No code in the folder is run: PyTorch files are read under weights_only. Raises ModelError if it cannot be loaded.
    """
    weight_files(folder)  # raises ModelError if there are none
    with opening_foreign(folder, says), silent():
        model, report = auto_class.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, output_loading_info=True, **more
        )
    return model, sorted(report["missing_keys"])


@contextmanager
def silent() -> Iterator[None]:
    """Turn off transformers' warnings and progress bars in the block; we raise or print what matters ourselves."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
