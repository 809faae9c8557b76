"""Agreement by the length of documents: does a metric that reads context gain where documents are long?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..corpus import document_ranges
from ..judgements.judged import JudgedSet, MetricScores, row_means
from .protocols import Protocol


@dataclass(frozen=True)
class LengthCurves:
    """Agreement under one protocol in buckets of documents by their number of segments.

    protocol, title  the protocol's
    buckets          first and last length of each bucket, in segments
    documents, segments  how many a bucket holds, over all sets
    values           {metric: agreement in each bucket}, NaN where it is not defined
    """

    protocol: str
    title: str
    buckets: list[tuple[int, int]]
    documents: list[int]
    segments: list[int]
    values: dict[str, list[float]]


def agreement_by_length(
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores | None]],
    protocol: Protocol,
    buckets: int = 4,
) -> LengthCurves | None:
    """A protocol's agreement in buckets of document length that hold about as many segments each.

    Systems' scores are the means of their segments' in a bucket, people's and the metric's: a document's own scores are not
    asked of the metric again, so what it read around a segment stays as it was. Sets without document ids or without human
    scores of segments are left out; None if none is left, all documents are of one length, or no metric scores segments.

    >>> from ctx_metrics.meta.protocols import make_protocols
    >>> human = np.array([[1.0, 2, 3, 4, 5], [0, 1, 2, 5, 6]])
    >>> judged = JudgedSet("toy", ["A", "B"], 5, doc_ids=["x", "x", "y", "z", "z"], segment_scores=human)
    >>> metric = MetricScores("m", np.array([[1.0, 1, 1, 1, 1], [0, 0, 0, 0, 0]]), None)
    >>> curves = agreement_by_length([judged], {"toy": [metric]}, make_protocols()["sys-acc"], 2)
    >>> curves.buckets, curves.documents, curves.segments
    ([(1, 1), (2, 2)], [1, 2], [1, 4])
    >>> curves.values["m"]  # on documents of two, people see no difference, the metric one
    [1.0, 0.0]
    """
    usable = [judged for judged in sets if judged.doc_ids is not None and judged.segment_scores is not None]
    lengths = {judged.name: _document_lengths(judged.doc_ids) for judged in usable if judged.doc_ids is not None}
    if not usable:
        return None
    edges = _edges(np.concatenate([*lengths.values()]), buckets)
    if len(edges) < 2:
        return None
    documents, segments = [], []
    names = dict.fromkeys(
        each.name
        for judged in usable
        for each in scores[judged.name]
        if each is not None and each.segment_scores is not None
    )
    if not names:
        return None
    values: dict[str, list[float]] = {name: [] for name in names}
    for first, last in edges:
        inside = {name: (first <= of_set) & (of_set <= last) for name, of_set in lengths.items()}
        segments.append(int(sum(each.sum() for each in inside.values())))
        documents.append(round(sum((1 / lengths[name][each]).sum() for name, each in inside.items())))
        parts = [_part(judged, inside[judged.name]) for judged in usable]
        for name in names:
            values[name].append(_agreement(protocol, usable, parts, inside, scores, name))
    return LengthCurves(protocol.name, protocol.title, edges, documents, segments, values)


def _agreement(protocol, usable, parts, inside, scores, name) -> float:
    found = []
    for judged, part in zip(usable, parts, strict=True):
        metric = next((each for each in scores[judged.name] if each and each.name == name), None)
        if part is None or metric is None or metric.segment_scores is None or protocol.lacks(part):
            continue
        array = metric.segment_scores[:, inside[judged.name]]
        found.append(protocol.measure(part, row_means(array) if protocol.level == "system" else array))
    return protocol.overall_value(found) if found else float("nan")


def _part(judged: JudgedSet, inside: np.ndarray) -> JudgedSet | None:
    """The judgements of some segments, with systems' scores as their means."""
    if not inside.any():
        return None
    return JudgedSet(judged.name, judged.systems, int(inside.sum()), segment_scores=judged.human_segments[:, inside])


def _document_lengths(doc_ids: Sequence[str]) -> np.ndarray:
    """Each segment's document's number of segments."""
    ranges = document_ranges(doc_ids)
    return np.repeat([end - start for start, end in ranges], [end - start for start, end in ranges])


def _edges(lengths: np.ndarray, buckets: int) -> list[tuple[int, int]]:
    """First and last lengths of the buckets: every length in one, about equally many segments in each."""
    different, counts = np.unique(lengths, return_counts=True)
    share = (np.cumsum(counts) - counts / 2) / counts.sum()  # where the middle of each length lies
    number = np.minimum((share * buckets).astype(int), buckets - 1)
    return [(int(different[number == k][0]), int(different[number == k][-1])) for k in np.unique(number)]
