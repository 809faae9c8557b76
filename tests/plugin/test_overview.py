"""Our part of sacrebleu's help: short, complete, and pointing to the rest; and what it says of misspelt words."""

import re

import pytest
from plugin_conftest import REF
from plugin_conftest import fresh_sacrebleu as sacrebleu
from sacrebleu.metrics import METRICS

SCREEN = 40


@pytest.fixture(scope="module")
def ours() -> str:
    done = sacrebleu("--help")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout[done.stdout.index("Metrics of ctx-metrics") :]


def test_it_fits_on_a_screen(ours):
    stock = sacrebleu("--help", CTX_METRICS_NO_AUTOLOAD="1").stdout
    assert len(ours.splitlines()) <= SCREEN and max(map(len, ours.splitlines())) <= 80
    # nothing of ours is elsewhere; an empty line parts it from the rest
    assert len(sacrebleu("--help").stdout.splitlines()) - len(stock.splitlines()) == len(ours.splitlines()) + 1


def test_each_metric_has_a_line_with_its_main_flags(ours):
    lines = dict(re.findall(r"^  ([a-z]\w*) +(--.*)$", ours, re.M))
    assert [*lines] == METRICS.plugins
    assert lines["slide"] == "--slide-model MODEL, --slide-window W"
    assert lines["comet"] == "--comet-model MODEL, --comet-inputs"
    assert lines["rttbertscore"] == "--rtt-bertscore-model MODEL, --rtt-bertscore-idf"
    assert all(1 <= len(flags.split(", ")) <= 2 for flags in lines.values())


def test_it_points_to_the_rest(ours):
    text = " ".join(ours.split())
    assert "`ctx-metrics flags NAME` explains" in text and "`ctx-metrics flags` explains" in text
    assert {"--source", "--docids", "--rtt-bt", "--pseudo-filter", "--ctx-device", "--ctx-report", "--ctx-peers"} <= {
        *re.findall(r"--[\w-]+", ours)
    }


def test_a_metric_that_is_named_shows_its_flags():
    text = sacrebleu("-m", "slide", "bertr", "--help").stdout
    assert "SLIDE related arguments:" in text and "  --slide-partial {drop,include,weight}" in text
    assert "BERTR related arguments:" in text and "COMET related arguments" not in text


@pytest.mark.parametrize(
    "argv, meant",
    [
        (["-m", "comte"], "comet"),
        (["-m", "slide", "--slide-windw", "3"], "--slide-window"),
        (["-m", "slide", "--slide-modle=x"], "--slide-model"),
        (["--docid-s", "x", "-m", "slide"], "--docids"),
        (["--ctx-divice", "cpu"], "--ctx-device"),
        (["--paired-boot"], "--paired-bs"),
    ],
    ids=str,
)
def test_a_misspelt_word_is_corrected(argv, meant):
    done = sacrebleu(REF, *argv)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].count(f"; did you mean {meant}?") == 1
