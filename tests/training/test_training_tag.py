"""A model that learned with --language-tag reads "de: " before each output, wherever the language is known."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from cli_conftest import ctx  # noqa: F401  fixture
from toy_judgements import write_judgements
from unified_oracle import plain_value

from ctx_metrics.engine.tokenizer import TextTokenizer
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.metrics.comet import COMET
from ctx_metrics.metrics.slide import SLIDE
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator
from ctx_metrics.training.loop import Progress
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.network import new_network
from ctx_metrics.training.quality.recipe import UNIFIED, Architecture
from ctx_metrics.training.quality.unified import UnifiedInputs, UnifiedTask, learn_unified

QUIET = EngineOptions(device="cpu", quiet=True)
RECIPE = replace(UNIFIED, learning_rate=5e-3, batch=8, epochs=2)
WAYS = ("mt+src", "mt+ref", "mt+src+ref")
EXAMPLES = [
    Example("the cat sat on the mat", "a cat sat", "old dog"),
    Example("rain", "home river city", "a a a a a a"),
    Example("light bird", "slow", "slow"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    paths = [str(write_judgements(folder / f"{name}.tsv", n, n)) for name, n in (("a", 40), ("d", 6))]
    return read_training_set(paths[:1], "mt+src+ref"), read_development(paths[1:], inputs="mt+src+ref")


def learned(encoder, data, out, spoken={"a": "de_AT", "d": "deu"}, tag=True, init=None):
    architecture = Architecture("comet", str(encoder), inputs="mt+src+ref", rank=2, feedforward=5, language_tag=tag)
    return learn_unified(architecture, RECIPE, *data, out=out, engine=QUIET, spoken=spoken, init=init)


@pytest.fixture(scope="module")
def models(data, tiny_bert, tiny_xlmr, tmp_path_factory):
    """Models over each kind of encoder, with the folder of the encoder."""
    made = {}
    for name, encoder in (("bert", tiny_bert), ("xlmr", tiny_xlmr)):
        made[name] = tmp_path_factory.mktemp("tagged") / name, encoder
        learned(encoder, data, made[name][0])
    return made


@pytest.mark.full
@pytest.mark.parametrize("kind", ["bert", "xlmr"])
@pytest.mark.parametrize("inputs", WAYS)
def test_the_value_is_that_of_a_plain_forward_with_the_tag(models, kind, inputs):
    folder, encoder = models[kind]
    shares = json.loads((folder / "config.json").read_text())["shares"]
    for language, tag in (("de_AT", "de: "), ("zho", "zh: "), (None, "")):
        estimator = load_estimator(str(folder), QUIET, inputs, target_lang=language)
        found = [each.value for each in estimator.estimate(EXAMPLES, "")]
        for example, value in zip(EXAMPLES, found, strict=True):
            read = example._replace(hypothesis=tag + example.hypothesis)
            ways = WAYS if inputs == "mt+src+ref" else (inputs,)
            plain = [plain_value(folder, encoder, read.texts(way), way.split("+")) for way in ways]
            assert value == pytest.approx(np.average(plain, weights=shares) if len(ways) == 3 else plain[0], abs=1e-5)
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
def test_the_metrics_know_the_language(models, ctx, tmp_path, caplog):
    folder = str(models["xlmr"][0])
    hypotheses, sources = [each.hypothesis for each in EXAMPLES], [each.source for each in EXAMPLES]
    given = {"model": folder, "sources": sources, "engine": QUIET}
    values = {
        language: [score.score for score in COMET([], target_lang=language, **given).segment_scores(hypotheses)]
        for language in ("de", "zh", None)
    }
    estimator = load_estimator(folder, QUIET, "mt+src", target_lang="de")
    wanted = [100 * each.value for each in estimator.estimate([each._replace(reference=None) for each in EXAMPLES], "")]
    assert values["de"] == pytest.approx(wanted) and len({*map(tuple, values.values())}) == 3
    assert "|tg:de|" in str(COMET([], target_lang="de", **given).get_signature().format(True))
    slide = SLIDE([], target_lang="de", window=1, **given)
    assert [score.score for score in slide.segment_scores(hypotheses)] == pytest.approx(wanted)

    files = {}
    for name, lines in (("out.txt", hypotheses), ("src.txt", sources), ("other.txt", ["slow"] * 3)):
        files[name] = tmp_path / name
        files[name].write_text("".join(f"{line}\n" for line in lines))
    argv = ["-s", files["src.txt"], "-m", "comet", "--comet-model", folder, "--format", "jsonl", "-q"]
    scored = ctx("score", "-t", files["out.txt"], "-l", "en-de", *argv).objects()
    assert [each["score"] for each in scored if each["level"] == "segment"] == pytest.approx(wanted, abs=1e-4)
    [of_system] = [each for each in scored if each["level"] == "system"]
    assert "|tag:de|" in of_system["signature"]
    chosen = ctx("rerank", files["out.txt"], files["other.txt"], "-l", "en-zh", *argv)
    lists = [json.loads(line) for line in chosen.out.splitlines()]
    assert [each["scores"][0] for each in lists] == pytest.approx(values["zh"], abs=1e-3)

    table = tmp_path / "t.tsv"
    table.write_text("src\tmt\n" + "".join(f"{a}\t{b}\n" for a, b in zip(sources, hypotheses, strict=True)))
    ctx("annotate", table, "-o", tmp_path / "o", "-l", "en-de", "-m", "comet", "--comet-model", folder, "-q")
    [part] = (tmp_path / "o").glob("part-*")
    rows = part.read_text().splitlines()[1:]
    assert [float(row.split("\t")[-1]) for row in rows] == pytest.approx(wanted, abs=1e-3)


def test_a_fifth_of_the_segments_is_read_without(data, tiny_xlmr):
    tokenizer = TextTokenizer(tiny_xlmr)
    reading = tokenizer, "XLM-RoBERTa", 512, 100
    inputs = [UnifiedInputs(data[0], *reading, {"a": "de"}), UnifiedInputs(data[1], *reading)]
    network = new_network(tiny_xlmr, 2, 5)
    task = UnifiedTask(network, RECIPE, data[0], inputs[0], data[1], inputs[1], torch.device("cpu"))
    drawn = []
    for epoch in (0, 1, 2, 3, 0):
        task.batches(Progress(rate=0.1, epoch=epoch))
        drawn.append({*inputs[0].bare})
        for row in range(len(data[0])):
            text = data[0].hypotheses[row] if row in inputs[0].bare else "de: " + data[0].hypotheses[row]
            ids = inputs[0].sequence(row, "mt+src").ids
            own = tokenizer([text])[0].ids
            assert ids[: len(own)].tolist() == own.tolist()
    assert drawn[0] == drawn[4] and len({*map(frozenset, drawn)}) == 4
    assert 0.1 < sum(map(len, drawn[:4])) / (4 * len(data[0])) < 0.3
    for bare in drawn:
        groups = {data[0].groups[row] for row in bare}
        assert bare == {row for row, group in enumerate(data[0].groups) if group in groups}


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
def test_without_tags_everything_is_as_it_was(data, tiny_xlmr, models, tmp_path):
    learned(tiny_xlmr, data, tmp_path / "plain", tag=False)
    config = json.loads((tmp_path / "plain" / "config.json").read_text())
    assert "tag" not in config and config.keys() == json.loads(
        (models["xlmr"][0] / "config.json").read_text()
    ).keys() - {"tag"}
    one, other = (load_estimator(str(tmp_path / "plain"), QUIET, target_lang=language) for language in ("de", None))
    assert one.estimate(EXAMPLES, "") == other.estimate(EXAMPLES, "")
    assert one.signature() == other.signature() and "tag" not in one.signature()
    assert one.special_tokens == other.special_tokens


@pytest.mark.full
def test_first_weights_keep_their_tags(data, tiny_xlmr, models, tmp_path):
    with pytest.raises(
        InputError,
        match=r"has tag \(--language-tag\); start from a model with the same settings, or give its settings as flags",
    ):
        learned(tiny_xlmr, data, tmp_path / "m", tag=False, init=models["xlmr"][0])
    learned(tiny_xlmr, data, tmp_path / "n", init=models["xlmr"][0])
    assert load_estimator(str(tmp_path / "n"), QUIET, target_lang="de").signature()["tag"] == "de"


@pytest.mark.full
def test_the_command(tiny_xlmr, ctx, tmp_path):
    for name, segments in (("a.en-de", 8), ("mine", 6), ("d.en-de", 6)):
        write_judgements(tmp_path / f"{name}.tsv", segments, segments)
    argv = [
        "train",
        "comet",
        "--train",
        tmp_path / "a.en-de.tsv",
        tmp_path / "mine.tsv",
        "--dev",
        tmp_path / "d.en-de.tsv",
    ]
    argv += ["--encoder", tiny_xlmr, "--inputs", "mt+src", *"--rank 2 --feedforward 5 --batch 8 --no-plot".split()]
    done = ctx(*argv, "--language-tag", "--out", tmp_path / "out")
    assert done.code == 0 and json.loads((tmp_path / "out" / "config.json").read_text())["tag"] is True
    assert (
        "--language-tag: the target language of 1 data set is unknown (mine), so the outputs have no tag; "
        "give the pair with -l" in done.err
    )
    assert "its target language, such as `de: `" in (tmp_path / "out" / "README.md").read_text()
    ctx(*argv, "--out", tmp_path / "plain")
    assert "target language, such as" not in (tmp_path / "plain" / "README.md").read_text()


def test_a_tag_that_is_neither_true_nor_false(models, tmp_path):
    copy = shutil.copytree(models["xlmr"][0], tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "tag": "de"}))
    with pytest.raises(ModelError, match="config.json: tag is 'de', which is not valid; copy the folder again"):
        load_estimator(str(copy), QUIET)
