import pytest

from ctx_metrics.training.card import command
from ctx_metrics.training.data import Source
from ctx_metrics.training.quality.learn import TrainingResult
from ctx_metrics.training.quality.report import card, curve
from ctx_metrics.training.quality.task import Check

CHECKS = [Check(10 * k, k, 300 * k, 1 / k, [0.1, 0.4, 0.35][k - 1], 0.5 ** (k // 3)) for k in (1, 2, 3)]
CONFIG = {
    "encoder": "/home/someone/xlm-r",
    "encoder_ckpt": "0123456789ab",
    "languages": ["de", "en"],
    "layers": [1, 3],
    "inputs": "mt+ref",
    "max_length": 77,
    "empty_value": -2.25,
    "network": {"layers": 2, "width": 48, "hidden": 8},
    "training": {"loss": "mse", "patience": None, "seed": 4, "rows": 12345, "init": "older"},
    "commands": ["ctx-metrics train esim"],
    "development": {"metric": "pearson", "score": 0.4, "step": 20, "sets": {"news.cs-en": 0.5, "news.en-de": 0.3}},
    "targets": {"normalise": "annotator", "average": False, "penalties_rooted": ["mqm.zh-en"]},
}
TRAINING = [
    Source("da", "ab" * 32, 1.0, {"rows": 9, "kept": 6, "of human systems": 3}),
    Source("q|r.tsv", "cd" * 32, 0.25, {"rows": 2, "kept": 2}),
]
DEVELOPMENT = [Source("dev.tsv", "ef" * 32, None, {"rows": 5, "kept": 5})]


def trained(checks=CHECKS, **changes) -> TrainingResult:
    return TrainingResult({**CONFIG, **changes}, list(checks), max(range(len(checks)), key=lambda k: checks[k].score))


def made(kind="esim", checks=CHECKS, **changes) -> str:
    return card("my-model", kind, trained(checks, **changes), {"train": TRAINING, "development": DEVELOPMENT})


def test_what_the_card_says():
    own = command(["esim", "--train", "/home/someone/da:1", "q|r.tsv:.25", "--init", "older", "--out", "~/my-model"])
    text = made(commands=["ctx-metrics train esim --train x --out older", own])
    for line in (
        "# my-model: ESIM",
        "    sacrebleu REF -i HYP -m esim --esim-model my-model",
        "| encoder | xlm-r, not trained |",
        "| layers | 1, 3 |",
        "| languages | de, en |",
        "| network: hidden | 8 |",
        f"| da | 1 | 9 | 6 | 3 of human systems | {'ab' * 32} |",
        f"| q\\|r.tsv | 0.25 | 2 | 2 |  | {'cd' * 32} |",
        f"| dev.tsv | 5 | 5 |  | {'ef' * 32} |",
        "| seed | 4 |",
        "    ctx-metrics train esim --train x --out older",  # all that leads here
        "    ctx-metrics train esim --train da:1 'q|r.tsv:.25' --init older --out my-model",
        "| news.cs-en | 0.5000 |",
        "| mean | 0.4000 |",
        "| 300 | 1 | 1.0000 | 0.1000 | 1 |",
        "| 600 | 2 | 0.5000 | **0.4000** | 1 |",
    ):
        assert line in text.split("\n"), line
    for words in ("12,345 rows", "older", "penalties (mqm.zh-en)", "-2.2500", "77 tokens", "cs-en, en-de"):
        assert words in text, words
    assert "/home" not in text and "checks.jsonl" not in text


def test_what_the_card_says_of_columns_and_lists():
    """Only where there are some; test_what_the_card_says has the tables without."""
    summed = Source("t.tsv", "ab" * 32, 1.0, {"rows": 9, "kept": 8, "listed in dev.txt": 1}, "z(A) - 2 z(B)")
    listed = Source("dev.txt", "cd" * 32, None, {"lines": 1200, "found": 7})
    sets = {"train": [summed, TRAINING[1]], "development": DEVELOPMENT, "left_out": [listed]}
    text, plain = card("m", "esim", trained(), sets), made()
    for line in (
        "| path | weight | scored by | rows | used | of which, or left out | sha256 |",
        f"| t.tsv | 1 | z(A) - 2 z(B) | 9 | 8 | 1 listed in dev.txt | {'ab' * 32} |",
        f"| q\\|r.tsv | 0.25 |  | 2 | 2 |  | {'cd' * 32} |",
        f"| dev.txt | 1200 | 7 | {'cd' * 32} |",
        f"| dev.tsv | 5 | 5 |  | {'ef' * 32} |",
    ):
        assert line in text.split("\n"), line
    assert summed.as_json()["scores"] == "z(A) - 2 z(B)" and "scores" not in listed.as_json()
    for words in ("or of those that the table names", "scored by", "were left out"):
        assert words in text and words not in plain


def test_what_differs():
    assert "Identical texts score 1" in made("comet") and "not a COMET checkpoint" in made("comet")
    taught = made(targets={"teacher": "comet|model:x"})
    assert "scores of the metric `comet|model:x`" in taught and "the mean of what its teacher gave" in taught
    assert "as z-scores of all rows." in taught and "human scores" not in taught
    plain = made(targets={"normalise": "none", "average": True, "penalties_rooted": []})
    assert "on the scale of the data" in plain and "averaged over the judgements of an output" in plain
    assert "the translation and its source" in made(inputs="mt+src")
    assert "| languages | those of the encoder |" in made(languages=None)


def test_what_the_card_says_of_a_teacher_of_some_paths():
    own = Source("da", "ab" * 32, 1.0, {"rows": 9, "kept": 9}, "chrf")
    targets = {**CONFIG["targets"], "teacher": "nrefs:1|x", "taught": ["da"]}
    of_teacher = "targets are scores of the metric `nrefs:1|x`, as z-scores of each data set"
    for paths, words in (
        (
            [own, TRAINING[1]],
            [", for the rows of da; for the others z-scores of each annotator", "people or its teacher"],
        ),
        ([own], [". It", "0 is the mean of what its teacher gave"]),
    ):
        sets = {"train": paths, "development": DEVELOPMENT}
        text = card("m", "esim", trained(targets=targets), sets)
        assert of_teacher + words[0] in text and words[1] in text
        assert f"| da | 1 | chrf | 9 | 9 |  | {'ab' * 32} |" in text


def test_of_many_checks_the_best_is_among_those_shown():
    checks = [Check(k, 1, 10 * k, 1.0, 0.9 if k == 59 else 0.1, 1.0) for k in range(1, 101)]
    text = made(checks=checks)
    shown = text.split("| rows read |")[1].split("\n\n")[0].split("\n")[2:]
    assert len(shown) == 35 and "| 590 | 1 | 1.0000 | **0.9000** | 1 |" in shown  # every third of 100, and the best
    assert "35 of 100 checks; checks.jsonl has all." in text


def test_the_curve():
    pytest.importorskip("matplotlib")
    figure = curve(trained(development={**CONFIG["development"], "metric": "darr"}), "my$model")
    above, below = figure.axes
    assert above.lines[0].get_xydata().tolist() == [[300, 1], [600, 0.5], [900, pytest.approx(1 / 3)]]
    assert below.lines[0].get_ydata().tolist() == [0.1, 0.4, 0.35] and "DARR" in below.get_ylabel()
    star = below.lines[-1]
    assert star.get_marker() == "*" and star.get_xydata().tolist() == [[600, 0.4]]
    assert [text.get_text() for text in below.texts] == ["0.400"] and "my\\$model" in above.get_title()
    curve(trained(CHECKS[:1]), "one check")
