"""A model that learned with --language-tag reads "de: " before each output, wherever the language is known."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from cli_conftest import ctx  # noqa: F401  fixture
from damage import change
from toy_judgements import write_judgements
from unified_models import ALL, EXAMPLES, QUIET, RECIPE, data, learned, values  # noqa: F401  a fixture
from unified_oracle import plain_value

from ctx_metrics.engine.tokenizer import TextTokenizer
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.metrics.comet import COMET
from ctx_metrics.metrics.slide import SLIDE
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator
from ctx_metrics.training.loop import Progress
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.network import new_network
from ctx_metrics.training.quality.unified import UnifiedInputs, UnifiedTask

WAYS = ("mt+src", "mt+ref", ALL)
TAGGED = {"spoken": {"a": "de_AT", "d": "deu"}, "flags": ["language_tag"]}


@pytest.fixture(scope="module")
def models(data, tiny_bert, tiny_xlmr, tmp_path_factory):
    """Models over each kind of encoder, with the folder of the encoder."""
    made = {}
    for name, encoder in (("bert", tiny_bert), ("xlmr", tiny_xlmr)):
        made[name] = tmp_path_factory.mktemp("tagged") / name, encoder
        learned(encoder, data, made[name][0], **TAGGED)
    return made


@pytest.mark.full
@pytest.mark.parametrize("kind", ["bert", "xlmr"])
@pytest.mark.parametrize("inputs", WAYS)
def test_the_value_is_that_of_a_plain_forward_with_the_tag(models, kind, inputs):
    folder, encoder = models[kind]
    shares = json.loads((folder / "config.json").read_text())["shares"]
    for language, tag in (("de_AT", "de: "), ("zho", "zh: "), (None, "")):
        for example, value in zip(EXAMPLES, values(folder, EXAMPLES, inputs, target_lang=language), strict=True):
            read = example._replace(hypothesis=tag + example.hypothesis)
            ways = WAYS if inputs == ALL else (inputs,)
            plain = [plain_value(folder, encoder, read.texts(way), way.split("+")) for way in ways]
            assert value == pytest.approx(np.average(plain, weights=shares) if len(ways) == 3 else plain[0], abs=1e-5)
        estimator = load_estimator(str(folder), QUIET, inputs, target_lang=language)
        assert estimator.signature()["tag"] == (tag.rstrip(": ") or "none")
        [empty] = estimator.estimate([Example("", "a", "the")], "")
        assert empty.empty and empty.value == 0


@pytest.mark.full
def test_the_tag_is_part_of_what_is_cut_and_counted(models):
    plain, tagged = (load_estimator(str(models["xlmr"][0]), QUIET, "mt+src", target_lang=each) for each in (None, "de"))
    size = tagged.special_tokens - plain.special_tokens
    assert (
        size == plain.token_counts([Example("de:", None, "a")])[0] - plain.token_counts([Example("", None, "a")])[0] > 0
    )
    long = Example("the " * 1000, None, "the")
    [source, word] = plain.token_counts([Example("", None, "a"), Example("the", None, "")])
    at_most = Example("the " * ((plain.positions - plain.special_tokens - source) // word), None, "a")
    assert plain.is_cut([long]) == tagged.is_cut([long]) == [True]
    assert [each.is_cut([at_most]) for each in (plain, tagged)] == [[False], [True]]


@pytest.mark.full
def test_the_metrics_know_the_language(models, ctx, put):
    folder = str(models["xlmr"][0])
    hypotheses, sources = [each.hypothesis for each in EXAMPLES], [each.source for each in EXAMPLES]
    given = {"model": folder, "sources": sources, "engine": QUIET}
    found = {
        language: [score.score for score in COMET([], target_lang=language, **given).segment_scores(hypotheses)]
        for language in ("de", "zh", None)
    }
    sourced = [each._replace(reference=None) for each in EXAMPLES]
    wanted = [100 * value for value in values(folder, sourced, "mt+src", target_lang="de")]
    assert found["de"] == pytest.approx(wanted) and len({*map(tuple, found.values())}) == 3
    assert "|tg:de|" in str(COMET([], target_lang="de", **given).get_signature().format(True))
    slide = SLIDE([], target_lang="de", window=1, **given)
    assert [score.score for score in slide.segment_scores(hypotheses)] == pytest.approx(wanted)
    argv = ["-s", put("src.txt", *sources), "-t", put("out.txt", *hypotheses), "-l", "en-de", "-m", "comet"]
    scored = ctx("score", *argv, "--comet-model", folder, "--format", "jsonl", "-q").objects()
    assert [each["score"] for each in scored if each["level"] == "segment"] == pytest.approx(wanted, abs=1e-4)
    [of_system] = [each for each in scored if each["level"] == "system"]
    assert "|tag:de|" in of_system["signature"]


def test_a_fifth_of_the_segments_is_read_without(data, tiny_xlmr, tmp_path):
    many = read_training_set([str(write_judgements(tmp_path / "a.tsv", 40, 1))], ALL)
    tokenizer = TextTokenizer(tiny_xlmr)
    reading = tokenizer, "XLM-RoBERTa", 512, 100
    inputs = [UnifiedInputs(many, *reading, {"a": "de"}), UnifiedInputs(data[1], *reading)]
    task = UnifiedTask(new_network(tiny_xlmr, 2, 5), RECIPE, many, inputs[0], data[1], inputs[1], torch.device("cpu"))
    drawn = []
    for epoch in (0, 1, 2, 3, 0):
        task.batches(Progress(rate=0.1, epoch=epoch))
        drawn.append({*inputs[0].bare})
        for row, hypothesis in enumerate(many.hypotheses):
            own = tokenizer([hypothesis if row in inputs[0].bare else f"de: {hypothesis}"])[0].ids
            assert inputs[0].sequence(row, "mt+src").ids[: len(own)].tolist() == own.tolist()
    assert drawn[0] == drawn[4] and len({*map(frozenset, drawn)}) == 4
    assert 0.1 < sum(map(len, drawn[:4])) / (4 * len(many)) < 0.3
    for bare in drawn:
        groups = {many.groups[row] for row in bare}
        assert bare == {row for row, group in enumerate(many.groups) if group in groups}


def test_synthetic_rows_have_the_tags_of_their_own_data_sets(data, tiny_xlmr):
    tokenizer = TextTokenizer(tiny_xlmr)
    judged = UnifiedInputs(data[0], tokenizer, "XLM-RoBERTa", 512, 100, {"a": "de", "clean": "zh"})
    made = replace(data[0], origins=[origin._replace(dataset="clean") for origin in data[0].origins])
    both, rows = judged.with_more(made), len(data[0])
    for row in (0, rows):
        text = ("zh: " if row else "de: ") + data[0].hypotheses[0]
        own = tokenizer([text])[0].ids
        assert both.sequence(row, "mt+src").ids[: len(own)].tolist() == own.tolist()


@pytest.mark.full
def test_a_model_without_tags_reads_none(data, tiny_xlmr, models, tmp_path):
    plain, tagged = tmp_path / "plain", models["xlmr"][0]
    learned(tiny_xlmr, data, plain, spoken=TAGGED["spoken"])
    config, of_tagged = (json.loads((folder / "config.json").read_text()) for folder in (plain, tagged))
    assert of_tagged["tag"] is True and config.keys() == of_tagged.keys() - {"tag"}
    one, other = (load_estimator(str(plain), QUIET, target_lang=language) for language in ("de", None))
    assert one.estimate(EXAMPLES, "") == other.estimate(EXAMPLES, "")
    assert one.signature() == other.signature() and "tag" not in one.signature()
    assert one.special_tokens == other.special_tokens


def test_a_model_without_tags_neither_starts_from_one_nor_is_read_as_one(data, tiny_xlmr, models, tmp_path):
    folder = models["xlmr"][0]
    with pytest.raises(InputError, match="--language-tag"):
        learned(tiny_xlmr, data, tmp_path / "m", init=folder)
    with pytest.raises(ModelError, match="tag"):
        load_estimator(str(change(shutil.copytree(folder, tmp_path / "copy"), tag="de")), QUIET)


@pytest.mark.full
def test_the_command_says_of_which_data_the_language_is_unknown(tiny_xlmr, ctx, tmp_path):
    for name, segments in (("a.en-de", 8), ("mine", 6), ("d.en-de", 6)):
        write_judgements(tmp_path / f"{name}.tsv", segments, segments)
    argv = ["--train", tmp_path / "a.en-de.tsv", tmp_path / "mine.tsv", "--dev", tmp_path / "d.en-de.tsv"]
    argv += ["--encoder", tiny_xlmr, "--inputs", "mt+src", *"--rank 2 --feedforward 5 --batch 8 --no-plot".split()]
    done = ctx("train", "comet", *argv, "--language-tag", "--out", tmp_path / "out")
    assert done.code == 0 and json.loads((tmp_path / "out" / "config.json").read_text())["tag"] is True
    assert "the target language of 1 data set is unknown (mine)" in done.err
    assert "its target language, such as `de: `" in (tmp_path / "out" / "README.md").read_text()
