"""Texts as the vectors of their words, as the alignment reads them."""

from hashlib import sha256

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.pseudo_references.alignment import WordVectors

GLOVE = "the 3 4 0\ncat 0 0 2\nThe 0 -5 0\nnothing 0 0 0\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "vectors.txt").write_text(GLOVE)
    return str(tmp_path / "vectors.txt")


def test_texts_as_vectors(path, caplog):
    # 13a parts "cat." in two; THE is looked up in lower case, The as it stands; "dog" and "." are not there, and what
    # has no direction is taken as absent
    found = WordVectors(path, quiet=True)(["THE cat.", "The dog", "dog", "", "nothing"])
    assert np.allclose(found[0], [[0.6, 0.8, 0], [0, 0, 1]]) and np.allclose(found[1], [[0, -1, 0]])
    assert [text.shape for text in found[2:]] == [(0, 0)] * 3
    assert [record.message for record in caplog.records] == [
        f"pseudo-references: 4 of 7 words have no vector in {path}; the alignment skips them"
    ]


def test_the_option_is_named(path):
    with open(path, "w") as file:
        file.write("no vectors here\n")
    with pytest.raises(InputError, match="--pseudo-vectors takes GloVe or word2vec text"):
        WordVectors(path)


def test_signature(path):
    assert WordVectors(path).signature() == {"vectors": "vectors.txt", "fckpt": sha256(GLOVE.encode()).hexdigest()[:12]}
