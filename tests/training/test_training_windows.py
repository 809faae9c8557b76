import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.training.quality.examples import Place, TrainingSet, read_training_set, with_windows


def rows(*documents, raters=1, systems=("A", "B")):
    """Systems' outputs of documents of so many sentences; the targets count up."""
    columns = [
        (f"{system}{segment}", f"r{segment}", f"s{segment}", f"toy:{segment}", Place("toy", system, document, segment))
        for segment, document in enumerate(d for number, n in enumerate(documents) for d in [f"d{number}"] * n)
        for system in systems
        for _ in range(raters)
    ]
    hypotheses, references, sources, groups, places = map(list, zip(*columns))
    n = len(columns)
    return TrainingSet(hypotheses, references, sources, np.arange(n, dtype=float), np.ones(n), groups, places, {}, [])


def test_windows_of_two_are_joined_and_averaged_within_documents():
    found = with_windows(rows(3, 2), 2, seed=1)
    assert found.hypotheses[10:] == ["A0 A1", "B0 B1", "A3 A4", "B3 B4"]
    assert found.references[10:] == ["r0 r1", "r0 r1", "r3 r4", "r3 r4"] and found.sources[10] == "s0 s1"
    assert found.targets[10:].tolist() == [1.0, 2.0, 7.0, 8.0]  # of rows 0 and 2, 1 and 3, 6 and 8, 7 and 9
    assert found.groups[10] == found.groups[11] != found.groups[12]
    assert found.hypotheses[:10] == rows(3, 2).hypotheses and found.places[12] == Place("toy", "A", "d1", 3)


def test_lengths_are_drawn_and_cover_the_document():
    found = with_windows(rows(40, systems=("A",)), 5, seed=3)
    lengths = [len(text.split()) for text in found.hypotheses[40:]]
    assert set(lengths) == {2, 3, 4, 5} and sum(lengths) in (39, 40)
    assert " ".join(found.hypotheses[40:]).split() == [f"A{k}" for k in range(sum(lengths))]
    again, other = (with_windows(rows(40, systems=("A",)), 5, seed=seed).hypotheses for seed in (3, 4))
    assert again == found.hypotheses != other


def test_all_judgements_of_an_output_count():
    found = with_windows(rows(2, raters=2, systems=("A",)), 2, seed=1)
    assert found.targets[4:].tolist() == [1.5] and len(found) == 5


def test_a_system_that_lacks_a_sentence_makes_no_window_of_it():
    whole = rows(2)
    part = TrainingSet(
        **{
            name: column[:3] if isinstance(column, (list, np.ndarray)) else column
            for name, column in vars(whole).items()
        }
    )
    assert with_windows(part, 2, seed=1).hypotheses[3:] == ["A0 A1"]


def test_nothing_to_join():
    with pytest.raises(InputError, match="--window: no document has two outputs of one system in a row"):
        with_windows(rows(1, 1), 3, seed=1)


def test_documents_of_a_table(tmp_path):
    path = tmp_path / "a.tsv"
    lines = ["doc\tseg\tsystem\tmt\tref\tscore"]
    lines += [f"{doc}\t{seg}\tA\tm{doc}{seg}\tr{doc}{seg}\t{seg}" for doc in "xy" for seg in (1, 2)]
    path.write_text("\n".join(lines) + "\n")
    found = with_windows(read_training_set([str(path)], normalise="none"), 2, seed=1)
    assert found.hypotheses[4:] == ["mx1 mx2", "my1 my2"] and found.targets[4:].tolist() == [1.5, 1.5]
    assert found.sources == [None] * 6
