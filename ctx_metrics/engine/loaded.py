"""The models that a process has loaded, shared by its metrics, and how to free them."""

import gc
import sys
from collections.abc import Callable, Hashable
from typing import ClassVar, Generic, Protocol, TypeVar, runtime_checkable


class Loaded(Protocol):
    """A model that can tell whether its files have changed since it was loaded."""

    def is_current(self) -> bool:
        """Whether the files that it was loaded from still have the same hashes."""


@runtime_checkable
class Reads(Protocol):
    """A model that caches what it has read from texts."""

    def forget_texts(self) -> None:
        """Drop what was read from texts so far."""


Model = TypeVar("Model", bound=Loaded)


class LoadedModels(Generic[Model]):
    """The loaded models of one kind, by their place: name or folder, and settings.

    A model whose files have changed is not returned again, but replaced by a newly loaded one.
    """

    _kinds: ClassVar["list[LoadedModels]"] = []

    def __init__(self):
        self._models: dict[Hashable, Model] = {}
        self._kinds.append(self)

    def get(self, place: Hashable, load: Callable[[], Model]) -> Model:
        """The model of this place; `load` makes it unless it is already loaded and current."""
        model = self._models.get(place)
        if model is None or not model.is_current():
            self._models.pop(place, None)  # freed before the new one takes memory
            del model
            self._models[place] = load()
        return self._models[place]

    @classmethod
    def all_models(cls) -> list[Loaded]:
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
    empty_caches()


def empty_caches() -> None:
    """Free the GPU memory that torch keeps for later tensors; do nothing if torch is not imported or has no GPU."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()
