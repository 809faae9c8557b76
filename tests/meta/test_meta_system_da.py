"""System-level DA of WMT18/19: the layout, what is left out, and the correlations that were published."""

import numpy as np
import pytest
from embedded_regressor import unpacked
from sacrebleu.metrics import BLEU, CHRF

from ctx_metrics import InputError
from ctx_metrics.meta.judgements.readers import read_judged
from ctx_metrics.meta.measures.correlation import mad_outliers, pearson


@pytest.fixture
def folder(tmp_path):
    files = {
        "DA-syslevel.csv": "LP HUMAN SYSTEM\nde-en 0.5 one.1\nde-en -0.25 two.2\nde-en 0.1 gone.3\nen-cs 1 x.1\n",
        "references/newstest2019-deen-ref.en": "It rains.\nWe left.\n",
        "source/newstest2019-deen-src.de": "Es regnet.\nWir gingen.\n",
        "system-outputs/de-en/newstest2019.one.1.de-en": "It pours.\nWe left.\n",
        "system-outputs/de-en/newstest2019.two.2.de-en": "Rain.\nLeft.\n",
        "system-outputs/de-en/newstest2019.unjudged.4.de-en": "A.\nB.\n",
        "system-outputs/en-cs/newstest2019.x.1.en-cs": "A.\nB.\n",
    }
    for name, text in files.items():
        path = tmp_path / "WMT19" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "WMT19"


def test_layout(folder, caplog):
    [judged] = read_judged(str(folder))
    assert judged.name == "newstest2019.de-en" and (judged.source_lang, judged.target_lang) == ("de", "en")
    assert judged.systems == ["one.1", "two.2", "unjudged.4"] and judged.hypotheses[1] == ["Rain.", "Left."]
    assert judged.references == [["It rains.", "We left."]] and judged.sources[0] == "Es regnet."
    assert judged.system_scores[:2].tolist() == [0.5, -0.25] and np.isnan(judged.system_scores[2])
    assert "left out en-cs, which has no reference file" in caplog.text
    assert "newstest2019.de-en: left out systems with scores but no output (gone.3)" in caplog.text


def test_the_second_reference_of_a_pair_is_not_left_out_unsaid(folder, caplog):
    (folder / "references" / "newstest2018-deen-ref.en.gz").write_bytes(b"not read\n")
    (folder / "references" / "newstest2019-deen-ref.en").rename(folder / "references" / "newstest2017-deen-ref.en")
    for path in (folder / "system-outputs" / "de-en").iterdir():
        path.rename(path.with_name(path.name.replace("2019", "2017")))
    [judged] = read_judged(str(folder), pairs=["de-en"])
    assert judged.references == [["It rains.", "We left."]]
    assert "newstest2017-deen-ref.en is read, of newstest2017-deen-ref.en, newstest2018-deen-ref.en" in caplog.text
    with pytest.raises(
        InputError, match="none of the pairs fr-en is there with a reference file; it scores de-en, en-cs"
    ):
        read_judged(str(folder), pairs=["fr-en"])


@pytest.mark.parametrize(
    "name, text, message",
    [
        (
            "DA-syslevel.csv",
            "LP SYSTEM HUMAN\n",
            r"DA-syslevel.csv, line 1: the columns are LP SYSTEM HUMAN, not LP HUMAN",
        ),
        ("DA-syslevel.csv", "LP HUMAN SYSTEM\nde-en 0.5\n", "DA-syslevel.csv, line 2: 2 fields, not 3"),
        ("DA-syslevel.csv", "LP HUMAN SYSTEM\nde-en good one.1\n", "DA-syslevel.csv, line 2: 'good'"),
        (
            "DA-syslevel.csv",
            "LP HUMAN SYSTEM\nen-cs 1 x.1\n",
            "DA-syslevel.csv: none of its pairs is there with a reference file; it scores en-cs$",
        ),
        ("DA-syslevel.csv", "", "DA-syslevel.csv, line 1: the columns are missing, not LP HUMAN SYSTEM"),
        ("system-outputs/de-en/newstest2019.one.1.de-en", "A.\n", "1 line for the 2 of"),
    ],
)
def test_faults(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_judged(str(folder))


@pytest.mark.slow
def test_published_correlations(shared_data):
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
