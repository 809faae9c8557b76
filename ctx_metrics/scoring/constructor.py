"""The constructor of a metric as users see it: its signature, its errors and its repr."""

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

from ..corpus import check_text, document_id, list_of_strings
from ..engine_options import EngineOptions
from ..errors import InputError
from ..language import LANGUAGES, check_language
from .context import Capabilities, Context, Stream


def as_list(name: str, stream: Any) -> list:
    """Return a stream as a list; a list is returned as it is, because a subclass may carry its file's name."""
    return stream if isinstance(stream, list) else list_of_strings(name, stream)


def streams(name: str, given: Any) -> list[list]:
    return [as_list(name, stream) for stream in as_list(name, given)]


def reference_streams(metric: str, references: Any) -> list[list]:
    given = [references] if isinstance(references, str) else as_list(f"{metric}: references", references)
    if any(isinstance(stream, str) or not isinstance(stream, Collection) for stream in given):
        raise InputError(f"{metric}: references must be a list of streams, each a list of strings")
    own = [list_of_strings(f"{metric}: reference stream {number}", stream) for number, stream in enumerate(given, 1)]
    if len({len(stream) for stream in own}) > 1:
        raise InputError(f"{metric}: reference streams differ in length: {[len(s) for s in own]} segments")
    return own


def number_of_references(streams: Sequence[Stream]) -> int:
    """Return the number of references per segment, for signatures; -1 if it varies between segments.

    >>> number_of_references([["a", "b"], ["c", "d"]]), number_of_references([["a", None]]), number_of_references([])
    (2, -1, 0)
    """
    counts = {sum(text is not None for text in texts) for texts in zip(*streams, strict=True)}
    return counts.pop() if len(counts) == 1 else -1 if streams else 0


def counted_texts(value: list) -> str:
    """Describe a list of texts, or of lists of texts, by its size.

    >>> counted_texts(["a", "b"]), counted_texts([["a", "b"], ["c", "d"]])
    ('[2 texts]', '[2 lists]')
    """
    return f"[{len(value)} {'text' if not value or isinstance(value[0], str) else 'list'}{'s' * (len(value) != 1)}]"


STREAMS = ("sources", "doc_ids")


def keywords(settings: type, can: Capabilities) -> list[inspect.Parameter]:
    """Return the keyword parameters of a metric: its settings, the context fields that it reads, and its inputs."""
    taken = [
        (each.name, each.default, types[each.name])
        for cls, own in ((settings, fields(settings)), (Context, fields(Context)))
        for types in [get_type_hints(cls)]
        for each in own
        if cls is settings or each.name in can.reads
    ]
    taken += [(name, keyword.default, keyword.annotation) for name, keyword in can.input_keywords.items()]
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, default, annotation in taken
    ]


def signature_of(constructor: Callable, settings: type, can: Capabilities) -> inspect.Signature:
    """Return the signature of a constructor, with its last parameter replaced by the metric's keywords."""
    *shared, _ = list(inspect.signature(constructor).parameters.values())[1:]
    return inspect.Signature([*shared, *keywords(settings, can)])


def unexpected(cls: type, name: str, known: Iterable[str]) -> TypeError:
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    fix = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
    return TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}; {fix}")


def context_of(metric: str, given: dict[str, Any], can: Capabilities) -> Context:
    """Return the context for a metric's keywords; collections of strings, such as arrays or table columns, become lists."""
    keywords = can.input_keywords
    clean = dict(given)
    if not isinstance(engine := given.get("engine", EngineOptions()), EngineOptions):
        raise InputError(
            f"{metric}: engine={engine!r} is not an EngineOptions", fix="give EngineOptions(device='cuda')"
        )
    for name, value in given.items():
        if value is None:
            continue
        if name in STREAMS:
            clean[name] = as_list(f"{metric}: {name}", value)
            if name == "doc_ids":
                clean[name] = [document_id(each) for each in clean[name]]
            else:
                for i, text in enumerate(clean[name]):
                    check_text(f"{metric}: {name}", i, text)
        elif name == "systems" or (name in keywords and keywords[name].streams):
            clean[name] = streams(f"{metric}: {name}", value)
        elif name in LANGUAGES and value != "":
            check_language(name, value, can.reads)
    inputs = {name: clean.pop(name, keyword.default) for name, keyword in keywords.items()}
    return Context(**clean, inputs=inputs)


def shown(metric: object, references: list | None, settings: Any, context: Context, can: Capabilities) -> str:
    """Return a metric's repr: the call of its constructor, without defaults; of texts, only the number is shown."""
    given = {each.name: (getattr(of, each.name), each.default) for of in (settings, context) for each in fields(of)}
    del given["inputs"], given["signature"]  # the run's
    given |= {name: (context.inputs[name], keyword.default) for name, keyword in can.input_keywords.items()}
    changed = {name: value for name, (value, default) in given.items() if value != default}
    streams = (*STREAMS, "systems", *sorted(can.streams))
    texts = {name: counted_texts(changed.pop(name)) for name in streams if changed.get(name)}
    texts = {"references": counted_texts(references)} | texts if references else texts
    changed.pop("systems", None)
    words = [
        f"{name}={value}" for name, value in (texts | {name: repr(each) for name, each in changed.items()}).items()
    ]
    return f"{type(metric).__name__}({', '.join(words)})"
