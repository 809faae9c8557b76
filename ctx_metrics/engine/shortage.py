"""One-line errors when a device runs out of memory. Importing this module does not import torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Union

from ..errors import ResourceError, lacks_memory, memory_remedy, memory_words

if TYPE_CHECKING:
    import torch


@contextmanager
def memory_for(what: str, device: Union[str, "torch.device"], remedy: str | None = None) -> Iterator[None]:
    """Turn an out-of-memory error in the block into a ResourceError that names the device, what needs memory, and a remedy.

    what      what needs the memory, such as "the weights of NAME"
    device    a torch device, or its name as in EngineOptions
    remedy    what to do if a GPU runs out of memory; None: the advice that helps with any model
    """
    try:
        yield
    except RuntimeError as error:
        if not lacks_memory(error):
            raise
        from .device import resolve_device

        raise ResourceError(
            f"device {resolve_device(str(device))} has too little memory for {what}; "
            f"{memory_remedy(error, remedy)} ({memory_words(error)})"
        ) from error
