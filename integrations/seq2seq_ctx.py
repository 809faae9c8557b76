"""`compute_metrics` for transformers' Seq2SeqTrainer.

    trainer = Seq2SeqTrainer(..., compute_metrics=compute_metrics(tokenizer, {"comet": {}, "slide": {}}, doc_ids=ids,
                             languages="de-en", sources=dev["source"]))

Give `predict_with_generate=True` in the trainer's arguments. Sources and document ids are those of the evaluation set, in
its order; a trainer with several evaluation sets needs a function for each.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import named_languages
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.context import Context, MetricSettings, build_all


def compute_metrics(
    tokenizer: Any,
    metrics: Mapping[str, Mapping[str, Any]],
    *,
    languages: str = "",
    sources: Sequence[str] | None = None,
    doc_ids: Sequence[str] | None = None,
    device: str = "auto",
) -> Callable[[Any], dict[str, float]]:
    """A function that decodes a trainer's predictions and labels, and returns each metric's corpus score.

    metrics    names, such as "comet", with settings for each, such as {"model": "Unbabel/wmt22-comet-da"}
    """
    source_lang, target_lang = named_languages(languages)

    def decoded(ids: Any) -> list[str]:
        padded = np.where(np.asarray(ids) >= 0, ids, tokenizer.pad_token_id)  # labels and short outputs hold -100
        return [text.strip() for text in tokenizer.batch_decode(padded, skip_special_tokens=True)]

    def compute(prediction: Any) -> dict[str, float]:
        ids = prediction.predictions
        outputs, references = decoded(ids[0] if isinstance(ids, tuple) else ids), decoded(prediction.label_ids)
        context = Context(
            references=[references],
            sources=sources,
            doc_ids=doc_ids,
            source_lang=source_lang,
            target_lang=target_lang,
            engine=EngineOptions(device=device),
        )
        table = metric_table()
        built = build_all(
            [MetricSettings(name, table[name.upper()], settings) for name, settings in metrics.items()], context
        )
        return {name: float(metric.corpus_score(outputs, None).score) for name, metric in built.items()}

    return compute
