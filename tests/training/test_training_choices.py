"""Data of several kinds in one command: trees of several human scores, tables of several columns."""

import json

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture

from ctx_metrics.errors import InputError
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.judgements import check_columns
from ctx_metrics.training.quality.options import TrainingOptions


@pytest.fixture
def tree(put, tmp_path):
    def write(name, **scores):
        """A tree of one system and two segments, with the scores of each kind, such as esa_de_en=(1, 2)."""
        for kind_and_pair, values in scores.items():
            kind, pair = kind_and_pair.split("_", 1)
            pair = pair.replace("_", "-")
            put(f"{name}/sources/{pair}.txt", "s1", "s2")
            put(f"{name}/references/{pair}.refA.txt", "r1", "r2")
            put(f"{name}/system-outputs/{pair}/A.txt", "m1", "m2")
            put(f"{name}/human-scores/{pair}.{kind}.seg.score", *(f"A|{value}" for value in values))
        return str(tmp_path / name)

    return write


def targets(paths, **options):
    found = read_training_set(paths, normalise="none", mqm_root=False, options=TrainingOptions(**options))
    return dict(zip(found.datasets, found.targets.tolist())), found


def test_each_tree_is_read_by_the_first_name_that_it_has(tree, put, caplog):
    old = tree("old", mqm_de_en=(-1, -2), da_de_en=(50, 60))
    new = tree("new", esa_de_en=(7, 8), da_de_en=(70, 80), da_fi_en=(1, 2), psqm_ru_en=(5, 6))
    table = put("t.tsv", "mt|ref|score", "a|r|3")
    found, training = targets([old, new, table], human=["esa", "mqm", "da"])
    assert found == {"old.de-en": -2, "new.de-en": 8, "new.fi-en": 2, "t": 3}
    assert training.scores == {old: "mqm", new: "esa, da"}
    assert caplog.messages == [
        f"{new}: left out pairs without human scores named esa or mqm or da (ru-en)",
        f"{old}: 2 rows to learn from; scored by mqm",
        f"{new}: 4 rows to learn from; scored by esa, da",
    ]
    assert targets([old])[1].scores == {} and targets([old], human=["da"])[0] == {"old.de-en": 60}
    with pytest.raises(InputError, match="for de-en; there are da, mqm"):
        targets([old], human=["esa", "psqm"])


def test_tables_of_other_columns_in_one_command(put, caplog):
    sums = put("sums.tsv", "mt|ref|A|B|score", "a|r|1|4|0", "b|r|3|2|0", "c|r||2|0")
    plain = put("plain.tsv", "mt|ref|z_mean", "a|r|.5", "b|r|.7")
    other = put("other.tsv", "mt|ref|C|score", "a|r|5|0", "b|r|6|0")
    options = TrainingOptions(score=[["A", "B:-2"], ["C"]])
    found = read_training_set([sums, plain, other], normalise="none", options=options)
    assert found.targets.tolist() == [-3, 3, 0.5, 0.7, 5, 6]
    assert found.scores == {sums: "z(A) - 2 z(B)", plain: "z_mean (its usual column)", other: "C"}
    assert found.counts[sums] == {"rows": 3, "kept": 2, "without a score": 1}
    assert caplog.messages == [
        f"{sums}: 2 rows to learn from; scored by z(A) - 2 z(B); left out 1 row without a score",
        f"{plain}: 2 rows to learn from; scored by z_mean (its usual column)",
        f"{other}: 2 rows to learn from; scored by C",
    ]
    development = read_development([sums], options=options)
    assert development.origins == {sums: "z(A) - 2 z(B)"} and development.parts[0].scores.tolist() == [-3, 3]
    assert caplog.messages[-1].startswith(f"{sums}: 2 rows for development; scored by z(A) - 2 z(B); left out")


def test_columns_that_no_table_has(put, tree):
    plain, folder = put("t.tsv", "mt|ref|score", "a|r|1"), tree("old", mqm_de_en=(-1, -2))
    objects = put("t.jsonl", '{"mt": "a", "ref": "r", "score": 1, "A": 2, "B": 3}')
    preferences = put("p.tsv", "better|worse|ref|A", "a|b|r|1")
    check_columns([plain, folder], [])
    check_columns([folder, plain, objects], [["C"], ["A", "B"]])
    for paths, columns, where in (
        ([folder, plain, preferences, "absent.tsv"], [["A", "B:2"], ["C"]], "A B:2, or C: no such column in t.tsv"),
        ([folder], [["A"]], "without a table"),
    ):
        with pytest.raises(InputError, match=where):
            check_columns(paths, columns)


def test_config_and_card_name_what_was_read(ctx, put, tree, tiny_bert, tmp_path):
    words = "the cat sat on a mat and the dog ran".split()
    texts = [(f"{words[k % 10]} {words[k % 7]}", f"{words[k % 10]} {words[k % 3]}") for k in range(12)]
    rows = [f"de-en|d{k // 4}|s{k}|{mt}|{ref}|{k % 5}|{k % 3}" for k, (mt, ref) in enumerate(texts)]
    table = put("t.tsv", "lp|doc|src|mt|ref|A|B", *rows)
    dev = put("dev.tsv", "mt|ref|score", *(f"{mt} x|{ref}|{k % 4}" for k, (mt, ref) in enumerate(texts)))
    esa = tree("wmt", esa_de_en=(7, 8))
    out = tmp_path / "out"
    argv = ["comet", "--train", table, esa, "--dev", dev, "--human", "mqm", "esa", "--score-column", "A", "B:-1"]
    argv += ["--leave-out", put("held-out.txt", "d1", "s2", "absent"), "--encoder", tiny_bert, "--epochs", "1"]
    done = ctx("train", *argv, "--out", out, "--no-plot")
    assert done.code == 0, done.err
    data = json.loads((out / "config.json").read_text())["data"]
    counts = {"rows": 12, "kept": 7, "listed in held-out.txt": 5}
    assert {key: data["train"][0][key] for key in ("scores", *counts)} == {"scores": "z(A) - z(B)", **counts}
    assert data["train"][1]["scores"] == "esa" and data["development"][0]["scores"] == "score (its usual column)"
    [listed] = data["left_out"]
    assert (listed["name"], listed["lines"], listed["found"]) == ("held-out.txt", 3, 2) and len(listed["sha256"]) == 64
    card = (out / "README.md").read_text()
    assert "| t.tsv | 1 | z(A) - z(B) | 12 | 7 | 5 listed in held-out.txt |" in card
    assert f"| held-out.txt | 3 | 2 | {listed['sha256']} |" in card and str(tmp_path) not in card
    done = ctx("train", *argv, "--score-column", "C", "--dev", table, "--out", tmp_path / "second", "--no-plot")
    assert done.code == 0 and "dev.tsv: 12 rows for development; scored by score (its usual column)" in done.err
