"""Work for which a device has too little memory ends with one line. Importing it does not import torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Union

from ..errors import ResourceError, lacks_memory, memory_remedy, memory_words

if TYPE_CHECKING:
    import torch


@contextmanager
def memory_for(what: str, device: Union[str, "torch.device"], remedy: str | None = None) -> Iterator[None]:
    """Turn a lack of memory in the block into a ResourceError that names the device, what needed the memory and the remedy.

    what      such as "the weights of NAME"
    device    or its name as EngineOptions has it
    remedy    what to do where that memory is a GPU's; None: what helps wherever a model is used
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
