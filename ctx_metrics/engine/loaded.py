"""The models that a process has loaded, shared by its metrics, and how to free them."""

import gc
import sys
from collections.abc import Callable, Hashable
from typing import ClassVar, Generic, Protocol, TypeVar, runtime_checkable


class Loaded(Protocol):
    """A model that can tell whether it is still what its files hold."""

    def is_current(self) -> bool:
        """Whether the files that it was made of hold what they held then, by their hashes."""


@runtime_checkable
class Reads(Protocol):
    """A model that keeps what it has read of texts."""

    def forget_texts(self) -> None:
        """Keep nothing of the texts that were read so far."""


Model = TypeVar("Model", bound=Loaded)


class LoadedModels(Generic[Model]):
    """The models of one kind that are loaded, by their place: name or folder, and settings.

    A model whose files have changed since is not handed out again: the new one takes its place.
    """

    _kinds: ClassVar["list[LoadedModels]"] = []

    def __init__(self):
        self._models: dict[Hashable, Model] = {}
        self._kinds.append(self)

    def get(self, place: Hashable, load: Callable[[], Model]) -> Model:
        """The model of this place, made by `load` unless it is here and current."""
        model = self._models.get(place)
        if model is None or not model.is_current():
            self._models.pop(place, None)  # before the new one takes memory
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
    """Forget what the loaded models have read, and not the models: scores are then those of a process that has read nothing.

    What a text shares with one that was read before may come from another batch, which rounds differently.
    """
    for model in LoadedModels.all_models():
        if isinstance(model, Reads):
            model.forget_texts()


def release() -> None:
    """Free the models that this process has loaded, and their cached results.

    Metrics share a model's weights, the states of its texts and its scores of pairs, so models stay in memory until the
    process ends. This function frees them, except those of metrics that you still hold. A new metric loads its model again.
    """
    LoadedModels.clear_all()
    gc.collect()
    empty_caches()


def empty_caches() -> None:
    """Free the GPU memory that torch keeps for later tensors; nothing where torch was not imported or has no GPU."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()
