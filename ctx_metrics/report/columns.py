"""Columns of a report besides those of metrics: existing scores, and the words of the reference that outputs lack."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_char import TokenizerChar

from ..corpus import document_ranges
from ..errors import InputError
from ..judgements.judged import JudgedSet, MetricScores, row_means
from ..judgements.measures.correlation import document_means
from ..judgements.score_files import lower_is_better, read_scores
from ..language import bleu_language
from ..notices import notice
from ..run.run import Run
from ..scoring.comparison import Column, compare, scorer, weighted_mean
from ..scoring.context import Context, build
from ..scoring.names import shown_name, signature_entries
from ..scoring.scores import Scores, all_scores
from ..scoring.testing import USUAL, Design
from .content import LARGEST, Content
from .verdict import PEOPLE

MISSING = "missing words, %"
WITHOUT_SPACES = frozenset("zh ja th lo km my".split())  # languages in which characters are counted as words
TOKENIZERS = ("13a", "intl", "zh", "char", "none", "tercom")  # which need no other package and no file
ROUNDED = 1e-3  # largest difference, in points, between a score in a file and the same score computed from the texts
# sacrebleu's metrics, whose scores are not means of scores: which settings the parts of their signatures show
OF_COUNTS: dict[str, tuple[type[Metric], dict[str, tuple[str, Callable[[str], Any]]]]] = {
    "bleu": (BLEU, {"tok": ("tokenize", str), "case": ("lowercase", "lc".__eq__), "smooth": ("smooth_method", str)}),
    "chrf": (CHRF, {"nc": ("char_order", int), "nw": ("word_order", int), "case": ("lowercase", "lc".__eq__)}),
    "ter": (TER, {"norm": ("normalized", "yes".__eq__), "case": ("case_sensitive", "mixed".__eq__)}),
}
CLOSE = 1.1e-4  # largest difference between a system score and its segments' mean that counts as rounding: 4 decimals


def read_columns(paths: Sequence[str], context: Context, design: Design) -> list[Column]:
    """Read the metrics of score files, folders and tables, which must contain each system by name."""
    names, systems = context.names, context.systems
    unjudged = np.full(len(names), np.nan)
    texts = JudgedSet("this run", names, len(systems[0]), systems, system_scores=unjudged, doc_ids=context.doc_ids)
    return [_column(scores, context, design) for scores in read_scores(paths, texts)]


def judged_content(judged: JudgedSet, metrics: Sequence[MetricScores]) -> Content | None:
    """The content of a report on a judged set, with human scores first. Metrics without segment scores are left out. None,
    with a notice, if outputs are missing, if there are too many, or if there are no segment scores at all."""
    people = MetricScores(PEOPLE, judged.segment_scores, judged.system_scores)
    kept = [each for each in [people, *metrics] if each.segment_scores is not None]
    lacks = {
        "the outputs of some systems are missing for some segments": not judged.complete,
        "there are no segment scores": not kept,
        f"it has more than {LARGEST:,} outputs": len(judged.systems) * judged.segments > LARGEST,
    }
    if any(lacks.values()):
        notice(f"{judged.name}: no report: {next(what for what, lacking in lacks.items() if lacking)}")
        return None
    run = Run(judged.as_texts(), [], {}, text_checks=False)
    context = replace(run.context, names=judged.systems)
    design = USUAL.design(context.systems, judged.doc_ids)
    columns = [_column(each, context, design) for each in kept]
    return Content(context, design, columns, test_set=judged.name)


def _column(metric: MetricScores, context: Context, design: Design) -> Column:
    """A column of existing scores. Intervals and tests require that a system's score is the mean of its segments' scores, as
    for nearly all metrics; those of BLEU, chrF and TER come from the texts if these give the same scores; other metrics get
    none, with a notice. Document scores are means. For TER and MetricX, recognised by their names, lower scores are better
    unless they are negated."""
    doc_ids = context.doc_ids
    if metric.segment_scores is None:
        raise InputError(
            f"{metric.name}: its files have no scores of segments, which a report shows (METRIC-REF.seg.score)"
        )
    segments = metric.segment_scores
    of_systems = row_means(segments) if metric.system_scores is None else metric.system_scores
    sign = -1 if lower_is_better(metric) else 1
    documents = document_means(segments, doc_ids) if doc_ids is not None else segments[:, :0]
    rows = [np.column_stack([np.nan_to_num(own), ~np.isnan(own)]) for own in segments]
    scores = [
        Scores(own.tolist(), of_documents.tolist(), float(system), shown_name(metric.name), row.tolist())
        for own, of_documents, system, row in zip(segments, documents, of_systems, rows, strict=True)
    ]
    comparison = None
    if np.allclose(of_systems, row_means(segments), rtol=0, atol=CLOSE, equal_nan=True):
        comparison = compare(
            lambda sums: weighted_mean(sums) / 100,
            rows,
            of_systems.tolist(),
            design.ranges,
            sign=sign,
            testing=design.testing,
        )
    elif known := _from_texts(metric.name, metric.signature, segments, of_systems, context):
        counts, again, factor = known
        scores = [
            own._replace(title=other.title, documents=[factor * score for score in other.documents], rows=other.rows)
            for own, other in zip(scores, again, strict=True)
        ]
        comparison = compare(
            lambda sums: factor * scorer(counts)(sums),
            [each.rows for each in again],
            of_systems.tolist(),
            design.ranges,
            sign=sign,
            testing=design.testing,
        )
    else:
        notice(
            f"{metric.name}: a system's score is not the mean of its segments' scores, so there are no intervals "
            "and no tests"
        )
    return Column(metric.name, metric.signature, scores, sign, comparison)


def _from_texts(
    name: str, signature: str, segments: np.ndarray, of_systems: np.ndarray, context: Context
) -> tuple[Metric, list[Scores], float] | None:
    """BLEU, chrF or TER, the systems' scores by it, and the factor from these to scores that are given; None for any other
    metric, and if the texts do not give these scores with the settings in the signature."""
    if name not in OF_COUNTS or not context.references or any(None in stream for stream in context.references):
        return None
    given = signature_entries(signature)
    if given.get("tok", "13a") not in TOKENIZERS:
        return None
    cls, settings = OF_COUNTS[name]
    metric = build(cls, context, {key: read(given[part]) for part, (key, read) in settings.items() if part in given})
    [again] = all_scores([metric], context.systems, context.doc_ids)
    computed = np.array([[*each.segments, each.system] for each in again])
    for factor in (1, -1, 0.01, -0.01):  # --scale, and the negated TER of meta
        if np.allclose(np.column_stack([segments, of_systems]), factor * computed, rtol=0, atol=abs(factor) * ROUNDED):
            return metric, again, factor
    return None


def missing_words(context: Context, design: Design) -> Column | None:
    """The share of the first reference's words that an output lacks or has less often, in %. The order of words does not
    count. None without references.

    Words are the lower-case tokens of BLEU's tokenizer 13a; in Chinese, Japanese, Thai, Lao, Khmer and Burmese, they are the
    characters. NaN for a segment whose reference is empty.

    >>> texts = {"references": [["The dog sleeps on the sofa ."]], "systems": [["The dog sleeps .", "On the sofa"][:1]]}
    >>> from ctx_metrics.scoring.testing import USUAL
    >>> design = USUAL.design(texts["systems"], None)
    >>> round(missing_words(Context(**texts), design).scores[0].system, 1)    # on, the, sofa: 3 of 7
    42.9
    """
    if not context.references:
        return None
    by_characters = bleu_language(context.target_lang) in WITHOUT_SPACES
    tokenizer = TokenizerChar() if by_characters else Tokenizer13a()
    references = [Counter(tokenizer((text or "").lower()).split()) for text in context.references[0]]
    ranges = None if context.doc_ids is None else document_ranges(context.doc_ids)
    scores = []
    for system in context.systems:
        hypotheses = [Counter(tokenizer((text or "").lower()).split()) for text in system]
        rows = [[(words - own).total(), words.total()] for words, own in zip(references, hypotheses, strict=True)]
        table = np.array(rows, np.float64).reshape(-1, 2)
        documents = [] if ranges is None else [_share(table[start:end].sum(axis=0)) for start, end in ranges]
        segments = [_share(row) for row in table]
        scores.append(Scores(segments, documents, _share(table.sum(axis=0)), MISSING, table.tolist()))
    all_rows, of_systems = [each.rows for each in scores], [each.system for each in scores]
    comparison = compare(weighted_mean, all_rows, of_systems, design.ranges, sign=-1, testing=design.testing)
    signature = f"reference:1|case:lc|tok:{'char' if by_characters else '13a'}"
    return Column("missing", signature, scores, -1, comparison)


def _share(row: Sequence[float] | np.ndarray) -> float:
    return float(100 * row[0] / row[1]) if row[1] else float("nan")
