"""From lists, columns of tables and the like to the texts of a run."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sacrebleu.metrics import CHRF

from ..corpus import Segments, checked_stream, document_id, list_of_strings, named
from ..errors import InputError
from ..notices import counted, notice
from ..run.texts import Texts
from ..run.wrappers import reader_fix
from ..scoring.context import MetricSettings, capabilities
from ..scoring.inputs import FileInput, Input

Hypotheses = Collection[str]
References = Collection[str | None] | Collection[Collection[str | None]]
MOST_COMPARED = 50  # lists of references, above which nobody gives as many as there are segments by mistake
ONE = "system"  # the name of a system that has none


def texts_of(
    hypotheses: Hypotheses | Mapping[str, Hypotheses],
    references: References | None,
    sources: Hypotheses | None,
    docs: Collection[Any] | None,
    languages: tuple[str | None, str | None],
    aligned: bool,
    checks: bool,
) -> Texts:
    """Return the texts of a run.

    aligned    whether a system has one text for each document
    checks     whether to give notice of references that seem to be those of one segment each
    """
    several = isinstance(hypotheses, Mapping)
    of_systems = hypotheses if isinstance(hypotheses, Mapping) else {ONE: hypotheses}
    if not of_systems:
        raise InputError("hypotheses: no system given")
    names = [str(name) for name in of_systems]
    titles = names if several else ["hypotheses"]
    systems = [_stream(title, texts) for title, texts in zip(titles, of_systems.values(), strict=True)]
    if not systems[0]:
        raise InputError("no hypotheses to score")
    against = [] if references is None else _references(references, 0 if aligned else len(systems[0]))
    if checks and not aligned and len(against) == len(systems[0]):
        _say_transposed(systems[0], against)
    source = None if sources is None else _stream("sources", sources)
    doc_ids = None if docs is None else named([document_id(each) for each in list_of_strings("docs", docs)], "docs")
    given = {} if source is None or aligned else {"sources": "the sources"}
    return Texts(names, systems, against, source, doc_ids, *languages, given=given, fix=reader_fix())


def input_values(names: Sequence[str], metrics: Sequence[MetricSettings], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that only some metrics read, by keyword."""
    known = {name: each for metric in metrics for each in capabilities(metric.cls).inputs for name in each.keywords}
    values = {}
    for name, value in given.items():
        if name not in known:
            reads = f"they read {', '.join(known)}" if known else "they read none"
            raise InputError(f"inputs: none of the metrics reads {name!r}; {reads}")
        values[name] = _streams(name, known[name], names, value) if name in known[name].streams else value
    return values


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
                f"for {counted(segments, 'segment', 'segments')}",
                fix="a list holds one reference of every segment: give list(zip(*references))",
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
