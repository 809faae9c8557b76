"""Memory: the models that a process has loaded, how to free them, and the error when memory runs out.

Importing this module does not import torch.
"""

import gc
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar, Union, runtime_checkable

from ..errors import ResourceError, lacks_memory, memory_fix, memory_words

if TYPE_CHECKING:
    import torch


class LoadedModel(Protocol):
    def is_current(self) -> bool:
        """Whether the files that it was loaded from still have the same hashes."""


@runtime_checkable
class Reads(Protocol):
    def forget_texts(self) -> None:
        """Drop all readouts kept so far."""


Model = TypeVar("Model", bound=LoadedModel)


class LoadedModels(Generic[Model]):
    """The loaded models of one kind, by their place: name or folder, and settings.

    A model whose files have changed is not returned again, but replaced by a newly loaded one.
    """

    _kinds: ClassVar["list[LoadedModels]"] = []

    def __init__(self):
        self._models: dict[Hashable, Model] = {}
        self._kinds.append(self)

    def get(self, place: Hashable, load: Callable[[], Model]) -> Model:
        model = self._models.get(place)
        if model is None or not model.is_current():
            self._models.pop(place, None)  # freed before the new one takes memory
            del model
            self._models[place] = load()
        return self._models[place]

    @classmethod
    def all_models(cls) -> list[LoadedModel]:
        return [model for kind in cls._kinds for model in kind._models.values()]

    @classmethod
    def clear_all(cls) -> None:
        for kind in cls._kinds:
            kind._models.clear()


def forget_texts() -> None:
    """Make the loaded models forget the texts that they have read. Scores are then those of a fresh process.

    Results that were kept from earlier texts may have been computed in other batches, which round differently.
    """
    for model in LoadedModels.all_models():
        if isinstance(model, Reads):
            model.forget_texts()


def release() -> None:
    """Free the models that this process has loaded, and their cached results.

    Metrics share a model's weights, hidden states and pair scores, so models stay in memory until the process ends. This
    function frees them, except those of metrics that you still hold. A new metric loads its model again.
    """
    LoadedModels.clear_all()
    gc.collect()
    if "torch" in sys.modules:
        from .device import empty_caches

        empty_caches()


@contextmanager
def memory_for(what: str, device: Union[str, "torch.device"], fix: str | None = None) -> Iterator[None]:
    """Turn an out-of-memory error in the block into a ResourceError that names the device, the need for memory, and a fix.

    what      what needs the memory, such as "the weights of NAME"
    fix    what to do if a GPU runs out of memory; None: one that helps with any model
    """
    try:
        yield
    except RuntimeError as error:
        check_memory(error, what, device, fix)
        raise


def check_memory(error: RuntimeError, what: str, device: Union[str, "torch.device"], fix: str | None = None) -> None:
    if lacks_memory(error):
        from .device import resolve_device

        raise ResourceError(
            f"device {resolve_device(str(device))} has too little memory for {what}; "
            f"{memory_fix(error, fix)} ({memory_words(error)})"
        ) from error
