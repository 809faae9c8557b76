"""The errors that a user can mend. Each message is one line that names the place and the mend."""

import re
import textwrap
import traceback

from .wording import worded


class CtxMetricsError(Exception):
    """Base of all: the command prints its message as one line and exits with 1."""


class InputError(CtxMetricsError, ValueError):
    """Texts, files, document ids or settings that cannot be scored as given."""


class ModelError(CtxMetricsError, RuntimeError):
    """A model that cannot be found, fetched, read or used for this metric."""


class ResourceError(CtxMetricsError, RuntimeError):
    """The device is missing or too small for the work."""


MORE_MEMORY = "free some, or raise the limit that `ulimit -v` shows"


# of the CPU's memory: Python, operating systems, torch
_ON_HOST = re.compile("(?:allocate|not enough) memory")
# Of a device's: CUDA, ROCm and MPS. A library that has no memory for its own handle says that it is not initialised.
_ON_DEVICE = re.compile(
    "out[ _]of[ _]memory|_STATUS_(?:[A-Z_]*ALLOC(?:ATION)?_FAILED|NOT_INITIALIZED)|Invalid buffer size: [0-9.]+ [KMGT]iB",
    re.IGNORECASE,
)


def lacks_memory(error: BaseException) -> bool:
    """Whether Python, the operating system, torch or a library in Rust says that the CPU or a GPU has no memory left.

    >>> lacks_memory(MemoryError()), lacks_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ..."))
    (True, True)
    >>> lacks_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    True
    """
    return _lacks_host_memory(error) or (
        not isinstance(error, CtxMetricsError) and _ON_DEVICE.search(str(error)) is not None
    )


def _lacks_host_memory(error: BaseException) -> bool:
    """The same, of the CPU's memory alone."""
    of_host = isinstance(error, MemoryError) or _ON_HOST.search(str(error)) is not None
    return of_host and not isinstance(error, CtxMetricsError)


def memory_remedy(error: BaseException, on_device: str | None = None) -> str:
    """What to do about an error that lacks memory; `on_device` where it is a GPU's, by default what helps any model."""
    if _lacks_host_memory(error):
        return MORE_MEMORY
    return on_device or worded(
        "give a smaller --ctx-batch-tokens, --ctx-dtype bf16 or --ctx-device cpu, or a smaller model",
        "give a smaller batch_tokens, dtype='bf16' or device='cpu' in EngineOptions, or a smaller model",
    )


def memory_words(error: BaseException) -> str:
    """What an error that lacks memory says, cut to 160 characters."""
    return textwrap.shorten(str(error) or type(error).__name__, 160, placeholder=" ...")


def as_line(error: Exception) -> str | None:
    """The line that a command prints for an error that a user can mend; None for one that is a fault of the program.

    Errors of ours and of the operating system, too little memory, a package that cannot be imported, and a tokenizer of
    sacrebleu's that cannot be loaded.
    """
    message = str(error)
    shown = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if isinstance(error, CtxMetricsError):
        line = message
    elif _lacks_host_memory(error):
        line = f"there is too little memory ({shown}); {MORE_MEMORY}"
    elif lacks_memory(error):
        line = f"the device has too little memory; {memory_remedy(error)} ({memory_words(error)})"
    elif package := _not_imported(error):
        line = f"{package} cannot be imported ({shown}); `ctx-metrics doctor` shows what is broken"
    elif isinstance(error, OSError):
        line = shown
    elif any(module.startswith("sacrebleu.tokenizers.") and call == "__init__" for module, call in _calls(error)):
        line = f"the tokenizer of the language, or of --tokenize, cannot be loaded: {' '.join(message.split())}"
    else:
        return None
    return " ".join(line.splitlines())


def _not_imported(error: Exception) -> str:
    """The package whose import raised the error, whatever its type; "" where none did."""
    running = [module for module, call in _calls(error) if call == "<module>"]
    others = [module for module in running if not module.startswith("ctx_metrics.")]
    name = others[0] if others else getattr(error, "name", None) if isinstance(error, ImportError) else None
    return (name or "").partition(".")[0]


def _calls(error: Exception) -> list[tuple[str, str]]:
    """The modules and functions that the error came through, outermost first; <module> is a module being imported."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [(frame.f_globals.get("__name__", ""), frame.f_code.co_name) for frame in frames]
