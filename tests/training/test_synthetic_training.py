"""Clean translations: which are read, what an epoch makes of them, and how a model learns from it."""

import json
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import unified_models
from cli_conftest import ctx  # noqa: F401  a fixture
from toy_judgements import write_judgements
from unified_models import RECIPE, judged_sets, stopped_at, values

from ctx_metrics.errors import InputError
from ctx_metrics.models.estimator import Example
from ctx_metrics.opening import file_sha256
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.options import TrainingOptions
from ctx_metrics.training.quality.synthetic.kinds import ERRORS, HARMLESS
from ctx_metrics.training.quality.synthetic.pairs import ROWS_A_PAIR, read_clean_pairs
from ctx_metrics.training.quality.unified import UnifiedTask


def write(path, rows, columns="src ref doc"):
    """A table of clean translations, each with the outputs of two systems and without scores."""
    lines = ["\t".join([*columns.split(), "mt", "score", "system"])]
    lines += ["\t".join([*row, f"output {system}", "", system]) for row in rows for system in "AB"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


ROWS = [(f"Quelle {k} in Rom.", f"Source {k} is in old Rome.", f"doc{k // 3}") for k in range(9)]


def texts(pairs):
    return [pair.text for pair in pairs.pairs]


def test_distinct_pairs_are_read_and_the_others_are_counted(tmp_path, caplog):
    others = [("", "No source.", "a"), ("Keine Referenz.", "", "a"), ("Rom.", "Rom", "a"), ("…", "Three dots.", "a")]
    others += [("Im Test.", "In the test.", "a"), ("A source.", "Of the test", "a")]
    one = write(tmp_path / "one.de-en.tsv", [*ROWS, *others, ROWS[0]])
    two = write(tmp_path / "two.de-en.tsv", [*ROWS[:2], ("Neu.", "New.", "b")])
    pairs = read_clean_pairs([f"{one}:0.5", two], held_out=["Im Test.", "Of the test", None])
    assert texts(pairs) == [*(text for _, text, _ in ROWS), "New."]
    left = {"without a source": 2, "without a reference": 1, "whose reference is the source": 1}
    assert pairs.counts == {
        one: {"rows": 15, "kept": 9, **left, "with a source of --dev": 2},
        two: {"rows": 3, "kept": 1, "that another data set has": 2},
    }
    assert [pair.weight for pair in pairs.pairs] == [0.5] * 9 + [1.0]
    assert {pair[-2:] for pair in pairs.pairs} == {("de", "en")}
    assert any(f"{one}: 9 clean translations; left out 2 pairs without a source" in said for said in caplog.messages)


def test_some_of_the_pairs_are_whole_documents(tmp_path, caplog):
    path = write(tmp_path / "one.tsv", ROWS)
    few, more = (read_clean_pairs([f"{path}:1:{most}"], seed=3) for most in (4, 7))
    assert Counter(pair.document for pair in more.pairs) == dict.fromkeys({p.document for p in more.pairs}, 3)
    assert (len(few), len(more)) == (3, 6) and set(texts(few)) < set(texts(more))
    assert more.counts[path]["beyond 7 a data set"] == 3 and "left out 3 pairs beyond 7 a data set" in caplog.text


def test_a_table_needs_only_sources_and_references(put, tmp_path, caplog):
    plain = put("plain.de-en.tsv", "ref|src|doc|note", *(f"{text}|{source}|{doc}|x" for source, text, doc in ROWS))
    rows = [json.dumps({"lp": "de-fr", "src": source, "ref": text}) for source, text, _ in ROWS]
    # as for --train with --score-column, with scores that are not numbers
    words = put("words.tsv", "src|ref|mt|score", "Eins|One|One.|good")
    pairs = read_clean_pairs([plain, words], TrainingOptions(score=[["esa"]]))
    assert texts(pairs) == [*(text for _, text, _ in ROWS), "One"] and pairs.pairs[3].document == "doc1"
    [languages] = {(*pair[-2:], pair.dataset) for pair in read_clean_pairs([put("lines.jsonl", *rows)]).pairs}
    assert languages == ("de", "fr", "lines.de-fr")
    assert {pair[-2:] for pair in read_clean_pairs([words], TrainingOptions(["de-en"])).pairs} == {("de", "en")}
    assert not any("column" in message for message in caplog.messages)


def test_listed_texts_are_on_neither_side(put, tmp_path, caplog):
    path, listed = write(tmp_path / "one.tsv", ROWS), put("listed.txt", ROWS[0][0], ROWS[1][1], "doc2", "nowhere")
    pairs = read_clean_pairs([path], leave_out=[listed, put("none.txt", "nowhere")])
    assert len(pairs) == 4 and pairs.counts[path]["listed in listed.txt"] == 5
    assert "none.txt: none of its lines is a document or a source of the clean translations" in caplog.text


def test_suspicious_texts_are_said(tmp_path, caplog):
    rows = [(source, f"{text} &amp;", document) for source, text, document in ROWS]
    path = write(tmp_path / "one.de-en.tsv", rows)
    read_clean_pairs([path], TrainingOptions(text_checks=True))
    assert any("HTML entit" in said and "one.de-en/reference" in said for said in caplog.messages), caplog.messages
    caplog.clear()
    read_clean_pairs([path])
    assert len(caplog.messages) == 1


def test_data_with_scores_of_systems_alone_are_read(put, tmp_path):
    put("WMT19/DA-syslevel.csv", "LP HUMAN SYSTEM", "en-de 0.1 newstest2019.a.1", "en-de 0.2 newstest2019.b.2")
    put("WMT19/source/newstest2019-ende-src.en", "One.", "Two.")
    put("WMT19/references/newstest2019-ende-ref.de", "Eins.", "Zwei.")
    for system in ("a.1", "b.2"):
        put(f"WMT19/system-outputs/en-de/newstest2019.{system}.en-de", "x", "y")
    pairs = read_clean_pairs([str(tmp_path / "WMT19")])
    assert texts(pairs) == ["Eins.", "Zwei."] and pairs.pairs[0][-2:] == ("en", "de")


def test_a_path_without_clean_translations_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no clean translations .* 1 pair without a source"):
        read_clean_pairs([write(tmp_path / "one.tsv", [("", "No source.", "a")])])


def test_the_command_says_what_it_did(ctx, tiny_xlmr, tmp_path):
    """And nothing of clean translations where there are none."""
    paths = [str(write_judgements(tmp_path / f"{name}.cs-en.tsv", 6, k)) for k, name in enumerate(("train", "dev"))]
    clean = write(tmp_path / "clean.deu-en.tsv", ROWS)
    options = ["--inputs", "mt+src", "--encoder", tiny_xlmr, "--rank", "2", "--feedforward", "5", "--no-plot"]
    argv, out = ["train", "comet", *options, "--train", paths[0], "--dev", paths[1], "--out"], tmp_path / "out"
    done = ctx(*argv, out, "--synthetic", f"{clean}:0.5:6")
    assert done.code == 0, done.err
    assert f"--synthetic {clean}: 6 clean translations; left out 3 pairs beyond 6 a data set" in done.err
    assert "Each epoch also had 30 rows of 6 clean translations" in done.out
    config, card = json.loads((out / "config.json").read_text()), (out / "README.md").read_text()
    assert (config["source_languages"], config["languages"]) == (["cs", "de"], ["en"])
    told = {"weight": 0.5, "rows": 9, "kept": 6, "beyond 6 a data set": 3}
    assert config["data"]["synthetic"] == [{"name": "clean.deu-en.tsv", "sha256": file_sha256(clean), **told}]
    assert config["training"]["rows"] == 12 and json.loads((out / "checks.jsonl").read_text())["rows"] == 12 + 30
    told = config["synthetic"]
    assert told["pairs"] == 6 and told["rows_an_epoch"] == 30 and set(told["kinds"]) == set(ERRORS)
    assert told["kinds"]["number changed"]["target"] == -1.0 and told["kinds"]["half dropped"]["target"] == [-0.8, -2.0]
    assert "30 rows made anew of 6 clean translations" in card and str(tmp_path) not in card
    for kind, (target, often) in {"half dropped": ("-0.8 to -2.0", 1.0), "number changed": ("-1.0", 8.0)}.items():
        assert f"| {kind} | {often} | {target} |" in card
    done = ctx(*argv, tmp_path / "plain")
    card, config = ((tmp_path / "plain" / name).read_text() for name in ("README.md", "config.json"))
    assert done.code == 0 and not re.search("ynthetic|clean translation", card + done.out + done.err)
    assert "synthetic" not in json.loads(config)


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    """English sources with German and French translations, in documents; and one of Russian."""
    folder = tmp_path_factory.mktemp("news")
    english = [f"The mayor of {city} sold {k} old boats today, but not all." for k, city in ((2, "Rome"), (3, "Bonn"))]
    german = [
        "Der Bürgermeister von Rom verkaufte heute 2 alte Boote, aber nicht alle.",
        "In Bonn verkauft heute jemand 3.",
    ]
    french = ["Le maire de Rome a vendu 2 vieux bateaux.", "À Bonn le maire en a vendu 3."]
    russian = "Мэр города Рима продал сегодня две лодки.", "Today the mayor of the city of Rome sold two boats.", "x"
    return [
        write(folder / "one.en-de.tsv", [(*pair, "a") for pair in zip(english, german)]),
        write(folder / "two.en-fr.tsv", [(*pair, "a") for pair in zip(english, french)]),
        write(folder / "three.ru-en.tsv", [russian]),
    ]


def drawn(pairs, kind, number, epochs=60):
    return {made.text for epoch in range(epochs) for made in pairs.made(number, 1, epoch) if made.kind == kind}


def test_what_is_put_into_a_translation_comes_from_around_it(news, monkeypatch):
    monkeypatch.setattr("ctx_metrics.training.quality.synthetic.pairs.ALSO_HARMLESS", 0.0)
    pairs = read_clean_pairs(news)
    german, french, russian = (
        [pair.text for pair in pairs.pairs if pair.dataset.startswith(name)] for name in ("one", "two", "three")
    )
    assert drawn(pairs, "another sentence", 0) == {german[1]}
    assert drawn(pairs, "another language", 0) == {french[0]}  # of the same source
    others = drawn(pairs, "another language", 4)
    assert others < {*german, *french} and others & {*german} and others & {*french}  # neither English nor Russian
    assert not drawn(pairs, "another sentence", 4)  # the data set has no other
    assert drawn(pairs, "source copied", 4) == {pairs.pairs[4].source}
    assert drawn(pairs, "negation", 0) == {german[0].replace(" nicht", "")}
    assert not drawn(read_clean_pairs(news[:1]), "another language", 0)
    assert russian == ["Today the mayor of the city of Rome sold two boats."]


def test_half_of_the_errors_come_with_a_harmless_change(news):
    pairs = read_clean_pairs(news)
    other = pairs.pairs[1].text
    found = [made.text for epoch in range(300) for made in pairs.made(0, 1, epoch) if made.kind == "another sentence"]
    assert 0.4 < found.count(other) / len(found) < 0.6
    assert {"in" + other[2:], other[:-1]} < set(found)
    assert {made.target for epoch in range(60) for made in pairs.made(0, 1, epoch) if made.text in found} == {-2.5}


def test_an_epoch_has_a_group_of_each_pair_and_comes_again(news):
    pairs = read_clean_pairs([f"{news[0]}:2", *news[1:]])
    one, again, next_epoch, other_seed = (pairs.rows(*key) for key in ((1, 0), (1, 0), (1, 1), (2, 0)))
    assert one.hypotheses == again.hypotheses and one.targets.tolist() == again.targets.tolist()
    assert one.hypotheses != next_epoch.hypotheses and one.hypotheses != other_seed.hypotheses
    for made in (one, next_epoch):
        assert len(made) == pairs.rows_an_epoch == 5 * ROWS_A_PAIR and set(Counter(made.groups).values()) == {
            ROWS_A_PAIR
        }
        assert made.references == [None] * len(made) and made.centred.all()
        assert made.weights.tolist() == [2.0] * 10 + [1.0] * 15
        for begin, pair in zip(range(0, len(made), ROWS_A_PAIR), pairs.pairs):
            rows = slice(begin, begin + ROWS_A_PAIR)
            kinds = [origin.system for origin in made.origins[rows]]
            assert (
                kinds[0] == "clean" and made.hypotheses[begin] == pair.text and set(made.sources[rows]) == {pair.source}
            )
            assert set(kinds[1:-1]) <= set(ERRORS) and kinds[-1] in HARMLESS and len(set(kinds)) == ROWS_A_PAIR
            assert (made.targets[rows] == 0).tolist() == [True, False, False, False, True]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    return judged_sets(folder), read_clean_pairs([str(write_judgements(folder / "s.tsv", 7, 2))])


def learned(encoder, data, out, inputs="mt+src+ref", **recipe):
    judged, pairs = data
    given = replace(RECIPE, batch=12, **{"loss": "mse", **recipe})
    return unified_models.learned(encoder, judged, out, given, inputs=inputs, synthetic=pairs)


def test_a_stopped_training_does_not_go_on_with_other_translations(data, news, tiny_xlmr, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stopped_at(patched, 0)
        learned(tiny_xlmr, data, tmp_path / "m")
    for pairs in (None, read_clean_pairs(news)):
        with pytest.raises(InputError, match="a stopped training with other synthetic errors"):
            learned(tiny_xlmr, (data[0], pairs), tmp_path / "m")


@pytest.mark.full
def test_judged_rows_stay_and_synthetic_ones_change_in_each_epoch(data, tiny_xlmr, tmp_path, monkeypatch):
    epochs = []

    def batches(self, progress, whole=UnifiedTask.batches):
        rows = whole(self, progress)
        texts = [[list(row["mt"].ids) for row in self.inputs.rows], self.targets.tolist()]
        epochs.append((rows, self.groups, *texts, self.centred.tolist(), [self._way(row) for row in range(self.rows)]))
        return rows

    monkeypatch.setattr(UnifiedTask, "batches", batches)
    learned(tiny_xlmr, data, tmp_path / "m")
    (one, groups, ids, targets, centred, ways), (two, _, ids_after, targets_after, _, _) = epochs
    judged, whole = len(data[0][0]), len(data[0][0]) + 7 * ROWS_A_PAIR
    assert ids[:judged] == ids_after[:judged] and targets[:judged] == targets_after[:judged]
    assert ids[judged:] != ids_after[judged:] and len(ids) == len(ids_after) == len(targets) == whole
    assert centred == [False] * judged + [True] * (whole - judged)
    assert set(ways[judged:]) == {"mt+src"} and len(set(ways[:judged])) > 1
    assert set(groups[:judged]).isdisjoint(groups[judged:])
    for batches in (one, two):
        assert sorted(row for batch in batches for row in batch) == list(range(whole))
        for batch in batches:
            counts = Counter(groups[row] for row in batch)
            assert all(counts[group] == groups.count(group) for group in counts)


@pytest.mark.full
def test_it_learns_that_errors_cost(data, tiny_xlmr, tmp_path):
    """On texts that it was not trained on, errors that even a tiny encoder can see score below the clean translation."""
    many, fresh = (read_clean_pairs([str(write_judgements(tmp_path / f"{k}.tsv", 60, k))]) for k in (8, 9))
    learned(tiny_xlmr, (data[0], many), tmp_path / "m", inputs="mt+src", epochs=10, learning_rate=1e-2)
    made = fresh.rows(1, 0)
    examples = [Example(text, None, source) for text, source in zip(made.hypotheses, made.sources)]
    found = values(tmp_path / "m", examples)
    clean = np.repeat(found[::ROWS_A_PAIR], ROWS_A_PAIR)
    seen = {"half dropped", "another sentence", "only punctuation"}
    lower = [one > other for one, other, origin in zip(clean, found, made.origins) if origin.system in seen]
    assert len(lower) > 50 and np.mean(lower) > 0.8


def test_a_hinge_needs_no_other_pairs_than_the_synthetic_ones(data, tiny_xlmr, put, tmp_path):
    path = put("alone.tsv", "src|ref|mt|score", "a cat|the cat|cat|1", "rain|the rain|sun|0")
    alone = read_training_set([path], "mt+src+ref"), data[0][1]
    with pytest.raises(InputError, match="hinge: no segment has two outputs"):
        learned(tiny_xlmr, (alone, None), tmp_path / "m", loss="hinge")
    trained = learned(tiny_xlmr, (alone, data[1]), tmp_path / "m", loss="hinge", epochs=1)
    assert trained.checks[0].loss > 0
