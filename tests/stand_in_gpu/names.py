"""The names of torch that Python code asks about devices, as a stand-in card answers them."""

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.attention import varlen
from torch.utils._device import _device_constructors

from . import varlen as plain
from .memory import CPU
from .queue import ALLOCATION, KERNEL, PINNED, SYNCHRONISATION, TO_DEVICE, TO_HOST, Event, Stream

if TYPE_CHECKING:
    from . import StandInGpu

Base = torch._C.TensorBase
FROM_DATA = ("tensor", "as_tensor", "asarray", "new_tensor")  # made on the CPU and copied
GIB = 2**30
_present: list["StandInGpu"] = []  # one at most


class Names:
    """Puts the names in place, and those of torch back."""

    def __init__(self, gpu: "StandInGpu"):
        self.gpu = gpu
        self._before: list[tuple[Any, str, Any]] = []

    def install(self) -> None:
        if _present:
            raise RuntimeError("there is a stand-in already")
        _present.append(self.gpu)
        constructors = _device_constructors()  # which keeps what it finds, so before any of them is replaced
        for name in sorted(vars(torch)):
            function = getattr(torch, name)
            if callable(function) and getattr(function, "__hash__", None) and function in constructors:
                self._set(torch, name, self._factory(function, name, like=False))
        for name in ("zeros", "ones", "empty", "full", "rand", "randn", "randint"):
            self._set(torch, f"{name}_like", self._factory(getattr(torch, f"{name}_like"), name, like=True))
        for name in ("new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided", "new_tensor"):
            self._set(torch.Tensor, name, self._factory(getattr(Base, name), name, like=True))
        for owner, names in ((torch.Tensor, self._of_tensors()), (torch.cuda, self._of_cuda())):
            for name, value in names.items():
                self._set(owner, name, value)
        self._set(torch, "autocast", _autocast_on_cpu(torch.autocast))
        self._set(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
        self._set(torch._C, "_group_tensors_by_device_and_dtype", self._grouped())
        self._set(varlen, "varlen_attn", self._varlen)
        reducers = ForkingPickler._extra_reducers
        for kind in (torch.Tensor, torch.nn.Parameter):
            if kind in reducers:
                self._set_item(reducers, kind, self._reduced(reducers[kind]))

    def remove(self) -> None:
        for restore in reversed(self._before):
            restore()
        self._before.clear()
        _present.clear()

    def _set(self, owner: Any, name: str, value: Any) -> None:
        if name in vars(owner):
            self._before.append(lambda before=vars(owner)[name]: setattr(owner, name, before))
        else:
            self._before.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def _set_item(self, owner: dict, key: Any, value: Any) -> None:
        self._before.append(lambda before=owner[key]: owner.__setitem__(key, before))
        owner[key] = value

    # what makes tensors

    def _factory(self, real: Callable, name: str, like: bool) -> Callable:
        """A function that makes tensors, on a device of its argument's choice."""
        gpu, of_data = self.gpu, name in FROM_DATA

        def make(*args, device=None, pin_memory=False, **kwargs):
            if device is not None and torch.device(device).type == "meta":
                return real(*args, device=device, **kwargs)
            source = args[-1] if of_data and args and isinstance(args[-1], torch.Tensor) else None
            if source is not None and gpu.memory.device_of(source) != CPU and name in ("as_tensor", "asarray"):
                return source.to(device, **kwargs)
            target = (None if like else CPU) if device is None else gpu.canonical(device)
            if device is not None:
                kwargs["device"] = CPU
            if target is not None and target.type == "cuda":
                gpu.start(target)
            with gpu.put_at(target):
                made = real(*args, **kwargs)
                if target is not None and target.type == "cuda" and gpu.memory.device_of(made) == CPU:
                    if gpu.memory.put(made, target):
                        gpu.queue.add(ALLOCATION, name, target, made)
                    if not of_data:
                        gpu.queue.add(KERNEL, name, target, made)
            if of_data and target is not None and target.type == "cuda":
                gpu.queue.add(TO_DEVICE, name, target, made, blocks=True)
            if pin_memory:
                self._pin(made, name)
            return made

        return make

    def _pin(self, tensor: torch.Tensor, name: str) -> None:
        self.gpu.memory.put(tensor, CPU, pinned=True)
        self.gpu.queue.add(PINNED, name, self.gpu.current, tensor)

    # tensors

    def _of_tensors(self) -> dict[str, Any]:
        gpu = self.gpu
        memory = gpu.memory
        real_device = Base.device.__get__

        def device(tensor):
            real = real_device(tensor)
            return real if real.type != "cpu" else memory.device_of(tensor)

        def on_card(tensor):
            return not tensor.is_meta and memory.device_of(tensor).type == "cuda"

        def to(tensor, *args, **kwargs):
            target, dtype, non_blocking, copy, rest = _parsed(args, kwargs)
            here = device(tensor)
            target = here if target is None else gpu.canonical(target)
            dtype = dtype or tensor.dtype
            if target.type == "meta" or here.type == "meta":
                return Base.to(tensor, *args, **kwargs)
            if target == here:
                return Base.to(tensor, dtype, copy=copy, **rest)
            for each in {here, target} - {CPU}:
                gpu.start(each)
            with gpu.put_at(target):
                moved = Base.to(tensor, dtype, copy=True, **rest)
            if non_blocking and target == CPU:  # torch takes pinned memory for that
                self._pin(moved, "to")
            gpu.transferred("to", tensor, moved, here, target, non_blocking)
            return moved

        def cpu(tensor, **kwargs):
            return to(tensor, CPU, **kwargs)

        def cuda(tensor, device=None, non_blocking=False, **kwargs):
            return to(tensor, gpu.current if device is None else device, non_blocking=non_blocking, **kwargs)

        def pin_memory(tensor, device=None):
            pinned = tensor.clone()
            self._pin(pinned, "pin_memory")
            return pinned

        def numpy(tensor, **kwargs):
            self._refuse_numpy(tensor)
            return Base.numpy(tensor, **kwargs)

        real_array = torch.Tensor.__array__

        def array(tensor, *args, **kwargs):
            self._refuse_numpy(tensor)
            return real_array(tensor, *args, **kwargs)

        def tolist(tensor):
            if on_card(tensor):
                gpu.start(memory.device_of(tensor))
                gpu.queue.add(TO_HOST, "tolist", memory.device_of(tensor), tensor, blocks=True)
            with gpu.unseen():
                return Base.tolist(tensor)

        return {
            "device": property(device),
            "is_cuda": property(on_card),
            "is_cpu": property(lambda tensor: device(tensor).type == "cpu"),
            "get_device": lambda tensor: device(tensor).index if on_card(tensor) else -1,
            "to": to,
            "cpu": cpu,
            "cuda": cuda,
            "pin_memory": pin_memory,
            "is_pinned": lambda tensor, device=None: memory.is_pinned(tensor),
            "numpy": numpy,
            "__array__": array,
            "tolist": tolist,
            "__reduce_ex__": self._reduced(torch.Tensor.__reduce_ex__),
        }

    def _refuse_numpy(self, tensor: torch.Tensor) -> None:
        device = self.gpu.memory.device_of(tensor)
        if device.type == "cuda":
            raise TypeError(
                f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                "memory first."
            )

    def _reduced(self, real: Callable) -> Callable:
        """A function that pickles a tensor."""

        def reduce(tensor, *args):
            device = self.gpu.memory.device_of(tensor)
            if device.type != "cuda":
                return real(tensor, *args)
            self.gpu.pickled(tensor)
            return on_card, (str(device), real(tensor, *args))

        return reduce

    # torch.cuda

    def _of_cuda(self) -> dict[str, Any]:
        gpu = self.gpu

        def number(device=None):
            return gpu.current if device is None else gpu.canonical(device)

        def properties(device=None):
            total = gpu.memory.capacity or 80 * GIB
            major, minor = gpu.capability
            return SimpleNamespace(
                name="Stand-in GPU", total_memory=total, major=major, minor=minor, multi_processor_count=108
            )

        def synchronize(device=None):
            gpu.queue.add(SYNCHRONISATION, "cuda.synchronize", number(device), blocks=True)

        class OwnEvent(Event):
            def __init__(self, enable_timing=False, blocking=False, interprocess=False):
                super().__init__(gpu.queue, gpu.current)

        def nothing(*args, **kwargs):
            return None

        return {
            "is_available": lambda: True,
            "device_count": lambda: gpu.devices,
            "current_device": lambda: gpu.current.index,
            "get_device_capability": lambda device=None: gpu.capability,
            "get_arch_list": lambda: list(gpu.architectures),
            "get_device_name": lambda device=None: "Stand-in GPU",
            "get_device_properties": properties,
            "is_bf16_supported": lambda *args: gpu.capability >= (8, 0),
            "Event": OwnEvent,
            "current_stream": lambda device=None: Stream(gpu.queue, number(device)),
            "synchronize": synchronize,
            "empty_cache": nothing,
            "is_initialized": lambda: gpu.started,
            "init": nothing,
            "_lazy_init": nothing,
            "memory_allocated": lambda device=None: gpu.memory.live(number(device)),
            "memory_reserved": lambda device=None: gpu.memory.live(number(device)),
            "max_memory_allocated": lambda device=None: gpu.memory.peak,
            "reset_peak_memory_stats": lambda device=None: gpu.forget_peak(),
            # numbers are drawn by the CPU's generator
            "manual_seed": nothing,
            "manual_seed_all": nothing,
            "get_rng_state": lambda device=None: torch.get_rng_state(),
            "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        }

    # what C++ functions decide by the device

    def _grouped(self) -> Callable:
        """Of optimisers and of the clipping of gradients: tensors by device and dtype."""
        real = torch._C._group_tensors_by_device_and_dtype

        def group(lists, with_indices=False):
            groups: dict[Any, Any] = {}
            for (_, dtype), (columns, indices) in real(lists, True).items():
                for row, index in enumerate(indices):
                    key = (columns[0][row].device, dtype)
                    those = groups.setdefault(key, ([[] for _ in columns], []))
                    for into, column in zip(those[0], columns):
                        into.extend(column[row : row + 1])  # a column can be empty
                    those[1].append(index)
            return groups if with_indices else {key: (those[0], []) for key, those in groups.items()}

        return group

    def _varlen(self, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, scale=None):
        gpu, device = self.gpu, query.device
        plain.check(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k)
        gpu.start(device)
        with gpu.unseen():
            attended = plain.attend(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, scale)
            gpu.memory.put(attended, device)
        gpu.queue.add(ALLOCATION, "varlen_attn", device, attended)
        gpu.queue.add(KERNEL, "varlen_attn", device, attended)
        return attended


def on_card(device: str, reduced: tuple) -> torch.Tensor:
    """A tensor that was pickled on a card; raises where there is none, and in a forked process."""
    if not _present:
        raise RuntimeError("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.")
    [gpu] = _present
    gpu.start(torch.device(device))
    function, arguments = reduced
    return function(*arguments).to(device)


def _parsed(args: tuple, kwargs: dict) -> tuple[Any, torch.dtype | None, bool, bool, dict]:
    """What Tensor.to is given: device, dtype, non_blocking, copy, and the rest."""
    kwargs = dict(kwargs)
    found: dict[str, Any] = {"device": kwargs.pop("device", None), "dtype": kwargs.pop("dtype", None)}
    flags = [kwargs.pop("non_blocking", False), kwargs.pop("copy", False)]
    given = 0
    for each in args:
        if isinstance(each, torch.dtype):
            found["dtype"] = each
        elif isinstance(each, bool):
            flags[given] = each
            given += 1
        elif each is not None:
            found["device"] = each
    return found["device"], found["dtype"], *flags, kwargs


def _autocast_on_cpu(real: type) -> type:
    """Half precision of a card is that of the CPU, which has the tensors."""

    class autocast(real):
        def __init__(self, device_type, *args, **kwargs):
            super().__init__("cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    return autocast
