"""From what a user has, such as lists and columns of tables, to the checked texts of a run."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sacrebleu.metrics import CHRF

from ..checks.plain_text import check_plain_text
from ..checks.texts import check_texts
from ..corpus import Segments, checked_stream, document_id, document_ranges, list_of_strings, named
from ..engine_options import EngineOptions
from ..errors import InputError
from ..language import LANGUAGES, check_language
from ..notices import counted, notice
from ..run.wrappers import TextReader, reader_hint
from ..scoring.context import Context, MetricSettings, capabilities
from ..scoring.inputs import FileInput, Input
from ..system_names import names_fault

Texts = Collection[str]
References = Collection[str | None] | Collection[Collection[str | None]]
MOST_COMPARED = 50  # lists of references, above which nobody gives as many as there are segments by mistake
ONE = "system"  # the name of a system that has none


def context_of(
    hypotheses: Texts | Mapping[str, Texts],
    references: References | None,
    sources: Texts | None,
    docs: Collection[Any] | None,
    languages: tuple[str | None, str | None],
    engine: EngineOptions,
    checks: bool,
    reader: TextReader | None,
) -> tuple[list[str], Context]:
    """Return the systems' names, and the context of their texts, after a reader has read them anew, if there is one; gives
    notice of odd texts if `checks`."""
    several = isinstance(hypotheses, Mapping)
    of_systems = hypotheses if isinstance(hypotheses, Mapping) else {ONE: hypotheses}
    if not of_systems:
        raise InputError("hypotheses: no system given")
    names = [str(name) for name in of_systems]
    if fault := names_fault(names, len(names), "hypotheses"):
        raise InputError(fault)
    titles = names if several else ["hypotheses"]
    systems = [_stream(title, texts) for title, texts in zip(titles, of_systems.values(), strict=True)]
    if not systems[0]:
        raise InputError("no hypotheses to score")
    against = [] if references is None else _references(references, 0 if reader else len(systems[0]))
    if checks and not reader and len(against) == len(systems[0]):
        _say_transposed(systems[0], against)
    source = None if sources is None else _stream("sources", sources)
    doc_ids = None if docs is None else named([document_id(each) for each in list_of_strings("docs", docs)], "docs")
    of_segments = [*([] if reader else systems), *against, *filter(None, (source, doc_ids))]
    for stream in of_segments:
        if len(stream) != len(of_segments[0]):
            lengths = f"{_segments(stream)} for {_segments(of_segments[0])} of {of_segments[0].name}"
            fix = "" if reader or stream is doc_ids else reader_hint()
            if checks and not reader:  # the kind of the texts often says why
                check_plain_text(systems, against, source)
            raise InputError(f"{stream.name}: {lengths}", fix=fix)
    if doc_ids is not None:
        document_ranges(doc_ids, "docs")
    for name, language in zip(LANGUAGES, languages, strict=True):
        if language is not None:
            check_language(name, language)
    context = Context(against, systems, source, doc_ids, *languages, engine)
    if reader:
        read = reader(context)
        systems, context = read.systems, replace(context, systems=read.systems, read=read)
    if checks:
        check_texts(systems, against, source, languages)
    return names, context


def with_given_inputs(
    context: Context, names: Sequence[str], metrics: Sequence[MetricSettings], given: Mapping[str, Any]
) -> Context:
    """Return the context with the inputs that the metrics read besides the texts of every run."""
    known = {name: each for metric in metrics for each in capabilities(metric.cls).inputs for name in each.keywords}
    inputs = {}
    for name, value in given.items():
        if name not in known:
            reads = f"they read {', '.join(known)}" if known else "they read none"
            raise InputError(f"inputs: none of the metrics reads {name!r}; {reads}")
        inputs[name] = _streams(name, known[name], names, value) if name in known[name].streams else value
    return replace(context, inputs=inputs)


def _streams(name: str, of: Input, systems: Sequence[str], given: Any) -> list[Segments]:
    per_system = isinstance(of, FileInput) and of.per_system
    if isinstance(given, Mapping):
        if not per_system or given.keys() != {*systems}:
            raise InputError(f"inputs: {name} is a list of streams, or a dict with one for each system by its name")
        given = [given[system] for system in systems]
    streams = list_of_strings(f"inputs: {name}", given)
    shown = [f"{name}, stream {number}" for number in range(1, len(streams) + 1)]
    lists = [checked_stream(each, stream, not per_system) for each, stream in zip(shown, streams, strict=True)]
    return [named(own, getattr(stream, "name", "")) for own, stream in zip(lists, streams, strict=True)]


def _stream(name: str, texts: Any) -> Segments:
    return named(checked_stream(name, list_of_strings(name, texts)), name)


def _references(given: Any, segments: int) -> list[Segments]:
    """Return streams; the user gives one as a list of strings, or several as a list of lists."""
    whole = list_of_strings("references", given)
    if any(isinstance(each, str) for each in whole) or not any(isinstance(each, Collection) for each in whole):
        streams = [whole]
    else:
        streams = [list_of_strings(f"reference stream {number}", each) for number, each in enumerate(whole, 1)]
        lengths = {len(stream) for stream in streams}
        if len(streams) == segments and len(lengths) == 1 and lengths != {segments}:
            raise InputError(
                f"references: {counted(len(streams), 'list', 'lists')} of {counted(lengths.pop(), 'text', 'texts')} "
                f"for {counted(segments, 'segment', 'segments')}; a list holds one reference of every segment: give "
                "list(zip(*references))"
            )
    names = [f"reference stream {k}" if len(streams) > 1 else "references" for k in range(1, len(streams) + 1)]
    return [named(checked_stream(*each, True), each[0]) for each in zip(names, streams, strict=True)]


def _say_transposed(hypotheses: Segments, streams: Sequence[Segments]) -> None:
    """Give notice of K lists of K references that fit far better if each is taken for the references of one segment."""
    number = len(hypotheses)
    if not 1 < number <= MOST_COMPARED or any(len(stream) != number for stream in streams):
        return
    chrf, pairs = CHRF(), [(i, k) for i in range(number) for k in range(number) if i != k]  # the diagonal stays
    as_given, transposed = (
        sum(chrf.sentence_score(hypotheses[i], [own[k][i] or ""]).score for i, k in pairs) / len(pairs)
        for own in (streams, [*zip(*streams, strict=True)])
    )
    if transposed > 2 * as_given and transposed > as_given + 20:
        notice(
            f"references: {number} lists of {number} texts are read as {number} references of all segments, but each list "
            f"fits one segment far better (chrF {transposed:.0f}, not {as_given:.0f}); if so, give list(zip(*references))"
        )


def _segments(stream: Segments) -> str:
    return counted(len(stream), "segment", "segments")
