"""Tables whose column lp names a language pair for each row."""

import json

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.options import DataOptions
from ctx_metrics.judgements.readers import read_chosen, read_judged
from ctx_metrics.judgements.readers.table import read_judged_rows
from ctx_metrics.pairwise.training.data import read_pair_sets
from ctx_metrics.training.data import known_languages
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.judgements import read_judgements
from ctx_metrics.training.quality.options import TrainingOptions

ROWS = (
    "lp|system|doc|seg|src|mt|score",
    "en-de|A|d|1|s|Haus|1",
    "en-zh_TW|A|d|1|s|房子|5",
    "en-de|B|d|1|s|Heim|3",
    "en-zh_TW|A|d|2|t|門|7",
)


def test_each_pair_is_a_set(put):
    german, chinese = read_judged(put("x.tsv", *ROWS))
    assert (german.name, german.pair, german.systems) == ("x.en-de", "en-de", ["A", "B"])
    assert german.hypotheses == [["Haus"], ["Heim"]]
    assert (chinese.name, chinese.source_lang, chinese.target_lang) == ("x.en-zh_TW", "en", "zh_TW")
    assert chinese.segment_scores.tolist() == [[5, 7]] and chinese.sources == ["s", "t"]


def test_pairs_are_selected(put):
    path = put("x.tsv", *ROWS)
    for asked, names in (("en-de", ["x.en-de"]), ("en-zh", ["x.en-zh_TW"]), ("en-zh_TW", ["x.en-zh_TW"])):
        assert [judged.name for judged in read_judged(path, pairs=[asked])] == names
        assert [judged.name for judged in read_chosen(path, DataOptions(pairs=[asked, "fi-en"]))] == names
        assert [each.name for each in read_judgements([path], TrainingOptions([asked, "fi-en"]))] == names
    with pytest.raises(InputError, match="x.tsv: none of the pairs en-zh_CN; there are en-de, en-zh_TW"):
        read_judged(path, pairs=["en-zh_CN"])
    with pytest.raises(InputError, match="x.tsv: its language pairs are en-de, en-zh_TW, not fi-en"):
        read_chosen(path, DataOptions(pairs=["fi-en"]))
    with pytest.raises(InputError, match="x.tsv: none of the pairs fi-en; there are en-de, en-zh_TW"):
        read_judgements([path], TrainingOptions(["fi-en"]))


def test_outputs_of_one_source_in_two_languages_are_not_compared(put):
    training = read_training_set([put("x.tsv", *ROWS)], "mt+src", normalise="none")
    assert training.groups == ["x.en-de:0", "x.en-de:0", "x.en-zh_TW:0", "x.en-zh_TW:1"]
    assert training.hypotheses == ["Haus", "Heim", "房子", "門"]
    assert known_languages(training.datasets, None) == {"x.en-de": ("en", "de"), "x.en-zh_TW": ("en", "zh_TW")}


def test_each_pair_is_standardised_by_itself(put):
    rows = [
        f"{lp}|{system}|s|{system}{lp}|{base + k}|{5 * k}"
        for lp, base in (("en-de", 0), ("en-cs", 70))
        for k, system in enumerate("AB")
    ]
    path = put("x.tsv", "lp|system|src|mt|P|Q", *rows)
    rated = read_judged_rows(path, formulas=[["P", "Q:2"]])
    assert [[row.score for row in each.rows] for each in rated] == [[-3, 3], [-3, 3]]
    found = read_training_set([path], "mt+src", options=TrainingOptions(score=[["P", "Q:2"]]))
    assert found.targets.tolist() == [-1, 1, -1, 1] and found.scores == {path: "z(P) + 2 z(Q)"}


@pytest.mark.parametrize(
    "pair, source, target",
    [("eng_Latn-zho_Hans", "eng_Latn", "zho_Hans"), ("zh-Hans-en", "zh-Hans", "en"), ("EN-JA_JP", "EN", "JA_JP")],
)
def test_a_pair_has_scripts_and_regions(put, pair, source, target):
    [judged] = read_judged(put("x.tsv", "lp|mt|score", f"{pair}|a|1"))
    assert (judged.source_lang, judged.target_lang) == (source, target)
    [judged] = read_judged(put(f"y.{pair}.tsv", "mt|score", "a|1"))
    assert (judged.source_lang, judged.target_lang) == ((source, target) if source != "EN" else (None, None))


def test_a_table_of_one_pair_that_its_name_has_keeps_the_name(put):
    path = put("x.en-de.tsv", ROWS[0], *ROWS[1::2])
    [judged] = read_judged(path)
    assert (judged.name, judged.pair) == ("x.en-de", "en-de")
    assert [each.name for each in read_judgements([path])] == ["x.en-de"]
    assert [judged.name for judged in read_judged(put("x.en-cs.tsv", *ROWS[:2]))] == ["x.en-cs.en-de"]


def test_json_objects_with_a_pair(tmp_path):
    path = tmp_path / "x.jsonl"
    rows = [{"language_pair": lp, "mt": lp, "score": k} for k, lp in enumerate(("de-en", "fi-en", "de-en"))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    german, finnish = read_judged(str(path))
    np.testing.assert_array_equal(german.segment_scores, [[0, 2]])
    assert finnish.pair == "fi-en"
    path.write_text(path.read_text() + '{"mt": "a", "score": 1}\n')
    with pytest.raises(InputError, match="x.jsonl, line 4: column language_pair is empty; write one such as en-de"):
        read_judged(str(path))


@pytest.mark.parametrize("pair", ["German", "en-", "de-jp", "en-de-fr"])
def test_what_is_no_pair(put, pair):
    with pytest.raises(InputError, match=f"x.tsv, line 3: '{pair}' in column lp is not a language pair"):
        read_judged(put("x.tsv", "lp|mt|score", "en-de|a|1", f"{pair}|b|2"))


def test_a_system_has_a_segment_once_in_each_pair(put):
    with pytest.raises(InputError, match="x.tsv, line 6: A has this segment twice"):
        read_judged(put("x.tsv", *ROWS, ROWS[2]))


def test_pairs_of_outputs_within_each_language(put):
    header = "lp|src|ref|mt|score"
    rows = [f"{lp}|s|r|{lp}{k}|{k}" for lp in ("de-en", "fi-en") for k in (1, 2)]
    again = "fi-en|s|r|fi-en2|4"
    found = read_pair_sets([put("x.tsv", header, *rows, again)], DataOptions())
    assert [judged.name for judged in found.sets] == ["x.de-en", "x.fi-en"]
    assert [len(judged.preferences) for judged in found.sets] == [1, 1]
