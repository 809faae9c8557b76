"""Readers of judgements: rows, DA, preferences and rankings."""

import gzip
import lzma
import tarfile

import numpy as np
import pytest
from embedded_regressor import unpacked
from sacrebleu.metrics import BLEU, CHRF

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError
from ctx_metrics.judgements.measures.correlation import mad_outliers, pearson
from ctx_metrics.judgements.measures.taus import tau
from ctx_metrics.judgements.readers import read_judged
from ctx_metrics.judgements.readers.preferences import read_preferences, read_rankings
from ctx_metrics.judgements.readers.rows import header_of, language_pair, read_csv, read_rows
from ctx_metrics.judgements.readers.sentence_pairs import read_pairs
from ctx_metrics.meta.scoring import MetricSettings, score_set

NAN = float("nan")


@pytest.fixture
def put(tmp_path):
    """A function that writes a file, packed as its name says, and returns its path."""

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(text.encode()))
        return str(path)

    return write


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz", "t.tsv.xz"])
def test_cells_are_what_stands_between_tabs(put, name):
    header, rows = read_rows(put(name, '\ufeffa\tb\tc\r\n"1"\t \u2028x\t\r\n\t\t\n'))
    assert header == ["a", "b", "c"]
    assert [row.cells for row in rows] == [{"a": '"1"', "b": " \u2028x", "c": ""}, {"a": "", "b": "", "c": ""}]
    assert rows[1].where.endswith(f"{name}, line 3")


@pytest.mark.parametrize(
    "text, message",
    [
        ("a\tb\n1\t2\n1\t2\t3\n", "t.tsv, line 3: 3 columns"),
        ("a\ta\n", "t.tsv, line 1: the header names column 'a' twice"),
        ("", "t.tsv, line 1: no column a; the header names nothing"),
    ],
)
def test_tables_that_do_not_fit_their_header(put, text, message):
    with pytest.raises(InputError, match=message):
        read_rows(put("t.tsv", text), ["a"])


def test_comma_separated_files(put):
    path = put("t.csv", 'a,b\n"1,\n2",3\n\n4,"5""6"\n')
    assert [row.cells for row in read_csv(path, ["a"])[1]] == [{"a": "1,\n2", "b": "3"}, {"a": "4", "b": '5"6'}]
    assert header_of(path) == (["a", "b"], ",")
    with pytest.raises(InputError, match="bad.csv, line 2: 1 columns, but the header names 2"):
        read_csv(put("bad.csv", "a,b\n1\n"), ["a"])


CELLS = [["mt", "ref", "score"], ["a\u2028", "r", "1"], ["b", "s", "2"]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
def test_line_ends(put, end):
    """Old spreadsheets end the lines of a file with carriage returns alone."""

    def written(name: str, mark: str, rows: list[list[str]]) -> str:
        return put(name, "".join(mark.join(row) + end for row in rows))

    (judged,) = read_judged(written("t.tsv", "\t", CELLS))
    assert judged.hypotheses == [["a\u2028", "b"]] and judged.segment_scores.tolist() == [[1, 2]]
    (judged,) = read_judged(put("t.jsonl", end.join(['{"mt": "a", "score": 1}', '{"mt": "b", "score": 2}'])))
    assert judged.hypotheses == [["a", "b"]]
    with pytest.raises(InputError, match="t.csv: its columns are separated by commas; separate them by tabs"):
        read_judged(written("t.csv", ",", CELLS))
    assert header_of(written("r.csv", ",", [["system1rank", "b"], ["1", "2"]])) == (["system1rank", "b"], ",")
    pairs = read_pairs(written("p.tsv", "\t", [["sentence1", "sentence2", "label"], ["a", "b", "0"], ["c", "d", "1"]]))
    assert pairs.hypotheses == [["a", "c"]]
    sts = read_pairs(written("sts.csv", "\t", [[*"gfyn", "1.5", "a", "b"], [*"gfyn", "2", "c", "d"]]))
    assert sts.references == [["b", "d"]]


def test_a_first_line_that_is_no_header(put):
    with pytest.raises(InputError, match=r"t.tsv, line 1: field larger .*; write a header that names the columns"):
        read_judged(put("t.tsv", "x" * 200_000))


def test_language_pairs_in_names():
    pairs = {"gu-en": ("gu", "en"), "en-de.dev": ("en", "de"), "sah-ru_x": ("sah", "ru")}
    assert {name: language_pair(name) for name in pairs} == pairs
    assert language_pair("de-en.en-de") == ("en", "de")
    assert [language_pair(name) for name in ("ratings", "COMET-22", "x-en-dev", "a.en-de-x")] == [(None, None)] * 4


DA = {"source": "s1\ns2\n", "mt-system": "m1\n\n", "reference": "r1\nr2\n", "human": "-0.5\nNone\n"}


@pytest.fixture
def da(put, tmp_path):
    for test, pair in (("newstest2015", "cs-en"), ("newstest2016", "cs-en"), ("newstest2016", "en-ru")):
        for kind, text in DA.items():
            put(f"DAseg-wmt-{test}/DAseg.{test}.{kind}.{pair}", text)
    return tmp_path


def test_segment_da(da):
    sets = read_judged(str(da / "DAseg-wmt-newstest2016"))
    assert [each.name for each in sets] == ["newstest2016.cs-en", "newstest2016.en-ru"]
    judged = sets[1]
    assert (judged.systems, judged.source_lang, judged.target_lang) == (["outputs"], "en", "ru")
    assert (judged.hypotheses, judged.references, judged.sources) == ([["m1", ""]], [["r1", "r2"]], ["s1", "s2"])
    np.testing.assert_array_equal(judged.segment_scores, [[-0.5, NAN]])
    assert judged.system_scores is None


def test_folders_of_segment_da(da):
    assert [each.name for each in read_judged(str(da), pairs=["cs-en"])] == ["newstest2015.cs-en", "newstest2016.cs-en"]
    with pytest.raises(InputError, match="none of the pairs de-en; there are cs-en, en-ru"):
        read_judged(str(da), pairs=["de-en"])
    (da / "DAseg-wmt-newstest2015" / "DAseg.newstest2015.source.cs-en").unlink()
    assert read_judged(str(da), pairs=["cs-en"])[0].sources is None


@pytest.mark.parametrize(
    "kind, text, message",
    [
        ("reference", "r\n", "reference.cs-en: 1 line for the 2 of .*human.cs-en"),
        ("mt-system", None, "no file DAseg.newstest2015.mt-system.cs-en next to it"),
    ],
)
def test_segment_da_that_cannot_be_used(da, put, kind, text, message):
    file = f"DAseg-wmt-newstest2015/DAseg.newstest2015.{kind}.cs-en"
    put(file, text) if text else (da / file).unlink()
    with pytest.raises(InputError, match=message):
        read_judged(str(da))


PREFERENCES = "src\tref\tbetter\tworse\tbetter_sys\tworse_sys\n"


def test_preferences(put):
    path = put(
        "gu-en.tsv.gz",
        PREFERENCES + "s1\tr1\ta1\tb1\tA\tB\n"  # segment 0
        "s2\tr2\tb2\tc2\tB\tC\n"  # segment 1
        "s1\tr1\tb1\ta1\tB\tA\n"  # contradicts the first
        "s1\tr1\ta1\tb1\tA\tB\n"  # repeats it
        "s1\tr1\tA1\tb1\tA\tB\n"  # another output of A: segment 2
        "s1\tr1\tc1\tA1\tC\tA\n"  # C is in segment 0 as in 2, A's output is in 2
        "s1\tx1\ta1\tb1\tA\tB\n",  # another reference: segment 3
    )
    (judged,) = read_judged(path)
    assert (judged.name, judged.source_lang, judged.target_lang) == ("gu-en", "gu", "en")
    assert judged.systems == ["A", "B", "C"]
    assert judged.preferences.tolist() == [[0, 0, 1], [1, 1, 2], [0, 1, 0], [0, 0, 1], [2, 0, 1], [2, 2, 0], [3, 0, 1]]
    assert judged.hypotheses == [["a1", None, "A1", "a1"], ["b1", "b2", "b1", "b1"], [None, "c2", "c1", None]]
    assert (judged.sources, judged.references) == (["s1", "s2", "s1", "s1"], [["r1", "r2", "r1", "x1"]])
    assert judged.segment_scores is None and judged.system_scores is None


def test_preferences_without_systems(put, caplog):
    judged = read_preferences(put("p.tsv", "better\tworse\tref\nx\ty\tr\nz\tx\tr\nx\tx\tr\nz\tq\tt\n"))
    # outputs of r: x, y, z are 1, 2, 3; of t: z, q are 1, 2
    assert judged.hypotheses == [["x", "z"], ["y", "q"], ["z", None]]
    assert judged.preferences.tolist() == [[0, 0, 1], [0, 2, 0], [1, 0, 1]]
    assert (judged.sources, judged.references) == (None, [["r", "t"]])
    assert [text.partition(": ")[2] for text in caplog.messages] == [
        "left out 1 row where better and worse are the same text"
    ]


@pytest.mark.parametrize(
    "text, message",
    [
        (PREFERENCES + "s\tr\ta\tb\tA\tA\n", "line 2: better_sys and worse_sys must name two systems"),
        (PREFERENCES, "no preferences below the header"),
    ],
)
def test_preferences_that_cannot_be_used(put, text, message):
    with pytest.raises(InputError, match=message):
        read_preferences(put("p.tsv", text))


NUMBERS = range(1, 6)
RANKINGS = ",".join(
    ["srclang", "trglang", "srcIndex", "documentId", "segmentId", "judgeId"]
    + [f"system{k}{what}" for k in NUMBERS for what in ("Number", "Id")]
    + [f"system{k}rank" for k in NUMBERS]
)


def ranking(segment, ranks, source="French", systems="ABCDE"):
    ids = [f"-1,newstest2013.fr-en.{system}" for system in systems]
    return ",".join([source, "English", str(segment), "-1", str(segment), "judge", *ids, *map(str, ranks)])


@pytest.fixture
def wmt13(put, tmp_path):
    for system in "ABCDE":
        put(f"outputs/newstest2013.fr-en.{system}", f"{system}1\n{system}2\n{system}3\n")
    put("ref.en", "r1\nr2\nr3\n")
    put("src.fr", "s1\ns2\ns3\n")

    def read(*rows, **arguments):
        path = put("rankings.csv", "\n".join([RANKINGS, *rows]) + "\n")
        return read_rankings([path], str(tmp_path / "outputs"), [str(tmp_path / "ref.en")], **arguments)

    return read


def test_rankings(wmt13, tmp_path):
    judged = wmt13(
        ranking(2, [1, 2, 2, -1, -1]),  # A > B, A > C; D and E were not judged
        ranking(2, [2, 1, 1, -1, -1]),  # another judge: B > A, C > A
        ranking(3, [3, 3, 3, 3, 3]),
        ranking(1, [-1, -1, -1, 5, 4]),  # E > D
        source=str(tmp_path / "src.fr"),
    )
    assert (judged.name, judged.source_lang, judged.target_lang) == ("newstest2013.fr-en", "fr", "en")
    assert judged.systems == ["A", "B", "C", "E", "D"]
    names = [(k, judged.systems[better], judged.systems[worse]) for k, better, worse in judged.preferences]
    assert names == [(1, "A", "B"), (1, "A", "C"), (1, "B", "A"), (1, "C", "A"), (0, "E", "D")]
    assert judged.hypotheses[0] == [None, "A2", None] and judged.hypotheses[4] == ["D1", None, None]
    assert (judged.sources, judged.references) == (["s1", "s2", "s3"], [["r1", "r2", "r3"]])


def test_rankings_are_found_by_their_header(wmt13, tmp_path):
    wmt13(ranking(1, [1, 2, 3, 4, 5]))
    arguments = {"outputs": str(tmp_path / "outputs"), "reference": str(tmp_path / "ref.en")}
    (judged,) = read_judged(str(tmp_path / "rankings.csv"), **arguments)
    assert len(judged.preferences) == 10
    with pytest.raises(InputError, match="need the folder of the systems' outputs"):
        read_judged(str(tmp_path / "rankings.csv"))
    with pytest.raises(InputError, match="none of the pairs de-en; there are fr-en"):
        read_judged(str(tmp_path / "rankings.csv"), pairs=["de-en"], **arguments)


@pytest.mark.parametrize(
    "rows, message",
    [
        ([ranking(0, NUMBERS)], "line 2: segmentId 0, and .*ref.en has 3 lines"),
        ([ranking(4, NUMBERS)], "line 2: segmentId 4"),
        ([ranking("x", NUMBERS)], "line 2: 'x' is not a whole number"),
        ([ranking(1, NUMBERS, systems="AABCD")], "line 2: ranks newstest2013.fr-en.A twice"),
        ([ranking(1, NUMBERS, systems="ABCDF")], "outputs: no output newstest2013.fr-en.F, which the rankings name"),
        ([ranking(1, NUMBERS), ranking(1, NUMBERS, "Czech")], r"ranks several language pairs \(Czech-English, French"),
        ([ranking(1, [1] * 5)], "no ranking prefers one system to another"),
        ([], "has no rankings"),
    ],
)
def test_rankings_that_cannot_be_used(wmt13, rows, message):
    with pytest.raises(InputError, match=message):
        wmt13(*rows)


def scored(judged) -> list[np.ndarray]:
    """The segment scores of BLEU and chrF."""
    found = score_set(judged, [MetricSettings("bleu", BLEU), MetricSettings("chrf", CHRF)], EngineOptions(quiet=True))
    return [each.segment_scores for each in found]


@pytest.mark.slow
@pytest.mark.parametrize("pair, bleu, chrf", [("kk-en", 0.285, 0.323), ("gu-en", 0.190, 0.240)])
def test_darr_of_wmt19(shared_data, pair, bleu, chrf):
    (judged,) = read_judged(str(shared_data / "wmt19_darr" / f"{pair}.tsv.xz"))
    assert len(judged.preferences) == {"kk-en": 9728, "gu-en": 20110}[pair]
    for scores, expected in zip(scored(judged), (bleu, chrf)):
        assert round(tau(judged.preferences, scores, "darr"), 3) == expected


@pytest.mark.slow
def test_segment_da_of_wmt16(shared_data, tmp_path):
    with tarfile.open(shared_data / "wmt15_16_da" / "wmt15_16_da.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    sets = {each.name: each for each in read_judged(str(tmp_path / "wmt15_16_da"))}
    assert sorted(len(each.hypotheses[0]) for each in sets.values()) == [500] * 5 + [560] * 7
    judged = sets["newstest2016.cs-en"]
    for scores, expected in zip(scored(judged), (0.557, 0.657)):
        assert pearson(judged.segment_scores, scores) == pytest.approx(expected, abs=6e-4)


@pytest.mark.slow
def test_rankings_of_wmt13(shared_data, tmp_path):
    with tarfile.open(shared_data / "wmt13_rank" / "wmt13_rank.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    folder = next(tmp_path.rglob("fr-en-rankings-train.csv")).parent
    csvs = [str(folder / f"fr-en-rankings-{part}.csv") for part in ("train", "test")]
    rest = str(folder / "newstest2013" / "fr-en"), [str(folder / "references" / "newstest2013-ref.en")]
    assert len(read_rankings(csvs, *rest).preferences) == 82296
    with open(csvs[0], newline="") as whole:
        (tmp_path / "first.csv").write_text("".join([next(whole) for _ in range(3001)]))
    judged = read_rankings([str(tmp_path / "first.csv")], *rest)
    assert len(judged.preferences) == 24164
    for scores, expected in zip(scored(judged), (0.207, 0.252)):
        assert round(tau(judged.preferences, scores, "wmt14"), 3) == expected


LEVELS = "LP HUMAN SYSTEM\n"


@pytest.fixture
def system_da(put, tmp_path):
    files = {
        "DA-syslevel.csv": LEVELS + "de-en 0.5 one.1\nde-en -0.25 two.2\nde-en 0.1 gone.3\nen-cs 1 x.1\n",
        "references/newstest2019-deen-ref.en": "It rains.\nWe left.\n",
        "source/newstest2019-deen-src.de": "Es regnet.\nWir gingen.\n",
        "system-outputs/de-en/newstest2019.one.1.de-en": "It pours.\nWe left.\n",
        "system-outputs/de-en/newstest2019.two.2.de-en": "Rain.\nLeft.\n",
        "system-outputs/de-en/newstest2019.unjudged.4.de-en": "A.\nB.\n",
        "system-outputs/en-cs/newstest2019.x.1.en-cs": "A.\nB.\n",
    }
    for name, text in files.items():
        put(f"WMT19/{name}", text)
    return tmp_path / "WMT19"


def test_system_da(system_da, caplog):
    [judged] = read_judged(str(system_da))
    assert judged.name == "newstest2019.de-en" and (judged.source_lang, judged.target_lang) == ("de", "en")
    assert judged.systems == ["one.1", "two.2", "unjudged.4"] and judged.hypotheses[1] == ["Rain.", "Left."]
    assert judged.references == [["It rains.", "We left."]] and judged.sources[0] == "Es regnet."
    assert judged.system_scores[:2].tolist() == [0.5, -0.25] and np.isnan(judged.system_scores[2])
    assert "left out en-cs, which has no reference file" in caplog.text
    assert "newstest2019.de-en: left out systems with scores but no output (gone.3)" in caplog.text


def test_the_second_reference_of_a_pair_is_not_left_out_unsaid(system_da, caplog):
    (system_da / "references" / "newstest2018-deen-ref.en.gz").write_bytes(b"not read\n")
    (system_da / "references" / "newstest2019-deen-ref.en").rename(
        system_da / "references" / "newstest2017-deen-ref.en"
    )
    for path in (system_da / "system-outputs" / "de-en").iterdir():
        path.rename(path.with_name(path.name.replace("2019", "2017")))
    [judged] = read_judged(str(system_da), pairs=["de-en"])
    assert judged.references == [["It rains.", "We left."]]
    assert "newstest2017-deen-ref.en is read, of newstest2017-deen-ref.en, newstest2018-deen-ref.en" in caplog.text
    with pytest.raises(InputError, match="none of the pairs fr-en has a reference file; it scores de-en, en-cs"):
        read_judged(str(system_da), pairs=["fr-en"])


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("DA-syslevel.csv", "LP SYSTEM HUMAN\n", "csv, line 1: the columns are LP SYSTEM HUMAN, not LP HUMAN"),
        ("DA-syslevel.csv", LEVELS + "de-en 0.5\n", "csv, line 2: 2 fields, not 3"),
        ("DA-syslevel.csv", LEVELS + "en-cs 1 x.1\n", "csv: none of its pairs has .* it scores en-cs$"),
        ("system-outputs/de-en/newstest2019.one.1.de-en", "A.\n", "1 line for the 2 of"),
    ],
)
def test_system_da_that_cannot_be_used(system_da, name, text, message):
    (system_da / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_judged(str(system_da))


@pytest.mark.slow
def test_published_correlations_of_system_da(shared_data):
    """WMT19, with and without outliers: sacreBLEU's BLEU and chrF as Ma et al. 2019 ran them."""
    published = {"gu-en": (0.834, 0.975, 0.952, 0.937), "kk-en": (0.946, 0.912, 0.969, 0.750)}
    with unpacked(shared_data / "wmt18_19_sys/wmt18_19_sys.tar.xz") as data:
        sets = read_judged(str(data / "WMT19"), pairs=list(published))
    for judged, expected in zip(sets, published.values()):
        human, found = judged.system_scores, []
        inside = ~mad_outliers(human)
        for metric in (BLEU(tokenize="intl", lowercase=True, force=True), CHRF(beta=3)):
            scores = np.array([metric.corpus_score(of, judged.references).score for of in judged.hypotheses])
            found += [pearson(human, scores), pearson(human[inside], scores[inside])]
        assert found == pytest.approx(expected, abs=0.0006), judged.name
