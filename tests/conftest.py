"""Tiny random checkpoints, made offline, and the place of the real data."""

import gc
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest
import toy_translation
from _pytest.doctest import DoctestModule
from plugin_conftest import forked, forked_sacrebleu  # noqa: F401  fixtures
from toy_judgements import WORDS

# where bytecode is not kept, each of many processes compiles the package, and pytest rewrites all tests' assertions, anew
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["OMP_NUM_THREADS"] = "1"  # torch reads it when imported; with more threads, tiny models are slower
for profile, examples in (("ctx", 30), ("ctx-full", 100)):
    hypothesis.settings.register_profile(profile, deadline=None, derandomize=True, database=None, max_examples=examples)
hypothesis.settings.load_profile("ctx")

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'-[]<>/"


def _save(folder: Path, model_class, config, tokenizer, tokenizer_config: dict) -> Path:
    """A checkpoint with weights from normal(0, .2), layer norms around 1, so that a token's context matters."""
    import torch

    model = model_class(config).eval()
    generator = torch.Generator().manual_seed(20)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator) * 0.2
            parameter.copy_(drawn + 1 if name.lower().endswith(("layernorm.weight", "layer_norm.weight")) else drawn)
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    return folder


SIZES = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96}
ROBERTA = {**SIZES, "max_position_embeddings": 74, "type_vocab_size": 1, "pad_token_id": 1}


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory) -> Path:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = dict.fromkeys([*specials, *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS, "##s", "##ing"])
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(specials)
    config = BertConfig(vocab_size=len(pieces), max_position_embeddings=70, **SIZES)
    folder = tmp_path_factory.mktemp("tiny") / "bert"
    settings = {"tokenizer_class": "BertTokenizerFast", "do_lower_case": True, "model_max_length": 70}
    return _save(folder, BertModel, config, tokenizer, settings)


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory) -> Path:
    """Byte-level BPE; saved from a masked language model, so its tensors bear the prefix "roberta."."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import RobertaConfig, RobertaForMaskedLM

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    settings = {"vocab_size": 320, "special_tokens": specials, "show_progress": False, "initial_alphabet": alphabet}
    tokenizer.train_from_iterator([" ".join(WORDS)] * 3, trainers.BpeTrainer(**settings))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    size = tokenizer.get_vocab_size()
    config = RobertaConfig(vocab_size=size, bos_token_id=0, eos_token_id=2, layer_norm_eps=1e-5, **ROBERTA)
    folder = tmp_path_factory.mktemp("tiny") / "roberta"
    settings = {"tokenizer_class": "RobertaTokenizerFast", "model_max_length": 72}
    return _save(folder, RobertaForMaskedLM, config, tokenizer, settings)


@pytest.fixture(scope="session")
def tiny_xlmr(tmp_path_factory) -> Path:
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel

    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0)]
    pieces += [(letter, -6.0) for letter in LETTERS + "äöüß猫犬"] + [(f"▁{word}", -5.0) for word in WORDS]
    pieces += [("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)])
    config = XLMRobertaConfig(vocab_size=len(pieces), bos_token_id=0, eos_token_id=2, layer_norm_eps=1e-5, **ROBERTA)
    folder = tmp_path_factory.mktemp("tiny") / "xlmr"
    settings = {"tokenizer_class": "XLMRobertaTokenizerFast", "model_max_length": 72}
    return _save(folder, XLMRobertaModel, config, tokenizer, settings)


@pytest.fixture(scope="session")
def tiny_xlmr_xl(tmp_path_factory, tiny_xlmr) -> Path:
    """Layer norms before each half of a layer, and one after the last layer."""
    from tokenizers import Tokenizer
    from transformers import XLMRobertaXLConfig, XLMRobertaXLModel

    tokenizer = Tokenizer.from_file(str(tiny_xlmr / "tokenizer.json"))
    config = XLMRobertaXLConfig(vocab_size=tokenizer.get_vocab_size(), **ROBERTA)
    folder = tmp_path_factory.mktemp("tiny") / "xlmr-xl"
    return _save(folder, XLMRobertaXLModel, config, tokenizer, {"model_max_length": 72})


@pytest.fixture(scope="session")
def tiny_rembert(tmp_path_factory, tiny_bert) -> Path:
    """Embeddings narrower than the layers."""
    from tokenizers import Tokenizer
    from transformers import RemBertConfig, RemBertModel

    tokenizer = Tokenizer.from_file(str(tiny_bert / "tokenizer.json"))
    config = RemBertConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=70, input_embedding_size=20, **SIZES
    )
    return _save(tmp_path_factory.mktemp("tiny") / "rembert", RemBertModel, config, tokenizer, {"model_max_length": 70})


@pytest.fixture(scope="session")
def tiny_deberta(tmp_path_factory, tiny_bert) -> Path:
    """Few buckets, so that most distances share one."""
    from tokenizers import Tokenizer
    from transformers import DebertaV2Config, DebertaV2Model

    tokenizer = Tokenizer.from_file(str(tiny_bert / "tokenizer.json"))
    config = DebertaV2Config(
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=70,
        relative_attention=True,
        position_buckets=16,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        **SIZES,
    )
    return _save(
        tmp_path_factory.mktemp("tiny") / "deberta", DebertaV2Model, config, tokenizer, {"model_max_length": 70}
    )


@pytest.fixture(scope="session")
def comet_checkpoint(tmp_path_factory) -> Callable[[str], Path]:
    """A function that gives the folder of a recipe's checkpoint, which no test may change."""
    from comet_checkpoints import RECIPES, build

    return cache(lambda name: build(RECIPES[name], tmp_path_factory.mktemp("comet") / name))


@pytest.fixture(scope="session", autouse=True)
def trained_once_by_all_workers(tmp_path_factory):
    if "PYTEST_XDIST_WORKER" in os.environ:
        toy_translation.shared_trainings(tmp_path_factory.getbasetemp().parent)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    folder = Path(os.environ.get("CTX_METRICS_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("needs the real data: set CTX_METRICS_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def zh_en(shared_data) -> Iterator[Callable[[str], list[str]]]:
    """A function that gives the lines of a file of WMT22, Chinese to English."""
    with tarfile.open(shared_data / "wmt22_mqm" / "wmt22_mqm.tar.xz") as tar:
        yield lambda path: tar.extractfile(f"wmt22_mqm/zh-en/{path}.txt").read().decode().split("\n")[:-1]


@pytest.fixture(scope="session")
def multilingual() -> Path:
    """The folder of the multilingual encoder, which an extra brings."""
    from importlib.metadata import PackageNotFoundError, version

    from ctx_metrics.models import hub

    try:
        version(hub.MULTILINGUAL_PACKAGE)
    except PackageNotFoundError:
        pytest.skip("needs the extra: pip install 'ctx-metrics[multilingual]'")
    return hub.resolve(hub.MULTILINGUAL).folder


def pytest_configure(config):
    if "not full" not in config.option.markexpr:
        hypothesis.settings.load_profile("ctx-full")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """The package has doctests, the tests have none."""
    return [collector for collector in (yield) if not isinstance(collector, DoctestModule)]


def pytest_collection_finish(session):
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def what_is_imported_lives_to_the_end():
    """release() and others collect garbage, and need not go through it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_run_of_another_test():
    """A run of the plugin, which shows each notice once, lasts as long as its process, here many tests."""
    from ctx_metrics.notices import end_run

    yield
    end_run()


@pytest.fixture
def put(tmp_path):
    """A function that writes a file and returns its path; cells are parted by |, lines are arguments."""

    def write(name, *lines):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line.replace("|", "\t") + "\n" for line in lines))
        return str(path)

    return write


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """A function that puts a copy of a folder into an empty cache of the hub and returns the snapshot's folder."""
    for place in ("huggingface_hub.constants", "huggingface_hub.utils._cache_manager"):
        monkeypatch.setattr(f"{place}.HF_HUB_CACHE", str(tmp_path / "hub"))

    def hold(repo: str, folder: Path) -> Path:
        snapshot = tmp_path / "hub" / f"models--{repo.replace('/', '--')}" / "snapshots" / ("a" * 40)
        shutil.copytree(folder, snapshot)
        (snapshot.parents[1] / "refs").mkdir()
        (snapshot.parents[1] / "refs" / "main").write_text("a" * 40)
        return snapshot

    return hold
