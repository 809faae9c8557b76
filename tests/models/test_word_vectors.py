"""Word vectors from text files."""

import gzip
import lzma
import math
import pickle
from hashlib import sha256

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.models.word_vectors import VectorFile, read_vectors

GLOVE = "the 3 4 0\ncat 0 0 2\n. . . 1 1 1\nat name@domain.com 1 2 3\nThe 0 -5 0\nnothing 0 0 0\n1 1 0 0\n"
WORD2VEC = "3 2 \nthe 3 4 \ncat 0 2 \ndog 1 1 \n"


def written(tmp_path, text, name="vectors.txt"):
    content = text if isinstance(text, bytes) else text.encode()
    pack = {"gz": gzip.compress, "xz": lzma.compress}.get(name.rsplit(".", 1)[-1], bytes)
    (tmp_path / name).write_bytes(pack(content))
    return str(tmp_path / name)


def as_lists(vectors):
    return {word: [round(float(value), 4) for value in vector] for word, vector in vectors.items()}


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz", "vectors.txt.xz"])
def test_only_what_is_wanted_at_length_1_or_as_it_stands(tmp_path, name):
    path, wanted = written(tmp_path, GLOVE, name), {"the", "The", "1", "absent", "nothing", ".", "at"}
    found, plain = read_vectors(path, wanted), read_vectors(path, wanted, unit=False)
    # (3, 4, 0) / 5; zeros have no direction; a line of a word with blanks is not of its first or last part
    assert as_lists(found) == {"the": [0.6, 0.8, 0], "The": [0, -1, 0], "1": [1, 0, 0]}
    assert as_lists(plain) == {"the": [3, 4, 0], "The": [0, -5, 0], "1": [1, 0, 0], "nothing": [0, 0, 0]}
    assert all(vector.dtype == np.float32 for vector in [*found.values(), *plain.values()])


@pytest.mark.parametrize(
    "text, found",
    [
        (WORD2VEC, {"the": [0.6, 0.8], "cat": [0, 1]}),  # a header, and blanks at line ends
        (". . . 1 0\nthe 0 1\n", {"the": [0, 1]}),  # the first word has blanks
        ("the 1 0\nthe 0 1\n", {"the": [1, 0]}),  # the first of two lines counts
        ("the 1 0\ncat 0 1", {"the": [1, 0], "cat": [0, 1]}),  # the last line has no end
        (
            b"\xef\xbb\xbf" + "猫 1 0\r\na\u00a0b 0 1\r\n\u2028 0 1\r\n".encode() + b"\xff\xfe 1 1\r\n",
            {"猫": [1, 0], "a\u00a0b": [0, 1], "\u2028": [0, 1]},  # of Windows, in any script
        ),
    ],
)
def test_files_of_many_kinds(tmp_path, text, found):
    assert (
        as_lists(read_vectors(written(tmp_path, text), {"the", "cat", "3", "猫", "a\u00a0b", "\u2028", "ÿ"})) == found
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the 1 0\ncat 1\n", "line 2: it is not a word and 2 numbers"),
        ("the 1 0\ncat 1 0 5\n", "line 2: it is not a word and 2 numbers"),  # not the word "cat 1"
        ("the 1 0\n\ncat 1 0\n", "line 2: it is not a word and 2 numbers"),
        ("2 3\nthe 1 0\n", "line 2: it is not a word and 3 numbers"),
        ("the 1 0\ncat 1  0\n", "line 2: "),
        *((f"the 1 0\ncat {held}\n", "line 2: the vector of 'cat' ") for held in ("1 x", "nan 0", "1 inf")),
        ("the cat sat\n", "line 1: it is not a word and its vector"),
        ("", "is empty"),
        (f"1 {'9' * 5000}\ncat 1 0\n", "line 2: it is not a word and 1 numbers, as in the first line"),
        ("3 2\nthe 1 0\ncat 0 1\n", "announces 3 words, but 2 follow"),
        ("cat 1e200 0\n", "line 1: the vector of 'cat' holds a number that is not finite"),  # its length is infinite
    ],
)
def test_bad_files_are_one_line(tmp_path, text, words):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_vectors(path, {"cat"})
    assert path in str(error.value) and words in str(error.value) and "\n" not in str(error.value)
    if "line 1: it" in words or words == "is empty":  # which is seen when the file is opened
        with pytest.raises(InputError, match=words):
            VectorFile(path)


def test_files_that_cannot_be_read(tmp_path):
    for name in ("cut.gz", "cut.xz"):
        path = written(tmp_path, "".join(f"word{k} {math.sin(k)} {math.cos(k)}\n" for k in range(5000)), name)
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=f"cannot read .*{name}.*fetch it again"):
            read_vectors(path, {"word4999"})
    (tmp_path / "not.gz").write_text("the 1 0\n")
    (tmp_path / "not.xz").write_text("the 1 0\n")
    (tmp_path / "folder").mkdir()
    for name in ("absent.txt", "not.gz", "not.xz", "folder.*plain file"):
        with pytest.raises(InputError, match=f"cannot read .*{name}"):
            VectorFile(str(tmp_path / name.split(".*")[0]))


def test_numbers_that_fp32_does_not_hold(tmp_path):
    path = written(tmp_path, "the 1 0\ncat 1e39 0\n")
    assert as_lists(read_vectors(path, {"cat"})) == {"cat": [1, 0]}
    with pytest.raises(InputError, match="line 2: the vector of 'cat' holds a number that is not finite"):
        read_vectors(path, {"cat"}, unit=False)


# a file that is asked for the words of texts


def test_words_of_texts(tmp_path):
    file = VectorFile(written(tmp_path, GLOVE), quiet=True, unit=False)
    # 13a parts "cat." in two; THE is looked up in lower case, The as it stands; "dog" and "." are not there
    found = [
        [None if v is None else v.tolist() for v in of_text] for of_text in file(["THE cat.", "The dog", "", "the"])
    ]
    assert found == [[[3, 4, 0], [0, 0, 2], None], [[0, -5, 0], None], [], [[3, 4, 0]]]
    assert as_lists({0: next(iter(VectorFile(file.path)(["the"])))[0]}) == {0: [0.6, 0.8, 0]}


@pytest.mark.parametrize(("text", "dimensions"), [(GLOVE, 3), (WORD2VEC, 2), (b"\xef\xbb\xbf2 3\nthe 1 0 0\n", 3)])
def test_dimensions_are_known_before_any_word(tmp_path, text, dimensions):
    assert VectorFile(written(tmp_path, text)).dimensions == dimensions


def test_the_file_is_read_again_for_new_words_only(tmp_path):
    file = VectorFile(written(tmp_path, GLOVE), quiet=True)
    [[kept, _]] = file(["the cat"])
    (tmp_path / "vectors.txt").unlink()
    [found] = file(["cat the the"])
    assert len(found) == 3 and found[1] is kept and found[2] is kept
    with pytest.raises(InputError, match="cannot read"):
        file(["other"])


def test_a_pickled_file_is_read_again(tmp_path):
    file = VectorFile(written(tmp_path, GLOVE), quiet=True)
    [[before]] = file(["the"])
    with_vectors, fresh = len(pickle.dumps(file)), len(pickle.dumps(VectorFile(file.path, quiet=True)))
    assert with_vectors == fresh
    [[after]] = pickle.loads(pickle.dumps(file))(["the"])
    assert np.array_equal(before, after)


def test_signature(tmp_path):
    path = written(tmp_path, GLOVE)
    assert VectorFile(path).signature() == {"vectors": "vectors.txt", "fckpt": sha256(GLOVE.encode()).hexdigest()[:12]}
