"""The card and the learning curve of a pairwise model."""

from pathlib import Path

import pytest

from ctx_metrics.pairwise.training.learn import Architecture, TrainingResult
from ctx_metrics.pairwise.training.recipe import PairwiseRecipe
from ctx_metrics.pairwise.training.report import card, curve
from ctx_metrics.pairwise.training.task import Check
from ctx_metrics.training.card import command
from ctx_metrics.training.data import Source

CHECKS = [
    Check("logistic", 1, 0.7, 0.1),
    Check("logistic", 2, 0.6, 0.3),
    Check("kendall", 1, 0.9, 0.3),
    Check("kendall", 2, 0.8, 0.2),
]
CONFIG = {
    "encoder": "/home/someone/xlm-r/",
    "encoder_ckpt": "0123456789ab",
    "languages": ["de", "en"],
    "features": [
        {"spec": "chrf:word_order=2", "columns": 1, "signature": "chrf|nc:6|nw:2"},
        {"spec": "meteor", "columns": 1, "signature": "meteor|stem:porter"},
    ],
    "vectors": [],
    "network": {"vectors": 25, "hidden": 8},
    "training": {"pairs": 12345},
    "development": {"pairs": 1234},
}
TRAINING = [Source("da", "ab" * 32, None, {"rows": 9, "kept": 6, "of the same text": 3})]
DEVELOPMENT = [Source("dev|x.tsv", "cd" * 32, None, {"rows": 5, "kept": 5})]
ARCHITECTURE = Architecture(("chrf:word_order=2", "meteor"), ("encoder:25", "/home/someone/glove.txt"))
TAUS = {"chrf": 0.25, "meteor": float("nan")}


def made(checks=CHECKS, architecture=ARCHITECTURE, development=DEVELOPMENT, drawn="", argv=("pairwise",), **changes):
    best = max(range(len(checks)), key=lambda k: checks[k].tau)
    trained = TrainingResult({**CONFIG, **changes}, list(checks), best, TAUS)
    recipe = PairwiseRecipe(patience=None, seed=4)
    sources = {"train": TRAINING, "development": development}
    return card("my-model", architecture, recipe, trained, sources, drawn, command(argv))


def test_what_the_card_says():
    text = made(argv=["pairwise", "--train", "/home/someone/da", "--out", "~/my-model"])
    for line in (
        "# my-model: pairwise evaluation",
        "    sacrebleu REF -i SYSTEM1 SYSTEM2 -m pairwise --pairwise-model my-model",
        "    ctx-metrics pairwise rank REF -i SYSTEM1 SYSTEM2 --model my-model",
        "| features of an output | chrf:word_order=2, meteor |",
        "| sentence vectors | encoder:25, glove.txt |",
        "| encoder | xlm-r, not trained |",
        "| languages | de, en |",
        "| network: hidden | 8 |",
        "| chrf:word_order=2, as it was computed | chrf\\|nc:6\\|nw:2 |",
        f"| da | 9 | 6 | 3 of the same text | {'ab' * 32} |",
        f"| dev\\|x.tsv | 5 | 5 |  | {'cd' * 32} |",
        "    ctx-metrics train pairwise --train da --out my-model",
        "| the model | 0.3000 |",
        "| chrf | 0.2500 |",
        "| meteor | - |",
        "| logistic | 2 | 0.6000 | **0.3000** |",
        "| kendall | 1 | 0.9000 | 0.3000 |",
    ):
        assert line in text.split("\n"), line
    for words in ("12,345 pairs", "There are 1,234 pairs.", "It is for de, en,", "tokenizers ", "nltk ", "sacrebleu "):
        assert words in text, words
    assert "/home" not in text and "checks.jsonl" not in text and str(Path.cwd()) not in text
    assert text.endswith(".\n") and "\n\n\n" not in text


def test_what_differs():
    text = made(development=[], drawn="Drawn by the seed.", languages=None, encoder=None, encoder_ckpt=None)
    assert (
        "Drawn by the seed.\n\n## Recipe" in text and "dev" not in text.split("## Agreement")[1].split("chrf")[0][-200:]
    )
    assert "| languages | those of what it reads |" in text and "for whatever it reads" in text
    assert "weights (sha256)" not in text and "tokenizers " not in text
    plain = made(architecture=Architecture((), ("encoder",)), features=[])
    assert "| features of an output | none |" in plain and "nltk" not in plain and "sacrebleu 2" not in plain
    assert "| sentence vectors | none |" in made(architecture=Architecture(("bleu",), ()))


def test_the_curve():
    pytest.importorskip("matplotlib")
    figure = curve(CHECKS, 2, "my$model")
    above, below = figure.axes
    assert [line.get_xydata().tolist() for line in above.lines[:2]] == [[[1, 0.7], [2, 0.6]], [[3, 0.9], [4, 0.8]]]
    assert [line.get_ydata().tolist() for line in below.lines[:2]] == [[0.1, 0.3], [0.3, 0.2]]
    assert above.lines[2].get_xdata() == [2.5, 2.5]  # where the cost changes
    star = below.lines[-1]
    assert star.get_marker() == "*" and star.get_xydata().tolist() == [[3, 0.3]]
    assert [text.get_text() for text in above.texts] == ["kendall cost"] and "tau" in below.get_ylabel()
    assert above.lines[0].get_marker() == "o" and "my\\$model: best of 4 epochs" in above.get_title()
    above = curve([Check("kendall", k, 1 / k, 0.1) for k in range(1, 102)], 100, "long").axes[0]
    assert above.lines[0].get_marker() == "None" and len(above.lines[0].get_xdata()) == 101 and not above.texts
