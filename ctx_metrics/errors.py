"""Errors that a user can fix. Each message is one line that says where the problem is and how to fix it."""

import re
import textwrap
import traceback
from collections.abc import Sequence
from types import FrameType

from .wording import printable, worded


class CtxMetricsError(Exception):
    """Base class of all errors here: the command prints str() of it on one line and exits with status 1.

    what       what is wrong
    about      the metric, stream or file that it is about, or ""
    segment    the 0-based segment whose text is at fault, or None; `unit` is the unit it counts, such as "line"
    fix        a remedy, in words for the user, or ""

    >>> str(InputError("the id is missing", about="ids.txt", segment=3, unit="line", fix="every line needs one"))
    'ids.txt, line 4: the id is missing; every line needs one'
    """

    def __init__(self, what: str, *, about: str = "", segment: int | None = None, unit: str = "segment", fix: str = ""):
        super().__init__(what)
        self.what, self.about, self.segment, self.unit, self.fix = what, about, segment, unit, fix

    def __str__(self) -> str:
        return printable("; ".join(filter(None, (self.fault, self.fix))))

    @property
    def fault(self) -> str:
        """The message without the fix."""
        place = "" if self.segment is None else f"{self.unit} {self.segment + 1:,}"
        return ": ".join(filter(None, (", ".join(filter(None, (self.about, place))), self.what)))

    def at(self, positions: Sequence[int]) -> "CtxMetricsError":
        """Return an error of some segments, at these 0-based positions of a corpus, as one of the whole corpus."""
        if self.segment is None:
            return self
        return type(self)(self.what, about=self.about, segment=positions[self.segment], unit=self.unit, fix=self.fix)

    def after(self, segments: int, table: str = "") -> "CtxMetricsError":
        """Return an error of a part of a corpus as one of the whole corpus.

        segments    number of segments before the part
        table       the file that the rows come from, if any
        """
        if self.segment is None:
            return self
        about, unit = (": ".join(filter(None, (table, self.about))), "row") if table else (self.about, self.unit)
        return type(self)(self.what, about=about, segment=self.segment + segments, unit=unit, fix=self.fix)


class InputError(CtxMetricsError, ValueError):
    """Texts, files, document ids or settings that cannot be scored as given."""


class ModelError(CtxMetricsError, RuntimeError):
    """A model that cannot be found, fetched, read or used for this metric."""


class ResourceError(CtxMetricsError, RuntimeError):
    """The device is missing, or has too little memory for the work."""


MORE_MEMORY = "free some, or raise the limit that `ulimit -v` shows"


# Messages of Python, operating systems and torch about the CPU's memory.
_ON_HOST = re.compile("(?:allocate|not enough) memory")
# Messages of CUDA, ROCm and MPS about a device's memory. A library that cannot allocate its own handle says that it is
# not initialized.
_ON_DEVICE = re.compile(
    "out[ _]of[ _]memory|_STATUS_(?:[A-Z_]*ALLOC(?:ATION)?_FAILED|NOT_INITIALIZED)|Invalid buffer size: [0-9.]+ [KMGT]iB",
    re.IGNORECASE,
)


def lacks_memory(error: BaseException) -> bool:
    """Whether the error is how Python, the operating system, torch or a Rust library reports that CPU or GPU memory ran out.

    >>> lacks_memory(MemoryError()), lacks_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ..."))
    (True, True)
    >>> lacks_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    True
    """
    return _lacks_host_memory(error) or (
        not isinstance(error, CtxMetricsError) and _ON_DEVICE.search(str(error)) is not None
    )


def _lacks_host_memory(error: BaseException) -> bool:
    of_host = isinstance(error, MemoryError) or _ON_HOST.search(str(error)) is not None
    return of_host and not isinstance(error, CtxMetricsError)


def memory_fix(error: BaseException, on_device: str | None = None) -> str:
    """Return the fix for an out-of-memory error; `on_device` is the fix for a GPU, by default one for any model."""
    if _lacks_host_memory(error):
        return MORE_MEMORY
    return on_device or worded(
        "give a smaller --ctx-batch-tokens, --ctx-dtype bf16 or --ctx-device cpu, or a smaller model",
        "give a smaller batch_tokens, dtype='bf16' or device='cpu' in EngineOptions, or a smaller model",
    )


def memory_words(error: BaseException) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, 160, placeholder=" ...")


def as_line(error: Exception) -> str | None:
    """Return the line that a command prints for an error that the user can fix; None for a bug in the program."""
    message = str(error)
    shown = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if isinstance(error, CtxMetricsError):
        line = message
    elif _lacks_host_memory(error):
        line = f"there is too little memory ({shown}); {MORE_MEMORY}"
    elif lacks_memory(error):
        line = f"the device has too little memory; {memory_fix(error)} ({memory_words(error)})"
    elif package := _not_imported(error):
        line = f"{package} cannot be imported ({shown}); `ctx-metrics doctor` shows what is broken"
    elif isinstance(error, OSError):
        line = shown
    else:
        return None
    return printable(" ".join(line.splitlines()))


def of_tokenizer(error: Exception) -> bool:
    """Whether a tokenizer of sacrebleu raised the error because it cannot be loaded."""
    return any(_loads_tokenizer(*place) for place in _calls(error))


def tokenizer_error(error: Exception, metric: str, name: str = "") -> InputError:
    """Return the error that says which tokenizer of sacrebleu cannot be loaded, and where to put its file.

    name    the tokenizer's; "" if only the error tells it
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if _loads_tokenizer(*_place(frame))]
    own = frames[-1].f_locals if frames else {}  # a tokenizer with a file knows its name, and the file's URL and path
    module = _place(frames[-1])[0] if frames else ""
    name = name or own.get("key") or module.removeprefix("sacrebleu.tokenizers.tokenizer_").replace("_", "-")
    fix = f"put the file of {own['url']} at {own['model_path']}" if "url" in own else ""
    why = " ".join(str(error).split()) or type(error).__name__
    return InputError(f"the tokenizer {name} cannot be loaded: {why}", about=metric, fix=fix)


def _not_imported(error: Exception) -> str:
    """Return the name of the package whose import raised the error, whatever the error's type; "" if no import did."""
    running = [module for module, call in _calls(error) if call == "<module>"]
    others = [module for module in running if not module.startswith("ctx_metrics.")]
    name = others[0] if others else getattr(error, "name", None) if isinstance(error, ImportError) else None
    return (name or "").partition(".")[0]


def _calls(error: Exception) -> list[tuple[str, str]]:
    """Return the (module, function) pairs of the error's traceback, outermost first; "<module>" is a module's import."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [_place(frame) for frame in frames]


def _loads_tokenizer(module: str, call: str) -> bool:
    return module.startswith("sacrebleu.tokenizers.") and call == "__init__"


def _place(frame: FrameType) -> tuple[str, str]:
    return frame.f_globals.get("__name__", ""), frame.f_code.co_name
