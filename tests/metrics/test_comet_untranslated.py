"""Without a reference, our multilingual models give texts that are not translations a fixed score, in every command."""

import json

import pytest
from cli_conftest import ctx  # noqa: F401  fixture

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.metrics.comet import COMET
from ctx_metrics.metrics.slide import SLIDE, slide_grid
from ctx_metrics.models.comet.model import UNTRANSLATED
from ctx_metrics.models.estimator import Example

QUIET = EngineOptions(device="cpu", quiet=True)
SOURCES = [
    "The bakery opens at nine every morning.",
    "The cat was sitting on the old mat.",
    "Nobody answered the telephone yesterday.",
    "It will probably rain in the afternoon.",
    "OK",
    "We left before the others had arrived.",
]
SYSTEM = [
    "Die Bäckerei öffnet jeden Morgen um neun.",
    "the cat was sitting on the old mat",
    "Personne n'a répondu au téléphone hier soir.",
    "?!",
    "OK",
    "",
]
FIXED = [1, 2, 3]
GIVEN = {"source_lang": "en", "target_lang": "de", "sources": SOURCES, "engine": QUIET}


def test_the_score_is_fixed_and_said(multilingual, caplog):
    metric = COMET([], [SYSTEM], **GIVEN)
    scores = [score.score for score in metric.segment_scores(SYSTEM)]
    assert [scores[i] for i in FIXED] == [100 * UNTRANSLATED] * 3
    free = metric.estimator.estimate([Example(*each) for each in zip(SYSTEM, [None] * 6, SOURCES, strict=True)], "")
    assert [scores[i] / 100 for i in (0, 4)] == pytest.approx([free[i].value for i in (0, 4)])
    assert min(free[i].value for i in FIXED) > 0.05  # what the network makes of them
    [result] = metric.system_results()
    assert (result.counts["untranslated"], result.counts["empty"]) == (3, 1)
    assert [i for i, scored in enumerate(result.windows) if scored.estimate.untranslated] == FIXED
    said = "3 segments are not translations (a copy of the source, another language, or no words) and score 0"
    assert f"comet: {said} (segments 2, 3, 4)" in caplog.text
    assert "untranslated:0|" in str(metric.get_signature().format())
    assert "|ut:0|" in str(metric.get_signature().format(True))


def test_with_a_reference_or_an_unknown_language(multilingual):
    references = [["Die Bäckerei macht um neun auf."] * 6]
    metric = COMET(references, **GIVEN)
    assert "untranslated" not in metric.signature
    assert all(metric.segment_scores(SYSTEM)[i].score for i in FIXED)
    unknown = COMET([], model="multilingual", sources=SOURCES, engine=QUIET).segment_scores(SYSTEM)
    assert [score.score == 0 for score in unknown] == [False, True, False, True, False, True]


def test_a_window_is_judged_as_a_whole(multilingual, caplog):
    given = {**GIVEN, "doc_ids": ["a"] * 3 + ["b"] * 3}
    sources, system = [*SOURCES[:3], *SOURCES[1:3], "Good morning."], [*SYSTEM[:2], SYSTEM[0], *SOURCES[1:3], "?!"]
    metric = SLIDE([], [system], **{**given, "sources": sources}, window=3)
    [result] = metric.system_results()
    assert [each.estimate.untranslated for each in result.windows] == [False, True]
    assert result.windows[0].value > 0.05 and result.windows[1].value == 0
    assert (
        "slide: 1 window is not a translation (a copy of the source, another language, or no words) and scores 0, starting"
        in (caplog.text)
    )
    grid = slide_grid(metric, [system], [], 3)
    assert grid[3, 3] == pytest.approx([metric.corpus_score(system, None).score])


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.full
def test_every_command_gives_the_same(multilingual, ctx, tmp_path):
    """`score`, and those that do not go through a metric's run."""
    files = {"src": SOURCES[:5], "out": SYSTEM[:5], "other": ["Das ist nicht richtig."] * 5}
    source, system, other = (write(tmp_path / f"{name}.txt", lines) for name, lines in files.items())
    wanted = [score.score for score in COMET([], **{**GIVEN, "sources": SOURCES[:5]}).segment_scores(SYSTEM[:5])]
    argv = ["score", "-t", system, "-s", source, *"-l en-de -m comet --format jsonl --level segment".split()]
    found = ctx(*argv)
    assert [each["score"] for each in found.objects()] == pytest.approx(wanted, abs=1e-4)
    assert [each.get("untranslated", False) for each in found.objects()] == [i in FIXED for i in range(5)]
    unchecked = ctx(*argv, "--no-text-checks")
    assert unchecked.out == found.out and "3 segments are not translations" in unchecked.err

    argv = ["rerank", system, other, "-s", source, *"-l en-de --format jsonl -q".split()]
    lists = [json.loads(line) for line in ctx(*argv, "-m", "comet").out.splitlines()]
    assert [each["scores"][0] for each in lists] == pytest.approx(wanted, abs=1e-3)
    docs = write(tmp_path / "docs.txt", ["d"] * 5)
    path = ["--docids", docs, "--documents", "path", "-m", "slide", "--slide-window", "1"]
    lists = [json.loads(line) for line in ctx(*argv, *path).out.splitlines()]
    assert [each["best"] for each in lists][1:4] == files["other"][1:4]
