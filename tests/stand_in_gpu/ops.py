"""What the operations of torch do on a stand-in card: where results lie, what cannot be mixed, what makes the host wait."""

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .memory import CPU
from .queue import ALLOCATION, KERNEL, SYNCHRONISATION, TO_DEVICE

if TYPE_CHECKING:
    from . import StandInGpu

# the host reads a result, or its size depends on values
ALWAYS_WAIT = {
    *("item", "_local_scalar_dense", "is_nonzero", "equal", "allclose", "nonzero", "nonzero_numpy", "argwhere"),
    *("masked_select", "unique_dim", "unique_consecutive", "unique_dim_consecutive", "_unique", "_unique2"),
    "bincount",
}
INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"}
ATTRIBUTES = {"_has_compatible_shallow_copy_type"}  # which read no content
# they read lengths on the CPU, and give such
OF_PACKED = {"_pack_padded_sequence", "_pad_packed_sequence", "lstm", "gru", "rnn_tanh", "rnn_relu"}
COPIES_ONLY = {"cat", "stack"}  # which take no scalar of the CPU either
SIZED = {
    "zeros": 0,
    "ones": 0,
    "empty": 0,
    "full": 0,
    "new_zeros": 1,
    "new_ones": 1,
    "new_empty": 1,
}  # place of the shape


class Dispatch(TorchDispatchMode):
    """Sees every operation, also those of C++ functions and of autograd's backward."""

    def __init__(self, gpu: "StandInGpu"):
        super().__init__()
        self.gpu = gpu

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, changes = _described(func)
        given = tensors((args, kwargs))
        placing = self.gpu.placing
        if any(tensor.is_meta for tensor in given) or (placing is None and not self._on_cards(given)):
            return self._elsewhere(func, args, kwargs, given, placing)
        if name in ATTRIBUTES:
            return func(*args, **kwargs)
        if name == "copy_" and placing is None:
            return self._copied(func, args, kwargs)
        device = self._common(name, changes, args, given) if placing is None else placing
        if device.type == "cuda":
            self.gpu.start(device)
            self._refuse_if_too_large(name, args, kwargs, device)
        self._synchronise(name, args, kwargs)
        results = func(*args, **kwargs)
        made = tensors(results)
        old = {tensor.untyped_storage()._cdata for tensor in given}
        new = [tensor for tensor in made if not tensor.is_meta and tensor.untyped_storage()._cdata not in old]
        for tensor in new:
            lengths = name in ("_pack_padded_sequence", "_pad_packed_sequence") and tensor is made[1]
            self._take(name, tensor, CPU if lengths else device)
        if (
            device.type == "cuda" and (changes or new) and (placing is None or not given)
        ):  # neither a view nor a transfer
            self.gpu.queue.add(KERNEL, name, device, made[0] if made else None)
        return results

    def _on_cards(self, given: list[torch.Tensor]) -> bool:
        return any(self.gpu.memory.device_of(tensor).type == "cuda" for tensor in given)

    def _elsewhere(self, func, args, kwargs, given: list[torch.Tensor], placing: torch.device | None) -> Any:
        results = func(*args, **kwargs)
        memory = self.gpu.memory
        # a C++ function makes something, wherever its own input lies, or goes on with that
        if placing is None and (not given or any(memory.floats(tensor) for tensor in given)):
            for made in tensors(results):
                if not made.is_meta and memory.at(made) is None:
                    memory.put(made, None)
        return results

    def _common(self, name: str, changes: bool, args, given: list[torch.Tensor]) -> torch.device:
        """The card of an operation; raises as CUDA does where devices mix."""
        indices = {id(index) for index in args[1]} if name in INDEXED else set()
        written = id(args[0]) if changes and args else None
        found: dict[torch.device, None] = {}
        floating = []
        for tensor in given:
            place = self.gpu.memory.at(tensor)
            if place is not None and place.device is None:
                floating.append(tensor)
                continue
            device = CPU if place is None else place.device
            scalar = tensor.dim() == 0 and name not in COPIES_ONLY and id(tensor) != written
            of_lengths = name in OF_PACKED and tensor.dtype == torch.int64 and tensor.dim() == 1
            if device != CPU or not (scalar or of_lengths or id(tensor) in indices):
                found[device] = None
        if len(found) > 1:
            one, other = sorted(map(str, found))[:2]
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {other} and {one}! "
                f"(when checking argument in method wrapper_CUDA_{name})"
            )
        device = next(iter(found), CPU)
        for tensor in floating:
            if tensor.dim():
                self._take(name, tensor, device)
        return device

    def _take(self, name: str, tensor: torch.Tensor, device: torch.device) -> None:
        if self.gpu.memory.put(tensor, device):
            self.gpu.queue.add(ALLOCATION, name, device, tensor)

    def _synchronise(self, name: str, args, kwargs) -> None:
        """Note what makes the host wait."""
        gpu, first = self.gpu, next(iter(tensors(args)), None)
        device = None if first is None else gpu.memory.device_of(first)
        if name in INDEXED:
            masks = [index for index in args[1] if index is not None and index.dtype in (torch.bool, torch.uint8)]
            fills = name != "index" and len(masks) == 1 == len(args[1]) and args[2].numel() == 1  # is a masked_fill
            for index in args[1]:
                if index is not None and gpu.memory.device_of(index) == CPU and device != CPU:
                    gpu.queue.add(TO_DEVICE, name, device, index, blocks=True)
            if masks and not fills and device != CPU:
                gpu.queue.add(SYNCHRONISATION, f"{name} by a mask", device, blocks=True)
        elif device is None or device == CPU:
            return
        elif name in ALWAYS_WAIT or (len(args) == 1 and name in ("where", "one_hot")):
            gpu.queue.add(SYNCHRONISATION, name, device, blocks=True)
        elif name == "repeat_interleave" and _repeats_by_tensor(args) and kwargs.get("output_size") is None:
            gpu.queue.add(SYNCHRONISATION, "repeat_interleave without output_size", device, blocks=True)
        elif name == "tensor_split" and len(args) > 1 and isinstance(args[1], torch.Tensor):
            gpu.queue.add(SYNCHRONISATION, name, device, blocks=True)

    def _copied(self, func, args, kwargs) -> Any:
        """copy_, which is the one operation that devices may mix in."""
        gpu, (target, source) = self.gpu, args[:2]
        non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        for tensor, other in ((target, source), (source, target)):
            if gpu.memory.floats(tensor):
                self._take("copy_", tensor, gpu.memory.device_of(other))
        to, of = gpu.memory.device_of(target), gpu.memory.device_of(source)
        for device in {to, of} - {CPU}:
            gpu.start(device)
        result = func(*args, **kwargs)
        if to == of:
            gpu.queue.add(KERNEL, "copy_", to, target)
        else:
            gpu.transferred("copy_", source, target, of, to, non_blocking)
        return result

    def _refuse_if_too_large(self, name: str, args, kwargs, device: torch.device) -> None:
        """Fail before the CPU makes what the card could not hold."""
        if name in SIZED and self.gpu.memory.capacity is not None:
            dtype = kwargs.get("dtype") or next((each.dtype for each in tensors(args)), torch.get_default_dtype())
            self.gpu.memory.check(math.prod(args[SIZED[name]]) * dtype.itemsize, device)


def tensors(nested: Any) -> list[torch.Tensor]:
    """The tensors in lists, tuples and dictionaries."""
    if isinstance(nested, torch.Tensor):
        return [nested]
    if isinstance(nested, dict):
        nested = nested.values()
    elif not isinstance(nested, list | tuple):
        return []
    return [tensor for each in nested for tensor in tensors(each)]


@cache
def _described(func) -> tuple[str, bool]:
    """An operation's name, and whether it changes what it is given."""
    return func._schema.name.partition("::")[2], func._schema.is_mutable


def _repeats_by_tensor(args) -> bool:
    return isinstance(args[1] if len(args) > 1 else args[0], torch.Tensor)
