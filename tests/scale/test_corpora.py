"""Corpora scored block by block have the results of a corpus scored at once; what is kept is not scored again."""

import math
import signal

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  fixture
from comet_checkpoints import RECIPES
from comet_checkpoints import build as checkpoint
from plugin_conftest import DOCIDS, REF, SOURCE, A, B, C, lines_of

from ctx_metrics import BERTR, COMET, METEOR, NIST, SLIDE, BERTScore, DocCOMET, InputError
from ctx_metrics.engine.forward import PackedEncoder
from ctx_metrics.scale import corpora as module
from ctx_metrics.scale.corpora import InBlocks, block_ranges
from ctx_metrics.scale.kept import ResultCache
from ctx_metrics.scoring.context import Context, build

SYSTEMS = [lines_of(A), ["", *lines_of(B)[1:58], ""]]
REFERENCES = [lines_of(REF), [None if i % 7 == 3 else text for i, text in enumerate(lines_of(C))]]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "SEGMENTS", 10)


def results(cls, options, in_blocks=None, **changed):
    context = Context(
        references=REFERENCES,
        systems=SYSTEMS,
        sources=lines_of(SOURCE),
        doc_ids=lines_of(DOCIDS),
        source_lang="de",
        target_lang="en",
        in_blocks=in_blocks,
    )
    metric = build(cls, Context(**{**vars(context), **changed}), options)
    return metric, metric.system_results()


@pytest.mark.parametrize(
    "cls, options",
    [
        pytest.param(BERTR, {"max_length": 12}, marks=pytest.mark.full),
        pytest.param(BERTScore, {}, marks=pytest.mark.full),
        pytest.param(COMET, {}, marks=pytest.mark.full),
        pytest.param(COMET, {"model": "multilingual", "inputs": "mt+src"}, marks=pytest.mark.full),
        pytest.param(SLIDE, {"window": 4, "stride": 2}, marks=pytest.mark.full),
        pytest.param(SLIDE, {"window": 4, "partial": "drop"}, marks=pytest.mark.full),
        (METEOR, {}),
        (NIST, {}),
    ],
    ids=["bertr", "bertscore", "comet", "unified", "slide", "drop", "meteor", "nist"],
)
def test_blocks_together_are_the_corpus(small_blocks, cls, options):
    _, whole = results(cls, options)
    metric, parts = results(cls, options, InBlocks())
    assert InBlocks().can(metric) == (cls is not NIST)
    for one, other in zip(whole, parts, strict=True):
        for left, right in zip(one.rows, other.rows, strict=True):
            assert left == pytest.approx(right, abs=1e-6)
        assert (one.counts, one.notices, one.of_texts) == (other.counts, other.notices, other.of_texts)
        assert [each.window for each in one.windows] == [each.window for each in other.windows]
        for left, right in zip(one.windows, other.windows, strict=True):
            assert left.value == pytest.approx(right.value, abs=1e-6) if left.value is not None else right.value is None


def test_documents_and_sizes():
    from ctx_metrics.corpus import Corpus

    corpus = Corpus(["t"] * 9, doc_ids=[*"aaabbccdd"])
    assert block_ranges(corpus, 4, True) == [(0, 3), (3, 7), (7, 9)]
    assert block_ranges(corpus, 1, True) == [(0, 3), (3, 5), (5, 7), (7, 9)]
    assert block_ranges(Corpus(["t"] * 3), 1, True) == [(0, 3)]  # one document
    assert block_ranges(Corpus(["t"] * 3), 2, False) == [(0, 2), (2, 3)]


def refuse(*task):
    raise AssertionError("scored again")


def test_what_is_kept_is_not_scored_again(small_blocks, monkeypatch, tmp_path, caplog):
    kept = ResultCache(str(tmp_path / "kept"))
    _, first = results(SLIDE, {"window": 4, "partial": "drop"}, InBlocks(kept=kept))
    said = [message for message in caplog.messages if "read from an earlier run" not in message]
    caplog.clear()
    monkeypatch.setattr(module, "score_segments", refuse)
    _, again = results(SLIDE, {"window": 4, "partial": "drop"}, InBlocks(kept=ResultCache(str(tmp_path / "kept"))))
    assert again == first
    assert [message for message in caplog.messages if "read from an earlier run" not in message] == said
    assert "slide: 118 of 118 outputs were read from an earlier run (cache)" in caplog.messages
    for changed in ({"window": 5}, {"window": 4}, {"window": 4, "partial": "drop", "on_long": "error"}):
        with pytest.raises(AssertionError, match="scored again"):
            results(SLIDE, changed, InBlocks(kept=kept))
    for changed in ({"references": REFERENCES[:1]}, {"doc_ids": [str(i // 5) for i in range(59)]}):
        with pytest.raises(AssertionError, match="scored again"):
            results(SLIDE, {"window": 4, "partial": "drop"}, InBlocks(kept=kept), **changed)


@pytest.mark.full
def test_a_system_more(small_blocks, monkeypatch, tmp_path):
    kept, scored = ResultCache(str(tmp_path)), []
    original = module.score_segments
    monkeypatch.setattr(module, "score_segments", lambda *task: scored.append(task[2]) or original(*task))
    one = results(BERTR, {}, InBlocks(kept=kept), systems=SYSTEMS[:1])[1]
    scored.clear()
    both = results(BERTR, {}, InBlocks(kept=kept))[1]
    assert [text for [texts] in scored for text in texts] == SYSTEMS[1] and both[0] == one[0]


@pytest.mark.full
def test_a_broken_file_is_scored_again(small_blocks, tmp_path, caplog):
    folder = tmp_path / "kept"
    _, first = results(BERTR, {}, InBlocks(kept=ResultCache(str(folder))))
    files = sorted(folder.glob("*/*"))
    for file in files[:2]:
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    _, again = results(BERTR, {}, InBlocks(kept=ResultCache(str(folder))))
    for one, other in zip(first, again, strict=True):
        assert other.rows == [pytest.approx(row, abs=1e-6) for row in one.rows]
    [line] = [message for message in caplog.messages if "is ignored, because it is damaged" in message]
    assert line.startswith(f"cache {folder}: ")


@pytest.mark.full
def test_the_folder_is_bounded(small_blocks, tmp_path):
    results(BERTR, {}, InBlocks(kept=ResultCache(str(tmp_path))))
    sizes = [file.stat().st_size for file in tmp_path.glob("*/*")]
    ResultCache(str(tmp_path), limit=sum(sizes) // 2).trim()
    left = [file.stat().st_size for file in tmp_path.glob("*/*")]
    assert 0 < len(left) < len(sizes) and sum(left) <= sum(sizes) // 2


@pytest.mark.full
def test_a_fault_names_its_lines(small_blocks, monkeypatch):
    references = [[None] * 59]
    with pytest.raises(InputError, match="bertr: system 1: no segment can be scored; 59 segments have no reference"):
        results(BERTR, {}, InBlocks(), references=references)
    texts = [*lines_of(A)[:40], "long " * 999, *lines_of(A)[41:]]
    with pytest.raises(InputError, match="^comet: system 1, segment 41: "):
        results(COMET, {"on_long": "error"}, InBlocks(), systems=[texts, texts[:40] + texts[:19]])


@pytest.mark.full
@pytest.mark.parametrize("cls", [BERTR, BERTScore])
def test_matches_of_tokens_are_kept_for_a_later_report(small_blocks, monkeypatch, tmp_path, cls):
    kept, explained = InBlocks(kept=ResultCache(str(tmp_path))), {"inputs": {"explain": True}}
    _, [plain, _] = results(cls, {}, kept)
    monkeypatch.setattr(module, "score_segments", refuse)
    _, [again, _] = results(cls, {}, kept, **explained)
    monkeypatch.undo()
    _, [fresh, _] = results(cls, {}, InBlocks(), **explained)
    assert plain.matches == [] and again.rows == plain.rows and len(again.matches) == len(fresh.matches) == 59
    for one, other in zip(again.matches, fresh.matches, strict=True):
        assert one.number == other.number
        for left, right in zip(one.pair[1:], other.pair[1:], strict=True):
            assert (left is None) == (right is None)
            for mine, own in zip(left or (), right or (), strict=True):
                np.testing.assert_allclose(mine, own, atol=1e-6)


@pytest.mark.full
def test_spans_and_parts_come_back(small_blocks, tmp_path):
    options = {"model": str(checkpoint(RECIPES["xcomet"], tmp_path / "model"))}
    kept = str(tmp_path / "kept")
    first, again = (results(COMET, options, InBlocks(kept=ResultCache(kept)))[1] for _ in range(2))
    assert again == first
    estimate = again[0].windows[3].estimate
    assert estimate.parts and isinstance(estimate.spans, list) and not math.isnan(estimate.value)


@pytest.mark.full
def test_context_of_documents_stays_whole(small_blocks, tmp_path):
    options = {"model": str(checkpoint(RECIPES["regression"], tmp_path / "model"))}
    whole, parts = (results(DocCOMET, options, blocks)[1] for blocks in (None, InBlocks()))
    for one, other in zip(whole, parts, strict=True):
        assert [row[0] for row in one.rows] == pytest.approx([row[0] for row in other.rows], abs=1e-6)


FILES = ["-s", SOURCE, "-t", A, B, "-r", REF, "--docids", DOCIDS, "-l", "de-en", "-m", "slide", "bertr", "chrf"]


@pytest.mark.full
def test_score_keeps_results(ctx, tmp_path):
    plain = ctx("score", *FILES)
    first, again = (ctx("score", *FILES, "--resume", tmp_path / "kept") for _ in range(2))
    assert first.code == again.code == 0 and plain.out == first.out == again.out
    assert plain.err == first.err and "slide: 118 of 118 outputs were read" in again.err
    more = ctx("score", *FILES, "bertscore", "--ctx-cache", tmp_path / "kept")
    assert more.code == 0 and "bertr: 118 of 118 outputs" in more.err and "bertscore: " not in more.err
    refused = ctx("score", *FILES, "--ctx-cache", REF)
    assert refused.code == 1 and refused.err.endswith(
        f"--ctx-cache {REF}: {REF} is a file, but a folder is needed there\n"
    )


def test_flags_that_contradict(ctx):
    done = ctx("score", "-t", A, "-r", REF, "-l", "de-en", "--slide-grid", "2", "--on", "ray")
    assert done.code == 2 and "--slide-grid does not work with --on and --ctx-cache" in done.err.splitlines()[-1]


@pytest.mark.full
def test_score_on_ray(ctx, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(module, "SEGMENTS", 10)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    on_sigterm = signal.getsignal(signal.SIGTERM)
    plain, done = (ctx("score", *FILES, *flags) for flags in ([], ["--on", "ray", "--workers", "2"]))
    assert done.code == 0 and (done.out, done.err) == (plain.out, plain.err)
    assert signal.getsignal(signal.SIGTERM) is on_sigterm


def test_blocks_do_not_depend_on_what_was_read_before(small_blocks, monkeypatch):
    """Each reads all of its texts: what an earlier block has read of one was rounded in another batch."""
    read, forward = [], PackedEncoder.__call__
    monkeypatch.setattr(
        PackedEncoder, "__call__", lambda self, texts, *a, **k: read.append(len(texts)) or forward(self, texts, *a, **k)
    )
    texts = [f"A text that comes back, number {i % 10}." for i in range(30)]
    results(BERTR, {}, InBlocks(), systems=[texts], references=[texts], doc_ids=None, sources=None)
    assert read == [10, 10, 10]
