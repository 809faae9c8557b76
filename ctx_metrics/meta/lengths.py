"""Agreement by document length: do metrics that read context gain on long documents?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from ..corpus import document_ranges
from ..judgements.judged import JudgedSet, MetricScores, row_means
from .protocols import Measurement, Protocol


@dataclass(frozen=True)
class LengthCurves:
    """Agreement under one protocol, in buckets of documents by their number of segments.

    buckets          smallest and largest length in each bucket, in segments
    documents, segments  number of them in each bucket, over all sets
    values           {metric: agreement in each bucket}, NaN where it is undefined
    """

    protocol: str
    title: str
    buckets: list[tuple[int, int]]
    documents: list[int]
    segments: list[int]
    values: dict[str, list[float]]


def agreement_by_length(
    sets: Sequence[JudgedSet], scores: Mapping[str, Sequence[MetricScores]], protocol: Protocol, buckets: int = 4
) -> LengthCurves | None:
    """Compute agreement in buckets of document length, which contain roughly equal numbers of segments.

    Within a bucket, the human and metric scores of a system are means of its segment scores. Metrics are not run again, so
    the context that they read for a segment is unchanged. Sets without document ids or human segment scores are left out.
    Returns None if no set is left, all documents have the same length, or no metric scores segments.
    """
    usable = [judged for judged in sets if judged.doc_ids is not None and judged.segment_scores is not None]
    lengths = [_document_lengths(judged.doc_ids or ()) for judged in usable]
    metrics = [
        {each.name: each.of_segments for each in scores[judged.name] if each.segment_scores is not None}
        for judged in usable
    ]
    names = list(dict.fromkeys(name for of_set in metrics for name in of_set))
    edges = _edges(np.concatenate(lengths), buckets) if usable else []
    if len(edges) < 2 or not names:
        return None
    documents, segments = [], []
    values: dict[str, list[float]] = {name: [] for name in names}
    for first, last in edges:
        inside = [(first <= of_set) & (of_set <= last) for of_set in lengths]
        segments.append(int(sum(each.sum() for each in inside)))
        documents.append(round(sum((1 / of_set[each]).sum() for of_set, each in zip(lengths, inside, strict=True))))
        measured: dict[str, list[Measurement]] = {name: [] for name in names}
        for judged, chosen, of_set in zip(usable, inside, metrics, strict=True):
            if not chosen.any():
                continue
            human, ids = judged.human_segments[:, chosen], list(compress(judged.doc_ids or (), chosen))
            part = JudgedSet(judged.name, judged.systems, len(ids), doc_ids=ids, segment_scores=human)
            for name, array in of_set.items() if not protocol.lacks(part) else ():
                own = MetricScores(name, array[:, chosen], row_means(array[:, chosen]))
                if (part_scores := protocol.scores_of(own, part)) is not None:
                    measured[name].append(protocol.measure(part, part_scores))
        for name, of_sets in measured.items():
            values[name].append(protocol.overall_value(of_sets) if of_sets else float("nan"))
    return LengthCurves(protocol.name, protocol.title, edges, documents, segments, values)


def _document_lengths(doc_ids: Sequence[str]) -> np.ndarray:
    """The number of segments in each segment's document: int64 (N,) for N ids."""
    sizes = [end - start for start, end in document_ranges(doc_ids)]
    return np.repeat(sizes, sizes)


def _edges(lengths: np.ndarray, buckets: int) -> list[tuple[int, int]]:
    """The smallest and largest length in each bucket; every length is in one bucket, and buckets have similar sizes."""
    different, counts = np.unique(lengths, return_counts=True)
    share = (np.cumsum(counts) - counts / 2) / counts.sum()  # the position of each length's middle
    number = np.minimum((share * buckets).astype(int), buckets - 1)
    return [(int(different[number == k][0]), int(different[number == k][-1])) for k in np.unique(number)]
