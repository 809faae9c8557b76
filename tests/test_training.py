import io
import lzma
import tarfile

import pytest
import torch
from scipy.stats import pearsonr

from ctx_metrics import BERTR, COMET, InputError
from ctx_metrics.models.regressor import predict
from ctx_metrics.training.data import is_human, read_da, read_mqm_tree, read_mqm_tsv
from ctx_metrics.training.embedded import DA15_PAIRS, document_windows
from ctx_metrics.training.fit import Recipe, fit


def archive(path, files: dict[str, str]):
    with tarfile.open(path, "w:xz") as tar:
        for name, text in files.items():
            data = text.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_read_da(tmp_path):
    base = "x/DAseg-wmt-newstest2016/DAseg.newstest2016."
    tar = archive(
        tmp_path / "da.tar.xz",
        {
            base + "mt-system.cs-en": "One.\nTwo\u2028 too.\n",
            base + "reference.cs-en": "Eins.\nZwei.\n",
            base + "human.cs-en": "0.5\n-1.25\n",
        },
    )
    first, second = read_da(tar, "2016", ["cs-en"])
    assert (
        first[:4] == ("One.", "Eins.", 0.5, "wmt16.cs-en")
        and second.hypothesis == "Two\u2028 too."
        and second.score == -1.25
    )
    with pytest.raises(InputError, match="does not hold DAseg.newstest2016.mt-system.de-en"):
        read_da(tar, "2016", ["de-en"])


def test_read_mqm_tsv(tmp_path):
    path = tmp_path / "wmt20.news.zh-en.tsv.xz"
    with lzma.open(path, "wt", encoding="utf-8", newline="\n") as file:
        file.write(
            "system\tdoc\tseg_in_doc\tsrc\tmt\tref\tmqm\tn_raters\n"
            'A\td1\t1\ts\t"Quoted\tr\t-5.0\t3\nHuman-B.0\td1\t1\ts\th\tr\t0.0\t3\nB\td1\t1\ts\th2\tr\t-1\t3\n'
        )
    a, b = read_mqm_tsv(path)
    assert (
        a[:6] == ('"Quoted', "r", -5.0, "wmt20.news.zh-en", "A", "d1")
        and b.system == "B"
        and a.segment == b.segment == 0
    )
    assert is_human("refA") and is_human("Human-A.0") and not is_human("Online-W")


def test_read_mqm_tree_and_windows(tmp_path):
    base = "wmt22/zh-en/"
    tar = archive(
        tmp_path / "mqm.tar.xz",
        {
            base + "references/zh-en.refA.txt": "r1\nr2\nr3\n",
            base + "documents/zh-en.docs": "news\td1\nnews\td1\nnews\td2\n",
            base + "human-scores/zh-en.mqm.sys.score": "A\t-2.5\nrefA\t-1\nB\tNone\n",
            base + "system-outputs/A.txt": "a1\na2\na3\n",
            base + "human-scores/zh-en.mqm.seg.score": "A\t-1\nA\tNone\nA\t-3\nrefA\t0\nrefA\t0\nrefA\t0\n",
        },
    )
    judgements, official = read_mqm_tree(tar, "zh-en")
    assert official == {"A": -2.5}
    assert [j.hypothesis for j in judgements] == ["a1", "a2", "a3"] and judgements[1].score != judgements[1].score
    assert list(document_windows(judgements)) == [("A", 2, "a1 a2", "r1 r2"), ("A", 1, "a3", "r3")]


def test_fit_learns_both_branches_and_repeats():
    generator = torch.Generator().manual_seed(4)
    recipe = Recipe(
        layers=(1, 2), pooled_hidden=8, alignment_hidden=8, alignment_epochs=20, pooled_epochs=20, learning_rate=1e-2
    )
    rows, targets = [], []
    for _ in range(600):
        features = torch.rand(11, generator=generator)
        u, v = torch.randn(2, 2, 3, generator=generator)
        rows.append((features.tolist(), u, v))
        targets.append((3 * (features[0] - 0.5) - (u - v).abs().mean() + 1).item())
    network = fit(rows[:500], targets[:500], [False] * 500, width=3, recipe=recipe)
    values = predict(network, rows[500:])
    assert pearsonr(values, targets[500:])[0] > 0.8
    again = fit(rows[:500], targets[:500], [False] * 500, width=3, recipe=recipe)
    assert predict(again, rows[500:]) == values


@pytest.mark.slow
def test_quality_on_wmt15(shared_data):
    """The embedded comet agrees with people at least .02 better than bertr, on data that it was not trained on."""
    judgements = read_da(shared_data / "wmt15_16_da/wmt15_16_da.tar.xz", "2015", DA15_PAIRS)
    averages = []
    for metric in (BERTR(target_lang="en"), COMET(target_lang="en")):
        rows = metric._extract_corpus_statistics(
            [j.hypothesis for j in judgements], [[j.reference for j in judgements]]
        )
        averages.append(
            sum(
                pearsonr(
                    *zip(*[(row[0], j.score) for row, j in zip(rows, judgements) if j.dataset == f"wmt15.{pair}"])
                )[0]
                for pair in DA15_PAIRS
            )
            / len(DA15_PAIRS)
        )
    bertr, comet = averages
    assert bertr == pytest.approx(0.662, abs=0.002)
    assert comet == pytest.approx(0.745, abs=0.002)
