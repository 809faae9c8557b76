"""The other systems as references: equal to loops over the metrics themselves, and the laws that hold for them."""

import json
import pickle
import random

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import fresh_sacrebleu as sacrebleu
from plugin_conftest import lines_of
from report_pages import data_in
from sacrebleu.metrics import BLEU, CHRF, TER

from ctx_metrics import BERTR, COMET, METEOR, NIST, SLIDE, BERTScore, EngineOptions, InputError, Pairwise
from ctx_metrics.corpus import named
from ctx_metrics.judgements.judged import MetricScores
from ctx_metrics.judgements.score_files import lower_is_better
from ctx_metrics.peers.metric import with_peers
from ctx_metrics.scoring.context import capabilities
from ctx_metrics.scoring.scores import of_parts, scores

SIZE = 12
A, B, C = (lines_of(f"system_{name}.en.txt")[:SIZE] for name in "abc")
SYSTEMS = [
    A,
    B,
    C,
    [" ".join(line.lower().split()[1:]) for line in B],
    [" ".join(reversed(line.split())) for line in A],
]
REFERENCE, SOURCES = lines_of("ref.en.txt")[:SIZE], lines_of("source.de.txt")[:SIZE]
DOCIDS = ["one"] * 5 + ["two"] * 7
ENGLISH = {"target_lang": "en", "engine": EngineOptions(quiet=True)}
METRICS = {
    "bleu": (BLEU, {}),
    "chrf": (CHRF, {}),
    "ter": (TER, {}),
    "bertscore": (BERTScore, ENGLISH),
    "bertscore idf": (BERTScore, {**ENGLISH, "idf": "plus-one"}),
    "bertr": (BERTR, ENGLISH),
    "comet": (COMET, ENGLISH),
    "slide": (SLIDE, {**ENGLISH, "doc_ids": DOCIDS, "window": 3}),
    "meteor": (METEOR, {"target_lang": "en"}),
    "nist": (NIST, {}),
}
DEFAULT = ("bleu", "bertr")
EACH = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in DEFAULT else [pytest.mark.full]) for name in METRICS]
)


def made(name, references=None, weight=None, systems=SYSTEMS):
    cls, settings = METRICS[name]
    return with_peers(cls, weight)(references=references, systems=systems, **settings)


def alone(name, reference, hypotheses):
    cls, settings = METRICS[name]
    return cls(references=[reference], **settings).corpus_score(hypotheses, None).score


@EACH
def test_a_score_is_the_mean_of_those_against_one_peer_each(name):
    metric = made(name)
    for i, system in enumerate(SYSTEMS):
        expected = np.mean([alone(name, peer, system) for j, peer in enumerate(SYSTEMS) if j != i])
        assert metric.corpus_score(system, None).score == pytest.approx(expected, abs=1e-4)  # 1e-6 of the values


@EACH
def test_with_references_systems_keep_their_scores_and_peers_move_segments(name):
    weight = 0.3
    cls, settings = METRICS[name]
    metric, plain = made(name, [REFERENCE], weight), cls(references=[REFERENCE], **settings)
    peers = made(name, weight=1)
    for system in SYSTEMS[:2]:
        found, of_references, of_peers = (scores(each, system) for each in (metric, plain, peers))
        assert found.system == pytest.approx(of_references.system, abs=1e-4)
        shift = of_references.system - of_peers.system
        expected = (1 - weight) * np.array(of_references.segments) + weight * (np.array(of_peers.segments) + shift)
        assert found.segments == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.parametrize("name", ["bleu", "chrf", "bertscore", "comet"])
def test_the_score_of_a_segment(name):
    cls, settings = METRICS[name]
    found = scores(made(name), B).segments
    for k in (0, 5):
        single = [of_parts(cls(references=[[peer[k]]], **settings)) for j, peer in enumerate(SYSTEMS) if j != 1]
        expected = [each.corpus_score([B[k]], None).score for each in single]
        assert found[k] == pytest.approx(np.mean(expected), abs=1e-5)


@EACH
def test_the_order_of_the_systems_does_not_matter(name):
    order = random.Random(1).sample(range(len(SYSTEMS)), len(SYSTEMS))
    usual, shuffled = made(name), made(name, systems=[SYSTEMS[k] for k in order])
    for system in SYSTEMS:
        assert usual.corpus_score(system, None).score == pytest.approx(
            shuffled.corpus_score(system, None).score, abs=1e-6
        )


@pytest.mark.parametrize("copy", [A, [line.upper() for line in A[:10]] + ["x", "y"]], ids=["exact", "83 %"])
def test_a_copy_of_a_system_changes_no_score(copy, caplog):
    """Copies share one vote, and are not each other's peers."""
    before, metric = made("chrf"), made("chrf", systems=[*SYSTEMS, copy])
    assert "system 1, system 6: at least 80% of their outputs are identical" in caplog.text
    for system in SYSTEMS[:1] if copy is not A else SYSTEMS:
        assert metric.corpus_score(system, None).score == pytest.approx(
            before.corpus_score(system, None).score, abs=1e-9
        )


@EACH
def test_pickles_and_json(name):
    metric = made(name, [REFERENCE])
    before = metric.corpus_score(B, None).score
    again = pickle.loads(pickle.dumps(metric))
    assert (
        again.corpus_score(B, None).score == before
        and again.get_signature().format() == metric.get_signature().format()
    )
    info = json.loads(json.dumps(metric.get_signature().info))
    assert metric.get_signature().format(short=True)
    assert (info["peers"], info["weight"]) == (4, 0.5) and "weight" not in made(name).get_signature().info


def test_the_signature_knows_the_peers_by_names_and_texts():
    def pool(systems):
        return made("chrf", systems=systems).get_signature().info["pool"]

    named_ones = [named(system, f"system {k}") for k, system in enumerate(SYSTEMS)]
    assert len({pool(SYSTEMS), pool(named_ones), pool([*SYSTEMS[:4], A])}) == 3
    assert pool(named_ones) == pool([named(system, f"system {k}") for k, system in enumerate(SYSTEMS)])


@pytest.mark.parametrize("number", [1, 2, 3])
def test_too_few_systems(number):
    metric = made("chrf", systems=SYSTEMS[:number])
    with pytest.raises(InputError, match=f"peers need at least 4 different systems, but there (is|are) {number}:"):
        metric.corpus_score(A, None)


@pytest.mark.full
@pytest.mark.parametrize("name", ["chrf"])
def test_p_values_depend_neither_on_the_order_nor_on_a_copy(ctx, files, name):
    def of(names):
        flags = ["-m", name, "--peers", "--samples", "200", "--format", "jsonl", "-l", "de-en"]
        done = ctx("compare", "-t", *(files / each for each in names), *flags)
        assert done.code == 0, done.err
        return {frozenset((row["system"], row["other"])): row["p"] for row in done.objects()}

    (files / "f").write_text((files / "a").read_text())
    usual = of("abcde")
    assert of("cebda") == pytest.approx(usual)
    with_copy = of("abcdef")
    assert len(with_copy) == 15 and {pair: with_copy[pair] for pair in usual} == pytest.approx(usual)


def test_arguments_that_the_metric_does_not_have():
    for given in ({"foo": 2}, {"weight": 2}):
        with pytest.raises(TypeError):
            with_peers(CHRF)(systems=SYSTEMS, **given)
    with pytest.raises(InputError, match="the peers' weight is 2; it must be above 0 and at most 1"):
        with_peers(CHRF, weight=2)


def test_outputs_of_no_system(caplog):
    metric = made("chrf")
    expected = np.mean([alone("chrf", peer, REFERENCE) for peer in SYSTEMS])
    assert metric.corpus_score(REFERENCE, None).score == pytest.approx(expected)
    assert "these outputs belong to none of the systems" in caplog.text


def test_systems_of_other_lengths():
    with pytest.raises(InputError, match="system 3 has 11 lines, but system 1 has 12"):
        made("chrf", systems=[A, B, C[:11], *SYSTEMS[3:]])
    with pytest.raises(InputError, match="a reference has 11 lines, but system 1 has 12"):
        made("chrf", [REFERENCE[:11]])


def test_what_cannot_have_peers(caplog):
    assert with_peers(Pairwise) is Pairwise and "peers change nothing" in caplog.text
    with pytest.raises(InputError, match="no references"):
        made("chrf", weight=0.5)
    assert made("chrf", [REFERENCE], weight=1).get_signature().info["nrefs"] == 0


def test_sources_in_place_of_references_are_none():
    settings = {**ENGLISH, "sources": SOURCES}
    metric = with_peers(COMET)(references=[SOURCES], systems=SYSTEMS, **settings)
    assert metric.corpus_score(A, None).score == pytest.approx(made("comet").corpus_score(A, None).score, abs=1e-5)
    metric = with_peers(CHRF)(references=[SOURCES], systems=SYSTEMS, sources=SOURCES)
    assert metric.corpus_score(A, None).score == pytest.approx(made("chrf").corpus_score(A, None).score, abs=1e-5)
    assert "sources" in capabilities(with_peers(CHRF)).reads


@pytest.fixture
def files(tmp_path):
    for name, lines in {
        **dict(zip("abcde", SYSTEMS, strict=True)),
        "ref": REFERENCE,
        "src": SOURCES,
        "ids": DOCIDS,
    }.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def given(files, *more):
    return ["-t", *(files / name for name in "abcde"), "-l", "de-en", *more]


@pytest.mark.parametrize(
    "names", [["bleu", "chrf"], pytest.param(["ter", "bertscore", "comet"], marks=pytest.mark.full)]
)
def test_score(ctx, files, names):
    done = ctx("score", *given(files, "-m", *names, "--peers", "--format", "jsonl", "--level", "system"))
    assert done.code == 0, done.err
    for row in done.objects():
        system = SYSTEMS["abcde".index(row["system"])]
        name = row["metric"].removesuffix("-peers").removesuffix("-embedded")
        assert row["metric"].endswith("-peers")
        assert row["score"] == pytest.approx(made(name).corpus_score(system, None).score, abs=1e-4)


@pytest.mark.full
def test_sacrebleus_command(files):
    paths = [str(files / name) for name in ("ref", *"abcde")]
    done = sacrebleu(paths[0], "-i", *paths[1:], "-m", "chrf", "bertr", "-l", "de-en", "--ctx-peers", "-f", "json")
    for row, system in zip(json.loads(done.stdout), SYSTEMS, strict=True):
        for name, title in (("chrf", "chrF2-peers"), ("bertr", "BERTR-peers")):
            assert float(row[title]) == pytest.approx(
                made(name, [REFERENCE]).corpus_score(system, None).score, abs=0.051
            )


def test_compare(ctx, files):
    more = ["-m", "chrf", "--peers", "--docids", files / "ids"]
    rows = ctx("compare", *given(files, *more, "--samples", "50", "--format", "jsonl")).objects()
    assert len(rows) == 10 and all(0 <= row["p"] <= 1 for row in rows)


@pytest.mark.full
def test_report(ctx, files):
    """It names each output's nearest peer."""
    done = ctx("report", *given(files, "-m", "chrf", "bertr", "--peers", "-o", files / "report.html"))
    assert done.code == 0, done.err
    data = data_in((files / "report.html").read_text(encoding="utf-8"))
    assert [each["name"] for each in data["metrics"]][:2] == ["chrF2-peers", "BERTR-peers"]
    parts = [*data["parts"].values()]
    assert len(parts) == 5 * SIZE and all(next(iter(each)).startswith("nearest peer: ") for each in parts)


def test_meta(ctx, files):
    rows = ["system\tsegment\tmt\tref\tscore"]
    rows += [
        f"{name}\t{k}\t{system[k]}\t{REFERENCE[k]}\t{k + ord(name)}"
        for name, system in zip("abcde", SYSTEMS, strict=True)
        for k in range(SIZE)
    ]
    (files / "judged.tsv").write_text("\n".join(rows) + "\n")
    plain, peers = (
        ctx("meta", files / "judged.tsv", "-l", "de-en", "-m", "chrf", *more, "-p", "seg-pearson", "--format", "tsv")
        for more in ([], ["--peers"])
    )
    assert peers.code == 0, peers.err
    assert [row["value"] for row in plain.rows()] != [row["value"] for row in peers.rows()]


@pytest.mark.full
def test_peers_count_by_what_a_model_makes_of_them_given_the_source():
    """exp(2 z) of the systems' mean scores, by a loop over the metric and over the reference-free model."""
    given = {"sources": SOURCES, "source_lang": "de", "target_lang": "en", "engine": EngineOptions(quiet=True)}
    judge = COMET(model="multilingual", systems=SYSTEMS, **given)
    means = np.array([[r.score for r in judge.segment_scores(system)] for system in SYSTEMS]).mean(1)
    trust = np.exp(2 * (means - means.mean()) / means.std())
    metric = with_peers(CHRF, by_source=True)(systems=SYSTEMS, **given)
    for i, system in enumerate(SYSTEMS):
        peers = [j for j in range(len(SYSTEMS)) if j != i]
        expected = np.average([alone("chrf", SYSTEMS[j], system) for j in peers], weights=trust[peers])
        assert metric.corpus_score(system, None).score == pytest.approx(expected, abs=1e-6)
    assert metric.get_signature().info["by"].startswith("embedded-referenceless-") and metric.get_signature().format(
        short=True
    )
    mixed = with_peers(BERTR, by_source=True)(systems=SYSTEMS, **given)
    plain = np.array(
        [
            [[r.score for r in BERTR(references=[peer], **ENGLISH).segment_scores(s)] for peer in SYSTEMS]
            for s in SYSTEMS
        ]
    )
    values = np.array([np.average(np.delete(plain[i], i, 0), axis=0, weights=np.delete(trust, i)) for i in range(5)])
    of_source = np.array([[r.score for r in judge.segment_scores(system)] for system in SYSTEMS])
    beside, own = of_source - of_source.mean(0), values - values.mean(0)
    expected = values + 0.25 * beside * np.sqrt((own**2).mean() / (beside**2).mean())
    found = [[r.score for r in mixed.segment_scores(system, None)] for system in SYSTEMS]
    assert np.array(found) == pytest.approx(expected, abs=1e-3)
    again = with_peers(BERTR, by_source=True)(systems=SYSTEMS, **given)
    assert again.corpus_score(C, None).score == pytest.approx(expected[2].mean(), abs=1e-3)
    with pytest.raises(InputError, match="to weight peers by the source, give sources"):
        with_peers(CHRF, by_source=True)(systems=SYSTEMS)


def test_copies_and_the_nearest_peer_are_kept():
    metric = made("bertr", systems=[*SYSTEMS, [*(line.lower() for line in B[:6]), *SYSTEMS[4][6:]]])
    metric.corpus_score(B, None)
    result = metric.last_result
    assert result.counts["copies"] == 6, "the sixth system has half of the second's outputs in lower case"
    assert {key for each in result.windows[:6] for key in each.estimate.parts} == {"the same as system 6"}
    metric.corpus_score(C, None)
    assert metric.last_result.counts["copies"] == 0
    for k, each in enumerate(metric.last_result.windows):
        [(part, value)] = each.estimate.parts.items()
        nearest = int(part.removeprefix("nearest peer: system ")) - 1
        pool = [*SYSTEMS, [*(line.lower() for line in B[:6]), *SYSTEMS[4][6:]]]
        of_peers = [BERTR(references=[[peer[k]]], **ENGLISH).corpus_score([C[k]], None).score for peer in pool]
        of_peers[2] = -1
        assert 100 * value == pytest.approx(max(of_peers), abs=1e-4) and of_peers[nearest] == pytest.approx(
            max(of_peers), abs=1e-4
        )


@pytest.mark.full
@pytest.mark.parametrize("name", ["chrf", "ter"])
def test_ranks_without_each_system(ctx, files, name):
    metric = made(name)
    for system in SYSTEMS:
        metric.corpus_score(system, None)
    found = metric.ranks_without_each()
    sign = -1 if name == "ter" else 1
    for row, left_out in zip(found, [None, *range(5)], strict=True):
        there = [k for k in range(5) if k != left_out]
        means = [np.mean([alone(name, SYSTEMS[j], SYSTEMS[i]) for j in there if j != i]) for i in there]
        order = sorted(
            range(len(there)), key=lambda place: -sign * means[place]
        )  # of equal ones, the first before the others
        assert [row[there[place]] for place in order] == [*range(1, len(there) + 1)]
        assert left_out is None or row[left_out] == 0
    done = ctx("compare", *given(files, "-m", name, "--peers", "--peers-left-out", "--samples", "20"))
    assert done.code == 0 and f"{metric.title}: left out" in done.out


def test_scores_of_ter_that_are_read_again_keep_their_direction():
    values = np.array([[10.0, 20.0]])
    assert lower_is_better(MetricScores("ter-peers", values, None)) and not lower_is_better(
        MetricScores("chrf-peers", values, None)
    )
