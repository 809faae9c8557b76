"""The laws that every metric of this package keeps. A new metric adds its name to LAWS; an exemption needs its reason here."""

import math
import random
from functools import partial
from importlib import metadata

import bleurt_folders
import laws
import pytest
from laws import DOC_IDS, REFERENCES, SCRAMBLED, SYSTEMS
from learned_folders import write_learned
from sacrebleu.metrics import METRICS
from selection import some

from ctx_metrics import InputError, release
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.learned.networks import Shape
from ctx_metrics.models.estimator import EMBEDDED_FOLDER
from ctx_metrics.scoring.context import capabilities

LEARNED = ("bilstm", "bilstmatt", "esim")
NO_BOUNDS = "predicted human scores have no bounds, and identical texts no fixed one"
RANDOM = "no trained model of this kind is embedded yet, so one with random weights is tested"
# name, @MODEL where it is not the embedded one: (settings, laws it is exempt from, with the reason)
LAWS = {
    "bertr": ({}, {}),
    "bertr@multilingual": ({"model": "multilingual"}, {}),
    "bertscore": ({}, {}),
    "comet": ({}, {}),
    "slide": ({}, {}),
    **{name: ({}, {"bounds": NO_BOUNDS}) for name in LEARNED},
    "bleurt": (
        {},
        {
            "bounds": NO_BOUNDS,
            "odd lines": "an empty text has no fixed value: tests/bleurt/test_bleurt.py",
            **dict.fromkeys(("identity", "sensitivity", "difference"), RANDOM),
        },
    ),
}
UNTRAINED = [name for name in LEARNED if not (EMBEDDED_FOLDER.parent / name / "config.json").exists()]
for name in UNTRAINED:
    LAWS[name][1].update({"sensitivity": RANDOM, "difference": RANDOM})
ELSEWHERE = [
    "doccomet",  # checkpoints and sources are needed: tests/metrics/test_comet_laws.py
    # words are compared by no model, or other texts than hypotheses and references: tests/test_derived_laws.py
    *"nist meteor rttbleu rttsentbleu rttchrf rttsbert rttbertscore prsentbleu prbleu prchrf".split(),
    "pairwise",  # systems are compared with each other: tests/pairwise/test_pairwise.py
    "metricx",  # a checkpoint is needed, and lower is better: tests/metricx/test_metricx.py
    "judge",  # a server is needed: tests/judge/test_judge_laws.py
]


@pytest.fixture(scope="module", autouse=True)
def untrained(tmp_path_factory):
    """Models with random weights for the metrics that have no embedded one."""
    root = tmp_path_factory.mktemp("untrained")
    for seed, name in enumerate(UNTRAINED):
        shape = Shape(2, 384, hidden=8, projection=6, feedforward=7)
        folder = write_learned(
            root / name, name, "embedded", shape, seed, languages=["en"], layers=[4, 6], max_length=254
        )
        LAWS[name][0]["model"] = str(folder)
    LAWS["bleurt"][0]["model"] = str(bleurt_folders.make(root / "bleurt", texts=[*REFERENCES, *SYSTEMS["a"]]))


FEW, FIRST = slice(22), slice(13)  # the first two documents and the first one, where every text is encoded anew


def make(name: str, references=None, doc_ids=None, **settings):
    cls = METRICS[metric_of(name).upper()]
    if doc_ids is not None and name == "slide":
        settings["doc_ids"] = doc_ids
    language = {"target_lang": "en"} if "target_lang" in capabilities(cls).reads else {}
    return cls(references, **{**language, **LAWS[name][0], **settings})


def segment_values(metric, hypotheses, references) -> list[float]:
    return [value / weight for value, weight in metric._extract_corpus_statistics(hypotheses, references)]


# of the kinds of bertr, slide, esim and bleurt, which the default run has
LIKE_OTHERS = "bertr@multilingual", "bertscore", "comet", "bilstm", "bilstmatt"


@pytest.fixture(params=some(LAWS, LAWS.keys() - LIKE_OTHERS))
def name(request) -> str:
    if request.param.endswith("@multilingual"):
        request.getfixturevalue("multilingual")
    return request.param


def metric_of(name: str) -> str:
    return name.partition("@")[0]


def by_default(*names: str):
    """Let the default run take a costly law for these metrics alone."""
    return pytest.mark.parametrize("name", some(LAWS, names), indirect=True)


def law(name: str, title: str) -> None:
    if title in LAWS[name][1]:
        pytest.skip(LAWS[name][1][title])


def test_every_metric_is_in_the_table():
    installed = {e.name for e in metadata.distribution("ctx-metrics").entry_points if e.group == "sacrebleu.metrics"}
    assert installed == set(map(metric_of, LAWS)) | set(ELSEWHERE)


def test_order(name):
    """Documents in any order give each segment the same value."""
    base = segment_values(make(name, doc_ids=DOC_IDS), SYSTEMS["b"], [REFERENCES])
    for seed in range(3):
        order = laws.reordered(random.Random(seed))
        values = segment_values(
            make(name, doc_ids=[DOC_IDS[i] for i in order]),
            [SYSTEMS["b"][i] for i in order],
            [[REFERENCES[i] for i in order]],
        )
        assert max(abs(values[k] - base[i]) for k, i in enumerate(order)) <= 1e-5


@pytest.mark.parametrize("tokens", some([1, 300], [1]))
def test_batch(name, tokens):
    """No value depends on the batch's size, nor on what else is scored."""
    b, references, doc_ids = SYSTEMS["b"][FIRST], [REFERENCES[FIRST]], DOC_IDS[FIRST]
    base = segment_values(make(name, doc_ids=doc_ids), b, references)
    metric = make(name, doc_ids=doc_ids, engine=EngineOptions(batch_tokens=tokens, store_mb=1))
    values = segment_values(metric, b, references)
    assert max(abs(a - b) for a, b in zip(values, base, strict=True)) <= 1e-5
    together = make(name, references, doc_ids, systems=[system[FIRST] for system in SYSTEMS.values()])
    rows = together._extract_corpus_statistics(b, None)
    assert max(abs(row[0] / row[1] - b) for row, b in zip(rows, base)) <= 1e-5


def test_identity(name):
    law(name, "identity")
    law(name, "difference")
    score = make(name, doc_ids=DOC_IDS).corpus_score(REFERENCES, [REFERENCES]).score
    scores = [make(name, doc_ids=DOC_IDS).corpus_score(system, [REFERENCES]).score for system in SYSTEMS.values()]
    assert max(scores) < score - 5
    if "bounds" not in LAWS[name][1]:
        assert score == pytest.approx(100, abs=1e-3)


def test_odd_lines(name):
    law(name, "odd lines")
    settings = {"window": 1} if name == "slide" else {}
    for hypotheses, references in laws.odd_lines():
        values = segment_values(make(name, **settings), hypotheses, [references])
        assert len(values) == len(hypotheses) and all(map(math.isfinite, values))
        if "bounds" not in LAWS[name][1]:
            assert all(-1 <= value <= 1.00001 for value in values)
    empty = make(name, **settings)
    score = empty.corpus_score(["", "A cat."], [["A dog.", "A cat."]])
    worst, same = 0, 100
    if "bounds" in LAWS[name][1]:
        worst, same = 100 * empty.estimator.empty_value, make(name).sentence_score("A cat.", ["A cat."]).score
        assert worst < 0
    assert score.score == pytest.approx((worst + same) / 2, abs=1e-3) and "empty = 1" in score.format()


def test_one_segment(name):
    sentence = make(name).sentence_score("The cat sat.", ["The cat sat down."]).score
    assert sentence == make(name).corpus_score(["The cat sat."], [["The cat sat down."]]).score
    assert "bounds" in LAWS[name][1] or 30 < sentence < 100


def test_lengths_must_agree(name):
    laws.lengths(partial(make, name))
    if name == "slide":
        with pytest.raises(InputError, match="document ids: 1 segment for 2"):
            make(name, doc_ids=["x"]).corpus_score(["a", "b"], [["a", "b"]])


def test_signature(name):
    metric = make(name, doc_ids=DOC_IDS)
    result = laws.signature(metric, SYSTEMS["a"], [REFERENCES])
    assert result["scale"] == "100" and result["nrefs"] == "1"
    assert result["name"] == metric.NAME + "-embedded" * (name in ("comet", "slide"))
    assert metric.NAME.lower() == metric_of(name)
    assert len(result["ckpt"]) == 12 and result["inputs"] and result["dtype"] == "fp32"


def test_bootstrap(name):
    score = make(name, doc_ids=DOC_IDS).corpus_score(SYSTEMS["b"], [REFERENCES], n_bootstrap=200)
    assert score._ci > 0 and abs(score._mean - score.score) < 2
    if "bounds" not in LAWS[name][1]:
        assert score._ci < 10
    assert "±" in score.format()


@by_default("slide")
@pytest.mark.parametrize("kind", some(["bs", "ar"], ["bs"]))
def test_paired(name, kind):
    """B differs from C."""
    named = [(letter, SYSTEMS[letter]) for letter in "cba"]
    p_value = laws.paired(lambda: make(name, [REFERENCES], DOC_IDS, systems=[each for _, each in named]), named, kind)
    assert p_value < 0.05 or "difference" in LAWS[name][1]


@by_default("slide", "esim")
def test_pickling(name):
    laws.pickling(make(name, [REFERENCES], DOC_IDS), SYSTEMS["a"], SYSTEMS["b"], size=5_000_000)


@by_default("bertr")
def test_two_runs_are_equal(name):
    runs = []
    for _ in range(2):
        release()  # as in a new process
        runs.append(segment_values(make(name, doc_ids=DOC_IDS[FEW]), SYSTEMS["a"][FEW], [REFERENCES[FEW]]))
    assert runs[0] == runs[1]


def test_references(name):
    """Of several references the best counts; None marks a missing one; a segment without any is left out."""
    settings = {"window": 1} if name == "slide" else {}
    a, b, references = SYSTEMS["a"][FEW], SYSTEMS["b"][FEW], REFERENCES[FEW]
    one = segment_values(make(name, **settings), b, [references])
    other = segment_values(make(name, **settings), b, [a])
    both = segment_values(make(name, **settings), b, [references, a])
    assert both == pytest.approx([max(pair) for pair in zip(one, other)], abs=1e-6)
    mean = segment_values(make(name, multiref="mean", **settings), b, [references, a])
    assert mean == pytest.approx([sum(pair) / 2 for pair in zip(one, other)], abs=1e-6)
    some = [text if i % 2 else None for i, text in enumerate(a)]
    mixed = make(name, **settings)
    values = segment_values(mixed, b, [references, some])
    assert values == pytest.approx(
        [max(pair) if i % 2 else pair[0] for i, pair in enumerate(zip(one, other))], abs=1e-6
    )
    assert "nrefs:var" in str(mixed.get_signature())
    score = make(name, **settings).corpus_score(b, [[None, *references[1:]]])
    assert score.score == pytest.approx(100 * sum(one[1:]) / len(one[1:]), abs=1e-4)
    assert "unreferenced = 1" in score.format()


@by_default("slide")
def test_meaning_counts(name):
    """A changed name and scrambled words change the score, and lower it on average."""
    law(name, "sensitivity")
    metric = make(name)
    for reference, changed in (
        ("Anna met Paul in Berlin on Monday.", "Anna met Paul in Lisbon on Monday."),
        ("The minister visited Warsaw.", "The minister visited Vienna."),
    ):
        other, same = (metric.sentence_score(text, [reference]).score for text in (changed, reference))
        assert other < same - 0.5
    scrambled, whole = (make(name, doc_ids=DOC_IDS).corpus_score(x, [REFERENCES]) for x in (SCRAMBLED, SYSTEMS["b"]))
    assert scrambled.score < whole.score - 3
