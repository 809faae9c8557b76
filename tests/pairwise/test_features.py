"""Other metrics' scores as features: each is the metric's own score of that one output."""

import logging
import math
import random
from collections import Counter

import numpy as np
import pytest
from sacrebleu import metrics as sacrebleu_metrics
from sacrebleu.metrics import BLEU, CHRF, TER

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError
from ctx_metrics.metrics.nist import INFO_REFERENCES
from ctx_metrics.pairwise.features import Feature, feature_scores, feature_settings, parse_features
from ctx_metrics.pairwise.features.specs import BLEUComponents
from ctx_metrics.scoring.base import ContextMetric, SystemResult
from ctx_metrics.scoring.context import Capabilities

WORDS = "the cat sat on a mat , and then it went . Dogs Rain".split()


class Recorder(ContextMetric):
    """Scores every output by its length, and keeps what it was made with and when it was asked."""

    NAME, events = "RECORDER", []
    last = {}
    capabilities = Capabilities(
        reads=frozenset({"systems", "sources", "source_lang", "target_lang", "engine"}), inputs=(INFO_REFERENCES,)
    )

    def __init__(self, references=None, **context):
        super().__init__(references, **context)
        Recorder.last = {
            "references": references,
            "sources": context["sources"],
            "languages": (context["source_lang"], context["target_lang"]),
            "info_references": context["info_references"],
            "engine": context["engine"],
        }
        self.events.append("made")

    def announce(self, systems):
        super().announce(systems)
        Recorder.last["systems"] = systems

    def _score(self, corpora):
        self.events.append("scored")
        return [
            SystemResult([[len(text) / 100, 1.0] if text != "unscored" else [0.0, 0.0] for text in corpus.hypotheses])
            for corpus in corpora
        ]


@pytest.fixture
def recorder(monkeypatch):
    monkeypatch.setitem(sacrebleu_metrics.METRICS, "RECORDER", Recorder)
    monkeypatch.setattr(Recorder, "events", [])
    monkeypatch.setattr(Recorder, "last", {})
    return Recorder


@pytest.fixture
def four(monkeypatch):
    """NIST and METEOR by their names, whatever scores under these."""
    for name in ("NIST", "METEOR"):
        monkeypatch.setitem(sacrebleu_metrics.METRICS, name, type(name, (CHRF,), {}))


def specs(*given: str) -> list[str]:
    return [feature.spec for feature in parse_features(given)]


def some_texts(seed: int, systems: int = 4, segments: int = 25) -> tuple[list, list]:
    """Systems and two reference streams, with equal outputs, empty ones and missing ones."""
    chance = random.Random(seed)

    def text():
        return " ".join(chance.choices(WORDS, k=chance.randrange(9)))

    references = [[text() if chance.random() < 0.8 else None for _ in range(segments)] for _ in range(2)]
    few = [[text() for _ in range(2)] for _ in range(segments)]
    outputs = [
        [chance.choice([*few[k], text(), None, "".join(few[k])]) for k in range(segments)] for _ in range(systems)
    ]
    return outputs, references


# ---- what a user names ----


def test_specs_are_read_and_said_again():
    assert parse_features(["chrf:word_order=2,beta=1"]) == [Feature("chrf", (("beta", 1), ("word_order", 2)))]
    for given, said in {
        "chrf:word_order=2,beta=1": "chrf:beta=1,word_order=2",
        "BLEU:lowercase=True,smooth_method=floor,smooth_value=.5": "bleu:lowercase=yes,smooth_method=floor,smooth_value=0.5",
        "ter:normalized=no": "ter:normalized=no",
        "comet:model=a:b/c@d": "comet:model=a:b/c@d",
    }.items():
        assert specs(given) == [said]
    assert specs("chrf", "chrf:word_order=2") == ["chrf", "chrf:word_order=2"]  # the same metric twice is fine


def test_values_have_the_type_of_the_default():
    options = dict(parse_features(["bleu:max_ngram_order=3,lowercase=yes,smooth_value=1,tokenize=none"])[0].options)
    assert options == {"max_ngram_order": 3, "lowercase": True, "smooth_value": 1.0, "tokenize": "none"}
    assert [type(options[key]) for key in ("max_ngram_order", "lowercase", "smooth_value")] == [int, bool, float]
    options = dict(parse_features(["bertr:layers=3,4,max_length=50"])[0].options)
    assert options == {"layers": "3,4", "max_length": 50}  # a comma inside a value


def test_the_papers_sets(four):
    assert specs("4METRICS", "chrf") == ["bleu", "nist", "ter", "meteor", "chrf"]
    assert parse_features(["None"]) == parse_features([]) == []
    [components] = parse_features(["BLEUCOMP:lowercase=yes"])
    assert len(components.columns) == 16 and components.columns[4] == "bleucomp:lowercase=yes.matches1"
    with pytest.raises(InputError, match="^feature bleu is named twice"):
        parse_features(["4metrics", "bleu"])


@pytest.mark.parametrize(
    "given, message",
    [
        (["rouge"], r"^feature rouge: .* there are 4metrics, bertr, .*bleucomp.*ter$"),
        (["chrf:order=2"], r"^feature chrf:order=2: no option 'order=2' .*; it has beta, char_order, "),
        (["chrf:word_order"], "no option 'word_order'"),
        (["chrf:beta=1,beta=2"], "beta is given twice"),
        (["chrf:beta=x"], "beta is a whole number, not 'x'"),
        (["bleu:smooth_value=nan"], "smooth_value is a number, not 'nan'"),
        (["bleu:lowercase=2"], "lowercase is yes or no, not '2'"),
        (["bleu:tokenize="], "tokenize is a word, not ''"),
        (["bertr:engine=cpu"], "no option 'engine=cpu'"),
        (["bleu:references=x"], "no option 'references=x'"),
        (["bleu:effective_order=no"], "no option 'effective_order=no'"),
        (["bertscore:idf=paper"], "no option 'idf=paper'"),
        (["bleucomp:max_ngram_order=3"], "no option 'max_ngram_order=3'.*; it has lowercase, tokenize$"),
        (["chrf:word_order=0", "chrf"], "^feature chrf is named twice, first as chrf:word_order=0"),
        (["none", "chrf"], "^feature none cannot be combined"),
        (["slide"], "^feature slide: .* it reads documents"),
        (["rttbleu"], "it reads round trips"),
        (["prsentbleu"], "it reads pseudo-references"),
        (["pairwise"], "it compares with other systems"),
    ],
)
def test_what_cannot_be_a_feature(monkeypatch, given, message):
    monkeypatch.setitem(sacrebleu_metrics.METRICS, "PAIRWISE", Recorder)
    with pytest.raises(InputError, match=message):
        parse_features(given)


def test_metrics_that_are_kept_out_of_sacrebleus_table(monkeypatch):
    monkeypatch.setattr(sacrebleu_metrics, "METRICS", {"BLEU": BLEU})
    assert specs("bertr", "bleu") == ["bertr", "bleu"]
    with pytest.raises(InputError, match="there are 4metrics, bertr, "):
        parse_features(["chrf"])


# ---- scores ----


def test_scores_are_sacrebleus_of_single_sentences():
    outputs, references = some_texts(0)
    made = {
        "bleu": BLEU(effective_order=True),
        "chrf:word_order=2": CHRF(word_order=2),
        "ter": TER(),
        "bleu:lowercase=yes": BLEU(lowercase=True, effective_order=True),
    }
    found = feature_scores(parse_features([*made]), outputs, references=references)
    assert found.shape == (4, 25, 4) and found.dtype == np.float64
    scored = 0
    for i, of_system in enumerate(outputs):
        for k, output in enumerate(of_system):
            against = [stream[k] for stream in references if stream[k] is not None]
            if output is None or not against:
                assert np.isnan(found[i, k]).all()
                continue
            scored += 1
            assert found[i, k].tolist() == [each.sentence_score(output, against).score for each in made.values()]
    assert 40 < scored < 100


def test_columns_stand_in_the_order_of_the_features(recorder):
    outputs, references = [["abc"]], [["abc d"]]
    features, engine = parse_features(["recorder", "bleucomp", "chrf"]), EngineOptions(device="cpu", quiet=True)
    [[found]] = feature_scores(features, outputs, references, source_lang="de", target_lang="en", engine=engine)
    assert recorder.last["languages"] == ("de", "en") and recorder.last["engine"] is engine
    assert len(found) == 18 == sum(len(feature.columns) for feature in features)
    assert found[0] == pytest.approx(3) and found[13] == 1 and found[14] == 2  # lengths in words
    assert found[-1] == CHRF().sentence_score("abc", ["abc d"]).score


def test_every_distinct_output_is_scored_once_segment_after_segment(recorder):
    outputs = [["a", "a", "b", None], ["a", "c", "b", "x"], ["d", "a", None, "y"]]
    references = [["r", "s", "t", None], ["r", None, "t", None]]
    found = feature_scores(parse_features(["recorder"]), outputs, references=references, sources=["1", "2", "3", "4"])
    # a and d of the first segment, a and c of the second (another reference), b of the third; none of the fourth
    [system] = recorder.last["systems"]
    assert list(system) == ["a", "d", "a", "c", "b"]
    assert recorder.last["references"] == [["r", "r", "s", "s", "t"], ["r", "r", None, None, "t"]]
    assert recorder.last["sources"] == ["1", "1", "2", "2", "3"]
    assert recorder.last["info_references"] == references  # the set's own, each once
    assert np.isnan(found[..., 0]).tolist() == [
        [False, False, False, True],
        [False, False, False, True],
        [False, False, True, True],
    ]


def test_the_source_makes_an_output_distinct(recorder):
    outputs, references = [["a", "a", "a"]], [["r", "r", "r"]]
    feature_scores(parse_features(["recorder"]), outputs, references=references, sources=["1", "2", "2"])
    assert list(recorder.last["systems"][0]) == ["a", "a"] and recorder.last["sources"] == ["1", "2"]
    feature_scores(parse_features(["recorder"]), outputs, references=references)
    assert list(recorder.last["systems"][0]) == ["a"] and recorder.last["sources"] is None


def test_all_are_made_before_the_first_scores(recorder, monkeypatch):
    monkeypatch.setitem(sacrebleu_metrics.METRICS, "OTHER", type("Other", (Recorder,), {"NAME": "OTHER"}))
    feature_scores(parse_features(["recorder", "other"]), [["a"]], references=[["b"]])
    assert recorder.events == ["made", "made", "scored", "scored"]


def test_the_target_language_chooses_bleus_tokenizer():
    chinese, references, features = [["我们明天去北京。"]], [["我们后天去北京。"]], parse_features(["bleu", "bleucomp"])
    by_language = feature_scores(features, chinese, references=references, target_lang="zh")[0, 0]
    bleu = BLEU(trg_lang="zh", effective_order=True)
    assert by_language[0] == bleu.sentence_score(chinese[0][0], references[0]).score
    assert by_language[13] == 8  # characters are words
    assert feature_scores(features, chinese, references=references)[0, 0, 13] == 1


def test_without_features_systems_or_scorable_outputs(recorder):
    features = parse_features(["recorder"])
    assert feature_scores([], [["a"], ["b"]], references=[["c"]]).shape == (2, 1, 0)
    assert feature_scores(features, [], references=[["c", "d"]]).shape == (0, 2, 1)
    for outputs, references in (([[None]], [["r"]]), ([["a"]], [[None], [None]]), ([["a"]], [])):
        found = feature_scores(features, outputs, references=references)
        assert found.shape == (1, 1, 1) and np.isnan(found).all()
    assert recorder.events == []


def test_what_a_metric_does_not_score_is_nan(recorder):
    found = feature_scores(parse_features(["recorder"]), [["unscored", "ab"]], references=[["r", "s"]])
    assert np.isnan(found[0, :, 0]).tolist() == [True, False] and found[0, 1, 0] == pytest.approx(2)


@pytest.mark.parametrize(
    "systems, references, sources",
    [([["a"], ["b", "c"]], [["d"]], None), ([["a"]], [["b", "c"]], None), ([["a"]], [["b"]], ["c", "d"])],
)
def test_streams_of_different_lengths(systems, references, sources):
    with pytest.raises(InputError, match=r"^features: the texts differ in number: .*2"):
        feature_scores(parse_features(["chrf"]), systems, references=references, sources=sources)


def test_what_a_metric_refuses_is_said_of_its_feature(monkeypatch):
    for spec in ("chrf:char_order=0", "bleu:tokenize=klingon", "bleu:smooth_method=magic"):
        with pytest.raises(InputError) as raised:
            feature_scores(parse_features([spec]), [["a b", "c d"]], references=[["a", "c"]])
        assert raised.value.about == f"feature {spec}"
    # our own metrics have words of their own, which name settings of the feature in place of flags
    with pytest.raises(InputError, match="^bertr: .*multiref"):
        feature_scores(parse_features(["bertr:multiref=least"]), [["a"]], references=[["a"]])
    with pytest.raises(InputError, match="name another with --features bertr:model=...$"):
        feature_signatures(parse_features(["bertr"]), target_lang="sah")

    def broken(*texts):
        raise KeyError("of ours")

    monkeypatch.setattr("ctx_metrics.pairwise.features.scores", broken)
    with pytest.raises(KeyError):  # without options it is no mistake of the user's
        feature_scores(parse_features(["chrf"]), [["a"]], references=[["a"]])
    with pytest.raises(InputError, match="^feature chrf:beta=3: .* KeyError"):
        feature_scores(parse_features(["chrf:beta=3"]), [["a"]], references=[["a"]])


def test_references_that_rows_share_are_prepared_once(monkeypatch):
    prepared, extract = [], CHRF._extract_reference_info
    monkeypatch.setattr(
        CHRF, "_extract_reference_info", lambda self, refs: prepared.append(refs) or extract(self, refs)
    )
    outputs, references = [["a", "b", "c"], ["d", "e", "f"]], [["x y", "x y", "z"]]
    found = feature_scores(parse_features(["chrf"]), outputs, references=references)
    assert prepared == [["x y"], ["z"]]
    assert (found[..., 0] == [[0, 0, 0]] * 2).all()


def test_notices_do_not_name_places_among_the_distinct_outputs(caplog):
    from ctx_metrics.notices import begin_run, notice

    begin_run()
    outputs = [["It rains.", "We left."], ["It rains.", "it was the rain " * 200]]
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        for systems in (outputs, outputs[::-1]):  # the same notice, of the third distinct output and of the second
            feature_scores(parse_features(["bertr", "bertscore"]), systems, references=[["It rains.", "We go."]])
        notice("another (segment 3)")  # later ones are as they were
    assert caplog.messages == [
        "features: bertr, bertscore: 1 segment was truncated (510 tokens per text)",
        "another (segment 3)",
    ]


def test_empty_texts_are_not_said_of_each_feature(caplog):
    feature_scores(parse_features(["bertr", "nist", "meteor"]), [["It rains.", ""]], references=[["", "We go."]])
    assert caplog.messages == []


def test_which_features_read_the_source():
    """The embedded comet reads output and reference alone, though comet has a parameter for sources."""
    features = parse_features(["chrf", "comet:model=embedded"])
    assert [each.reads_source for each in feature_settings(features)] == [False, False]


# ---- signatures ----


def feature_signatures(*features_and_languages, **engine) -> list[str]:
    return [each.signature for each in feature_settings(*features_and_languages, **engine)]


def test_signatures_hold_settings_and_no_versions(recorder):
    features = parse_features(["bleu", "chrf:beta=3", "ter", "bleucomp", "bertr:layers=2"])
    bleu, chrf, ter, components, bertr = feature_signatures(features)
    assert bleu == "bleu|case:mixed|eff:yes|tok:13a|smooth:exp"  # of single sentences
    assert chrf == "chrf:beta=3|case:mixed|eff:yes|nc:6|nw:0|space:no"  # sacrebleu's own has no beta
    assert ter == "ter|case:lc|tok:tercom|norm:no|punct:yes|asian:no"
    assert components.startswith("bleucomp|case:mixed|")
    assert bertr.startswith("bertr:layers=2|model:embedded") and "|layers:2|" in bertr and "|ckpt:" in bertr
    for signature in (bleu, chrf, ter, components, bertr):
        names = {part.partition(":")[0] for part in signature.split("|")[1:]}
        assert not names & {"version", "nrefs", "ctx", "torch", "tokenizers", "nltk", "dtype"}


def test_signatures_change_with_what_changes_the_scores():
    features = parse_features(["bleu", "bertr"])
    (zh, _), (en, one), (de, half) = (
        feature_signatures(features, target_lang=language, engine=EngineOptions(dtype=dtype))
        for language, dtype in (("zh", "fp32"), ("en", "fp32"), ("en", "bf16"))
    )
    assert zh != en == de and one == half  # the number format is a setting of the run, not of the feature


def test_the_four_metrics_of_the_paper():
    """NIST's weights come from the whole set, so that one output's score does not hang on what else is scored."""
    features = parse_features(["4metrics"])
    outputs, references = some_texts(5)
    found = feature_scores(features, outputs, references=references, target_lang="en")
    alone = feature_scores(features, outputs[:1], references=references, target_lang="en")
    np.testing.assert_array_equal(alone[0], found[0])
    assert np.isfinite(found[~np.isnan(found[..., 0])]).all() and (np.nanmax(found, axis=(0, 1)) > 0).all()


# ---- the components of BLEU ----


def components_by_hand(hypothesis: list[str], references: list[list[str]]) -> list[float]:
    def ngrams(words, n):
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    matches, totals = [], []
    for n in range(1, 5):
        own = ngrams(hypothesis, n)
        most = Counter()
        for reference in references:
            most |= ngrams(reference, n)
        matches.append(sum((own & most).values()))
        totals.append(sum(own.values()))
    length = len(hypothesis)
    closest = min((len(reference) for reference in references), key=lambda other: (abs(other - length), other))
    penalty = 1.0 if length >= closest else math.exp(1 - closest / length) if length else 0.0
    return [
        *(match / total if total else 0.0 for match, total in zip(matches, totals)),
        *matches,
        *totals,
        length,
        closest,
        length / closest if closest else 0.0,
        penalty,
    ]


def test_components_agree_with_counting():
    outputs, references = some_texts(11)
    found = feature_scores(parse_features(["bleucomp:tokenize=none"]), outputs, references=references)
    for i, of_system in enumerate(outputs):
        for k, output in enumerate(of_system):
            against = [stream[k].split() for stream in references if stream[k] is not None]
            if output is None or not against:
                assert np.isnan(found[i, k]).all()
            else:
                assert found[i, k].tolist() == pytest.approx(components_by_hand(output.split(), against), abs=1e-12)


@pytest.mark.parametrize(
    "hypothesis, reference, penalty, ratio", [("", "a b", 0, 0), ("a", "", 1, 0), ("", "", 1, 0), ("a b", "a", 1, 2)]
)
def test_components_of_empty_texts(hypothesis, reference, penalty, ratio):
    [values] = BLEUComponents(references=[[reference]]).components([hypothesis])
    assert np.isfinite(values).all()
    assert (values[15], values[14]) == (penalty, ratio) and (values[:4] <= 1).all()
