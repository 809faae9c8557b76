"""Columns of scores that are there already."""

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  fixture
from plugin_conftest import NAME_A, NAME_B, REF, A, B, lines_of
from sacrebleu.metrics import BLEU, CHRF, TER

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.judged import JudgedSet, MetricScores
from ctx_metrics.report.columns import judged_content, read_columns
from ctx_metrics.scoring.comparison import Column
from ctx_metrics.scoring.context import Context, build
from ctx_metrics.scoring.scores import all_scores
from ctx_metrics.scoring.testing import USUAL, SystemTests

NAN = float("nan")
TEXTS = [["It rains.", "We left.", "Stop."], ["It pours.", "We went.", "Halt."]]


@pytest.fixture
def context():
    return Context(systems=TEXTS, doc_ids=["a", "a", "b"], names=["A", "B"])


def scores(*of_systems: str) -> str:
    return "".join(f"{name}\t{score}\n" for name, own in zip("AB", of_systems) for score in own.split())


def test_segments_documents_and_systems(tmp_path, context):
    (tmp_path / "human.seg.score").write_text(scores("1 2 None", "3 3 6"))
    [column] = read_columns([str(tmp_path)], context, SystemTests(resample="segment").design(TEXTS, context.doc_ids))
    assert (column.title, column.sign, column.best) == ("human", 1, 1)
    assert [each.system for each in column.scores] == [1.5, 4]
    np.testing.assert_array_equal([each.documents for each in column.scores], [[1.5, NAN], [3, 6]])
    assert column.comparison.ranks == [1, 1], "3 segments cannot differ significantly"
    assert column.comparison.margins[0] > 0


def test_no_interval_where_a_systems_score_is_no_mean(tmp_path, context, caplog):
    (tmp_path / "bleu-ref.seg.score").write_text(scores("1 2 3", "3 3 6"))
    (tmp_path / "bleu-ref.sys.score").write_text(scores("2.5", "3"))
    [column] = read_columns([str(tmp_path)], context, USUAL.design(TEXTS, context.doc_ids))
    assert column.comparison is None and [each.system for each in column.scores] == [2.5, 3]
    assert [message.partition(":")[0] for message in caplog.messages] == ["bleu"]


@pytest.mark.full
@pytest.mark.parametrize("form", ["jsonl", "tsv"])
@pytest.mark.parametrize("scale", ["100", "1"])
def test_bleu_chrf_and_ter_have_the_intervals_of_their_texts(ctx, tmp_path, form, scale):
    """As if they were scored by report, whichever settings the signature shows."""
    lines = {name: lines_of(name) for name in (A, B, REF)}
    files = ["-t", A, B, "-r", REF, "-m", "bleu", "chrf", "ter", "-q", "--scale", scale]
    more = ["--tokenize", "char", "--chrf-word-order", "2"] if form == "jsonl" else []
    path = tmp_path / f"scores.{form}"
    assert ctx("score", *files, *more, "--level", "segment", "system", "-o", path).code == 0
    context = Context(systems=[lines[A], lines[B]], references=[lines[REF]], names=[NAME_A, NAME_B])
    design = SystemTests(samples=200).design(context.systems, None)
    columns = read_columns([str(path)], context, design)
    own = {"bleu": {"tokenize": "char"}, "chrf": {"word_order": 2}} if more else {}
    for cls, column in zip((BLEU, CHRF, TER), columns, strict=True):
        metric = build(cls, context, own.get(column.name, {}))
        expected = Column.of(column.name, metric, all_scores([metric], context.systems)[0], design)
        np.testing.assert_allclose(
            column.comparison.margins, int(scale) / 100 * expected.comparison.margins, rtol=1e-9, err_msg=column.name
        )
        assert column.comparison.ranks == expected.comparison.ranks


@pytest.mark.parametrize(("negated", "scale"), [(False, 100), (False, 1), (True, 100)])
def test_ter_is_known_by_its_name(tmp_path, context, negated, scale):
    sign = -1 if negated else 1
    one, other = (" ".join(str(sign * scale * each) for each in own) for own in ([0.8, 0.8, 0.8], [0.2, 0.1, 0.3]))
    (tmp_path / "ter-ref.seg.score").write_text(scores(one, other))
    [column] = read_columns([str(tmp_path)], context, USUAL.design(TEXTS, context.doc_ids))
    assert (column.sign, column.best) == (1 if negated else -1, 1)


def test_scores_of_systems_alone_are_not_enough(tmp_path, context):
    (tmp_path / "m-ref.sys.score").write_text(scores("2.5", "3"))
    with pytest.raises(InputError, match="m: its files have no scores of segments"):
        read_columns([str(tmp_path)], context, USUAL.design(TEXTS, context.doc_ids))


def test_a_judged_set_has_people_first(caplog):
    human = np.array([[1.0, NAN, 3], [NAN, NAN, NAN]])
    judged = JudgedSet("toy", ["A", "B"], 3, TEXTS, [["It rains.", "We left.", "Stop!"]], segment_scores=human)
    metric, grid = MetricScores("m", np.ones((2, 3)), np.ones(2)), MetricScores("slide(1,1)", None, np.ones(2))
    content = judged_content(judged, [metric, grid])
    assert [each.title for each in content.columns] == ["human", "m"]
    people = content.columns[0]
    assert people.scores[0].system == 2 and np.isnan(people.scores[1].system) and people.comparison.ranks == [1, 0]
    assert not caplog.messages


def test_no_page_of_a_set_that_lacks_outputs(caplog):
    texts = [[*TEXTS[0][:2], None], TEXTS[1]]
    judged = JudgedSet("toy", ["A", "B"], 3, texts, segment_scores=np.ones((2, 3)))
    assert judged_content(judged, []) is None
    assert caplog.messages == ["toy: no report: the outputs of some systems are missing for some segments"]
