"""polycand_metric checkpoints: scores held to a calculation by hand, candidates from a run's systems, and every metric's laws."""

import json
import pickle
import shutil

import laws
import numpy as np
import pytest
from cli_conftest import ctx, error  # noqa: F401  a fixture
from comet_checkpoints import OF_POLY, build, candidates_of
from comet_texts import TEXTS
from damage import change_ckpt
from laws import DOC_IDS, EXAMPLES, REFERENCES, SOURCES, SYSTEMS
from polycand_oracle import ByHand, candidates_beside
from sacrebleu.metrics import METRICS
from selection import some

from ctx_metrics import COMET, SLIDE, DocCOMET, EngineOptions, InputError, ModelError
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.estimator import Example
from ctx_metrics.peers.metric import with_peers

QUIET = EngineOptions(quiet=True)
A, B, C = SYSTEMS.values()
FILES = [f"system_{letter}.en.txt" for letter in "abc"]
RUN = ["-s", "source.de.txt", "-t", *FILES]
EXAMPLE = [A, B, C, [f"{a} {b}" for a, b in zip(A, B, strict=True)]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: build(recipe, tmp_path_factory.mktemp("poly") / name) for name, recipe in OF_POLY.items()}


def made(folder, systems, sources=SOURCES, references=None, cls=COMET, **settings):
    return cls(references, systems, **{"sources": sources, "model": str(folder), "engine": QUIET, **settings})


def values(metric, system) -> list[float]:
    return [each.score / 100 for each in metric.segment_scores(system)]


def by_hand(folder, recipe, systems, system, sources, references) -> list[float]:
    oracle, number = ByHand(folder), max(candidates_of(recipe), default=1) - 1
    outputs = list(zip(*systems, strict=True))
    return [
        oracle.score(source, text, candidates_beside(text, others, number), reference)
        for source, text, others, reference in zip(sources, system, outputs, references, strict=True)
    ]


@pytest.mark.full
@pytest.mark.parametrize("name", some(OF_POLY, ["polycand-2"]))
def test_scores_are_those_by_hand(folders, name):
    """Of short, long, empty and odd texts; some outputs are equal, and one system is the references."""
    sources, outputs, references = (list(each) for each in zip(*TEXTS, strict=True))
    systems = [outputs, outputs[1:] + outputs[:1], references, outputs[::-1]]
    metric = made(folders[name], systems, sources, [references] if "ref" in OF_POLY[name].inputs else None)
    for system in systems:
        expected = by_hand(folders[name], OF_POLY[name], systems, system, sources, references)
        assert np.std(expected) > 0.03
        assert values(metric, system) == pytest.approx(expected, abs=1e-5)


def test_the_first_other_systems_are_the_candidates(folders):
    """In the order of the run: with one candidate, the first system is compared with the second, and the others with it."""
    found = {k: values(made(folders["polycand"], EXAMPLE), system) for k, system in enumerate(EXAMPLE)}
    for k, other in ((0, B), (1, A), (2, A), (3, A)):
        assert found[k] == pytest.approx(values(made(folders["polycand"], [EXAMPLE[k], other]), EXAMPLE[k]), abs=1e-6)
    assert np.abs(np.subtract(values(made(folders["polycand"], [A, C]), A), found[0])).max() > 1e-3


def test_equal_outputs_are_no_candidates(folders, caplog):
    """The next system takes its place, or an empty text if there is none, which is counted; equal outputs score the same."""
    twin, other = ["The cat sat.", "A dog ran.", "Rain."], ["The cat sat.", "A dog was running.", "Rain!"]
    third = ["A cat sat down.", "Dogs ran.", "Rain."]
    sources = SOURCES[:3]
    metric = made(folders["polycand"], [twin, other, third], sources)
    found = values(metric, twin)
    assert found[0] == pytest.approx(values(made(folders["polycand"], [twin, third], sources), twin)[0], abs=1e-6)
    assert values(metric, other)[0] == found[0] and "lacking" not in caplog.text
    alike = made(folders["polycand"], [twin, other], sources)
    nothing = ByHand(folders["polycand"]).score(sources[0], twin[0], [""])
    assert values(alike, twin)[0] == pytest.approx(nothing, abs=1e-5)
    assert alike.corpus_score(twin, None)._verbose == "(lacking = 1)"
    said = "1 segment lacks a candidate: no other output differs from it, so empty texts are used instead (segment 1)"
    assert f"comet: every system: {said}" in caplog.messages


def test_windows_are_compared_with_the_same_windows(folders):
    metric = made(folders["polycand-2"], EXAMPLE, cls=SLIDE, doc_ids=DOC_IDS, window=3)
    metric.corpus_score(B, None)
    oracle = ByHand(folders["polycand-2"])
    for each in metric.system_results()[1].windows[:6]:
        start, end, _ = each.window
        source, *texts = (" ".join(lines[start:end]) for lines in (SOURCES, A, B, C))
        assert each.value == pytest.approx(oracle.score(source, texts[1], [texts[0], texts[2]]), abs=1e-5)
    one = made(folders["polycand-2"], EXAMPLE, cls=SLIDE, doc_ids=DOC_IDS, window=1)
    assert values(one, B) == pytest.approx(values(made(folders["polycand-2"], EXAMPLE), B), abs=1e-6)


def test_a_head_without_candidates_is_a_model_without_references(folders):
    metric = made(folders["polycand-none"], [A])
    assert not metric.can.compares_systems and "candidates" not in str(metric.get_signature())
    beside_another = made(folders["polycand-none"], [A, B])
    assert values(beside_another, A) == pytest.approx(values(metric, A), abs=1e-6)


def test_each_text_is_encoded_once(folders, monkeypatch):
    metric = made(folders["polycand-2"], [A[:9], B[:9], C[:9]], SOURCES[:9])
    encoder, encoded = metric.estimator.encoder, []
    encoder.forget_texts()
    encode = encoder._encode
    monkeypatch.setattr(encoder, "_encode", lambda texts, *more: encoded.extend(texts) or encode(texts, *more))
    metric.corpus_score(A[:9], None)
    assert len(encoded) == len(set(encoded)) == len({*A[:9], *B[:9], *C[:9], *SOURCES[:9]})


@pytest.mark.full
def test_laws(folders):
    metric = made(folders["polycand"], EXAMPLE)
    shown = laws.signature(metric, A, None)
    assert shown["scale"] == "100" and shown["inputs"] == "mt+src" and shown["candidates"] == "system1+system2"
    assert len(shown["pool"]) == 12 and metric.can.higher_is_better
    laws.documents(made(folders["polycand"], EXAMPLE), B, C)
    named = list(zip("abc", (A, B, C), strict=True))
    assert 0 < laws.paired(lambda: made(folders["polycand"], [A, B, C]), named, "bs") <= 1
    laws.pickling(made(folders["polycand"], EXAMPLE), A, B, size=200_000)
    again = pickle.loads(pickle.dumps(made(folders["polycand"], EXAMPLE)))
    assert values(again, C) == pytest.approx(values(made(folders["polycand"], EXAMPLE), C), abs=1e-6)


@pytest.mark.full
def test_the_signature_names_the_candidates_and_hashes_all_texts(folders, ctx):
    model = ["-m", "comet", "--comet-model", str(folders["polycand"])]

    def signature(*files: str) -> dict[str, str]:
        done = ctx("score", "-s", "source.de.txt", "-t", *files, *model, "--format", "tsv")
        return dict(part.split(":", 1) for part in done.err.split("|") if ":" in part)

    all_three = signature(*FILES)
    assert all_three["candidates"] == "system_a.en+system_b.en"
    assert signature(*FILES[:2])["pool"] != all_three["pool"]
    other = signature(FILES[1], FILES[0], FILES[2])
    assert (other["candidates"], other["pool"] == all_three["pool"]) == ("system_b.en+system_a.en", False)


def test_candidates_are_reranked_beside_each_other(folders, ctx, tmp_path):
    """As systems of one run are; a source may have fewer candidates than others, and kept results are found again."""
    lists = [
        (source, each[:3] if k else each[:1])
        for k, (source, *each) in enumerate(zip(SOURCES[:9], *EXAMPLE, strict=False))
    ]
    lines = [json.dumps({"src": source, "candidates": list(each)}) for source, each in lists]
    (tmp_path / "list.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    oracle = ByHand(folders["polycand-2"])
    expected = [
        [oracle.score(source, text, candidates_beside(text, each, 2)) for text in each] for source, each in lists
    ]
    command = ["rerank", str(tmp_path / "list.jsonl"), "-m", "comet", "--comet-model", str(folders["polycand-2"])]
    best, again = tmp_path / "best.jsonl", tmp_path / "again.jsonl"
    kept = ["--top", "3", "--ctx-cache", str(tmp_path / "kept")]
    done, later = (ctx(*command, *kept, "-o", str(path)) for path in (best, again))
    assert "|candidates:2|scale:" in done.err and "comet: lacking = 1" in done.err
    assert best.read_text() == again.read_text() and "9 of 9 sources were read" in later.err
    found = [json.loads(line)["scores"] for line in best.read_text(encoding="utf-8").splitlines()]
    assert [len(each) for each in found] == [1, *[3] * 8]
    for ours, own in zip(found, expected, strict=True):
        assert ours == pytest.approx(sorted((100 * value for value in own), reverse=True), abs=1e-3)
    model = ["--comet-model", str(folders["polycand-ref"])]
    assert "needs a reference, but candidates have none" in error(ctx(*command[:4], *model))


def test_commands_that_see_one_output_at_a_time_say_so(folders, ctx, tmp_path):
    model = ["-m", "comet", "--comet-model", str(folders["polycand"])]
    assert "compares outputs with those of 1 other system" in error(ctx("score", *RUN[:4], *model))
    table = tmp_path / "table.tsv"
    table.write_text("src\tmt\nEin Hund.\tA dog.\n", encoding="utf-8")
    why = "(its candidates are the other systems' outputs)"
    assert why in error(ctx("annotate", str(table), *model, "-o", str(tmp_path / "scored")))
    assert why in error(ctx("mbr", *FILES, "-s", "source.de.txt", *model))


def test_what_cannot_be_scored(folders):
    with pytest.raises(InputError, match=r"those of 2 other systems, but there is 1"):
        made(folders["polycand-2"], [A, B]).corpus_score(A, None)
    with pytest.raises(InputError, match=r"system 2 has 3 segments, but the one that is scored has 59"):
        made(folders["polycand"], [A, B[:3]])._results_of_windows(
            made(folders["polycand"], [A]).corpora_of([A], []), [[]]
        )
    with pytest.raises(ModelError, match=r"document context needs a model that does not"):
        made(folders["polycand"], [A, B], cls=DocCOMET, doc_ids=DOC_IDS)
    with pytest.raises(InputError, match=r"are not given here; use ctx-metrics score"):
        made(folders["polycand"], [A, B]).estimated([Example("A dog.", None, "Ein Hund.")])
    with pytest.raises(InputError, match=r"comet: the model compares the systems itself; leave the peers out"):
        with_peers(METRICS["COMET"])([REFERENCES], EXAMPLE, sources=SOURCES, model=str(folders["polycand-ref"]))


def test_checkpoints_that_cannot_be_used(folders, tmp_path):
    for number, (value, fault) in enumerate(
        (("yes", "additional_translation_in is 'yes'"), ([True, True], r"where \[24, 448\] and \[24\] are expected"))
    ):
        folder = shutil.copytree(folders["polycand"], tmp_path / str(number))
        change_ckpt(folder, hyper_parameters={"additional_translation_in": value})
        with pytest.raises(ModelError, match=fault):
            made(folder, [A, B])


@pytest.mark.parametrize("name", some(["polycand-2", "polycand-ref"], ["polycand-ref"]))
def test_converted_checkpoints_score_the_same(folders, tmp_path, name):
    convert(str(folders[name]), tmp_path / "converted")
    references = [REFERENCES] if name == "polycand-ref" else None
    before, after = (made(folder, EXAMPLE, references=references) for folder in (folders[name], tmp_path / "converted"))
    assert values(before, B) == values(after, B)
    assert before.signature["ckpt"] == after.signature["ckpt"]


def test_meta_leaves_out_sets_without_every_output(folders, ctx, tmp_path):
    header, *rows = (EXAMPLES / "judged.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "gaps.tsv").write_text("".join([header, *rows[1:]]), encoding="utf-8")
    model = f"comet:model={folders['polycand']}"
    done = ctx("meta", str(tmp_path / "gaps.tsv"), "-m", model, "chrf", "-p", "seg-pearson")
    assert done.code == 0 and "left out on gaps: not every system's output of each segment" in done.err


def test_an_output_beside_the_run_is_compared_with_all_systems(folders):
    metric = made(folders["polycand"], [A, B])
    assert values(metric, C) == pytest.approx(values(made(folders["polycand"], [A, B, C]), C), abs=1e-6)
