"""integrations/seq2seq_ctx.py with a tokenizer, and in a Seq2SeqTrainer of transformers where accelerate is installed."""

import math

import numpy as np
import pytest
from recipes import DOCUMENTS, OUTPUTS, REFERENCES, SOURCES, near, recipe, scored
from sacrebleu.metrics import CHRF

from ctx_metrics import SLIDE

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def tokenizer():
    """One token for each character."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted({letter for text in (*OUTPUTS, *REFERENCES, *SOURCES) for letter in text})
    vocabulary = {token: number for number, token in enumerate(["<pad>", "</s>", *letters])}
    tokens = Tokenizer(models.WordLevel(vocabulary, unk_token="</s>"))
    tokens.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    tokens.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="<pad>", eos_token="</s>")


def padded(tokenizer, texts):
    ids = [tokenizer(text)["input_ids"] for text in texts]
    return np.array([row + [-100] * (max(map(len, ids)) - len(row)) for row in ids])


def test_predictions_and_labels_are_decoded(tokenizer):
    from transformers import EvalPrediction

    compute = recipe("seq2seq_ctx").compute_metrics(
        tokenizer, {"chrf": {}, "slide": {"window": 2}}, languages="de-en", sources=SOURCES, doc_ids=DOCUMENTS
    )
    outputs, labels = padded(tokenizer, OUTPUTS), padded(tokenizer, REFERENCES)
    for predictions in (outputs, (outputs, "encoder states")):
        found = compute(EvalPrediction(predictions=predictions, label_ids=labels))
        assert found["chrf"] == scored(CHRF)
        assert found["slide"] == scored(SLIDE, window=2, doc_ids=DOCUMENTS, target_lang="en")


def test_a_trainer_reports_the_scores(tokenizer, tmp_path):
    pytest.importorskip("accelerate")
    from transformers import (
        BartConfig,
        BartForConditionalGeneration,
        DataCollatorForSeq2Seq,
        Seq2SeqTrainer,
        Seq2SeqTrainingArguments,
    )

    sizes = {f"{side}_{what}": 1 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    ends = dict.fromkeys(("bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_eos_token_id"), 1)
    narrow = {"vocab_size": len(tokenizer), "d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    model = BartForConditionalGeneration(BartConfig(**narrow, **sizes, **ends, pad_token_id=0))
    rows = [
        {"input_ids": tokenizer(source)["input_ids"], "labels": tokenizer(reference)["input_ids"]}
        for source, reference in zip(SOURCES[:4], REFERENCES[:4], strict=True)
    ]
    trainer = Seq2SeqTrainer(
        model,
        Seq2SeqTrainingArguments(
            str(tmp_path), predict_with_generate=True, generation_max_length=8, report_to=[], use_cpu=True
        ),
        data_collator=DataCollatorForSeq2Seq(tokenizer, model),
        eval_dataset=rows,
        compute_metrics=recipe("seq2seq_ctx").compute_metrics(tokenizer, {"chrf": {}}),
    )
    found = trainer.predict(rows)
    decoded = tokenizer.batch_decode(np.where(found.predictions < 0, 0, found.predictions), skip_special_tokens=True)
    expected = CHRF().corpus_score([text.strip() for text in decoded], [REFERENCES[:4]]).score
    assert found.metrics["test_chrf"] == near(expected) and math.isfinite(trainer.evaluate()["eval_chrf"])
