"""Tiny translation models, made offline: a MarianMT model trained to replace each word by another, and random ones with the
language codes of M2M-100, NLLB and mBART."""

import io
import json
import os
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

WORDS = "the cat dog sat ran on under mat tree and old red".split()
LONGEST = 6  # words of a line that the trained model has seen
_folders = []  # which go with the process
_shared = []  # the file of the trained model that another worker may have made


def shared_trainings(folder: Path) -> None:
    """Keep what is trained in a folder that all workers of a run have."""
    _shared[:] = [folder / "trained-marian.pt"]


class Toy(NamedTuple):
    """A model's folder, and the word that it puts for each word."""

    folder: Path
    meaning: dict[str, str]

    def expected(self, line: str) -> str:
        return " ".join(self.meaning[word] for word in line.split())


def lines(number: int, seed: int = 0) -> list[str]:
    """Random lines of 1 to LONGEST words, no two alike."""
    drawn, found = random.Random(seed), {}
    while len(found) < number:
        found[" ".join(drawn.choices(WORDS, k=drawn.randint(1, LONGEST)))] = None
    return list(found)


@cache
def trained_marian() -> Toy:
    """A MarianMT model from "de" into "en" that replaces each word of WORDS by another, in place.

    Made once a process, and by the workers of a run that comes through shared_trainings() once in all.
    """
    import torch

    folder = _new_folder()
    vocabulary = _write_marian_tokenizer(folder)
    if _shared and _shared[0].exists():
        kept = torch.load(_shared[0])
        model = _marian(vocabulary)
        model.load_state_dict(kept["weights"])
        model.save_pretrained(folder)
        return Toy(folder, {word: WORDS[k] for word, k in zip(WORDS, kept["order"])})
    for seed in range(5):
        model, order, right = _trained(vocabulary, seed)
        if right:
            model.save_pretrained(folder)
            if _shared:
                part = _shared[0].with_suffix(f".{os.getpid()}")
                torch.save({"weights": model.state_dict(), "order": order}, part)
                part.replace(_shared[0])
            return Toy(folder, {word: WORDS[k] for word, k in zip(WORDS, order)})
    raise AssertionError("no seed gave a model that has learned its task")


def _trained(vocabulary: dict[str, int], seed: int):
    """A model after some seconds of training, the order that it learned, and whether it makes no mistake."""
    import torch

    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(WORDS), generator=generator)
    model = _marian(vocabulary).train()
    optimizer = torch.optim.Adam(model.parameters())
    steps, right = 400, []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 1e-2 * min(1, (step + 1) / 20) * (1 - step / steps)
        length = 1 + int(torch.randint(0, LONGEST, (1,), generator=generator))
        words = torch.randint(0, len(WORDS), (64, length), generator=generator)
        end = torch.zeros(64, 1, dtype=torch.long)
        target = torch.cat([order[words] + 2, end], 1)
        out = model(input_ids=torch.cat([words + 2, end], 1), labels=target)
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
        right.append(bool((out.logits.argmax(-1) == target).all()))
    return model.eval(), order.tolist(), all(right[-20:])


def _marian(vocabulary: dict[str, int]):
    from transformers import MarianConfig, MarianMTModel

    pad = vocabulary["<pad>"]
    tokens = {"pad_token_id": pad, "eos_token_id": 0, "bos_token_id": None, "decoder_start_token_id": pad}
    sizes = {**_sizes(64), "max_position_embeddings": 24, "vocab_size": len(vocabulary)}
    config = MarianConfig(**sizes, **tokens, forced_eos_token_id=0, init_std=0.1, scale_embedding=True)
    return MarianMTModel(config)


def _write_marian_tokenizer(folder: Path, codes: tuple = ()) -> dict[str, int]:
    """Its files; a piece is a word. Returns the vocabulary."""
    pieces = _sentencepiece()
    (folder / "source.spm").write_bytes(pieces)
    (folder / "target.spm").write_bytes(pieces)
    names = ["</s>", "<unk>", *(f"▁{word}" for word in WORDS), *(f">>{code}<<" for code in codes), "<pad>"]
    vocabulary = {name: k for k, name in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    languages = {} if codes else {"source_lang": "de", "target_lang": "en"}
    settings = {"tokenizer_class": "MarianTokenizer", "model_max_length": 512, **languages}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return vocabulary


@cache
def random_marian(codes: tuple = ("deu", "eng", "fra")) -> Path:
    """A random MarianMT model into several languages."""
    folder = _new_folder()
    vocabulary = _write_marian_tokenizer(folder, codes)
    _save_random(_marian(vocabulary), folder, 2 + len(WORDS))
    return folder


@cache
def random_m2m() -> Path:
    """A random M2M-100 model."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    folder = _new_folder()
    (folder / "sentencepiece.bpe.model").write_bytes(_sentencepiece())
    names = ["<s>", "<pad>", "</s>", "<unk>", *(f"▁{word}" for word in WORDS)]
    (folder / "vocab.json").write_text(json.dumps({name: k for k, name in enumerate(names)}))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "M2M100Tokenizer", "model_max_length": 1024})
    )
    config = M2M100Config(vocab_size=len(names) + 108, decoder_start_token_id=2, **_sizes())
    _save_random(M2M100ForConditionalGeneration(config), folder, len(names))
    return folder


@cache
def random_nllb() -> Path:
    """A random model of M2M-100's kind with NLLB's tokenizer and codes such as deu_Latn."""
    codes = ["deu_Latn", "eng_Latn", "est_Latn", "zho_Hans", "zho_Hant"]
    return _of_codes("NllbTokenizer", codes)


@cache
def random_mbart(first: bool = False) -> Path:
    """A random mBART model: of 50 languages, or of the first kind, whose decoder starts with the language."""
    return _of_codes("MBartTokenizer" if first else "MBart50Tokenizer", [])


def _of_codes(tokenizer_class: str, codes: list[str]) -> Path:
    """A random model with a tokenizer.json of pieces that are words: byte pairs as NLLB has them, else a unigram model."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoTokenizer, M2M100Config, M2M100ForConditionalGeneration

    folder = _new_folder()
    letters = sorted({letter for word in WORDS for letter in word})
    names, merges = ["<s>", "<pad>", "</s>", "<unk>", "▁", *letters], []
    for word in WORDS:
        made = "▁"
        for letter in word:
            if made + letter not in names:
                names.append(made + letter)
                merges.append((made, letter))
            made += letter
    if tokenizer_class == "NllbTokenizer":
        model = models.BPE({name: k for k, name in enumerate(names)}, merges, unk_token="<unk>")
    else:
        model = models.Unigram([(name, 0.0 if name[:1] == "<" else len(name) - 20.0) for name in names], unk_id=3)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", *codes, "<mask>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": tokenizer_class, "model_max_length": 1024}
    (folder / "tokenizer_config.json").write_text(
        json.dumps({**settings, "additional_special_tokens": codes} if codes else settings)
    )
    (folder / "config.json").write_text(json.dumps({"model_type": "m2m_100"}))
    size = len(AutoTokenizer.from_pretrained(str(folder), local_files_only=True)) + 8
    config = M2M100Config(vocab_size=size, decoder_start_token_id=2, **_sizes())
    _save_random(M2M100ForConditionalGeneration(config), folder, len(names))
    return folder


def _sizes(inner: int = 48) -> dict:
    of_half = {"layers": 1, "attention_heads": 2, "ffn_dim": inner}
    halves = {f"{half}_{name}": size for half in ("encoder", "decoder") for name, size in of_half.items()}
    return {"d_model": 32, **halves, "max_position_embeddings": 64, "dropout": 0.0, "attention_dropout": 0.0}


def _sentencepiece() -> bytes:
    """A sentencepiece model whose pieces are WORDS."""
    import sentencepiece

    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(WORDS)] * 3),
        model_writer=written,
        model_type="word",
        vocab_size=len(WORDS) + 1,
        unk_id=0,
        bos_id=-1,
        eos_id=-1,
        pad_id=-1,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    return written.getvalue()


def _save_random(model, folder: Path, words: int) -> None:
    """Save with weights from normal(0, .3), so that every token of the source matters, but those of tokens beyond the words,
    languages and the like, small: else they are all that is written."""
    import torch

    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
        model.get_input_embeddings().weight[words:] *= 0.1
    model.save_pretrained(folder)


def _new_folder() -> Path:
    _folders.append(tempfile.TemporaryDirectory(prefix="toy-translation-"))
    return Path(_folders[-1].name)
