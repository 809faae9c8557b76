"""Translation checkpoints: what they give, whatever the batch; languages, lengths, and folders that cannot be used."""

import json
import logging
import pickle
import shutil

import pytest
import torch
import toy_translation as toys
from selection import some, some_rows

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.roundtrip.back_translation import BackTranslation
from ctx_metrics.roundtrip.model_translator import TRANSLATION, ModelTranslator

CPU = EngineOptions(device="cpu")
MULTILINGUAL = {
    "m2m": (toys.random_m2m, "de", "en"),
    "nllb": (toys.random_nllb, "deu_Latn", "eng_Latn"),
    "mbart50": (toys.random_mbart, "de_DE", "en_XX"),
    "mbart": (lambda: toys.random_mbart(True), "de_DE", "en_XX"),
}


def load(folder, beams=None, max_length=None, source=None, target=None, engine=CPU) -> ModelTranslator:
    settings = {"beams": beams, "max_length": max_length, "source_code": source, "target_code": target}
    return ModelTranslator(BackTranslation(f"hf:{folder}", **settings), engine=engine)


def copy_of(folder, tmp_path, file="generation_config.json", **values):
    """A copy of a model's folder, with some values of a file changed."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    path = copy / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    return copy


def translated(model, lines) -> list[str]:
    return [made.text for made in model.translate(lines)]


@pytest.mark.parametrize("beams", some([1, 4], [4]))
def test_the_trained_model_replaces_each_word_in_any_batch(beams):
    toy, lines = toys.trained_marian(), toys.lines(60, seed=7)
    model = load(toy.folder, beams)
    expected = [toy.expected(line) for line in lines]
    assert translated(model, lines) == expected
    assert [translated(model, [line])[0] for line in lines[:15]] == expected[:15]
    assert not any(made.output_cut for made in model.translate(lines))


@pytest.mark.parametrize(
    "kind, beams",
    some_rows([(kind, n) for kind in MULTILINGUAL for n in (1, 3)], [("m2m", 1), ("nllb", 3), ("mbart", 3)]),
)
def test_a_batch_changes_nothing_and_all_is_as_transformers_has_it(kind, beams):
    """Random models, whose hypotheses are close to each other; the oracle is the library's own way, a line at a time."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    make, source, target = MULTILINGUAL[kind]
    folder, lines = make(), toys.lines(8, seed=2)
    model = load(folder, beams, 9, source, target)
    together = model.translate(lines)
    tokenizer = AutoTokenizer.from_pretrained(str(folder), src_lang=source, local_files_only=True)
    network = AutoModelForSeq2SeqLM.from_pretrained(str(folder), local_files_only=True).eval()
    code = tokenizer.get_lang_id(target) if kind == "m2m" else tokenizer.convert_tokens_to_ids(target)
    how = {"decoder_start_token_id": code} if kind == "mbart" else {"forced_bos_token_id": code}
    for line, made in zip(lines, together):
        tokens = tokenizer([line], return_tensors="pt")
        row = network.generate(**tokens, num_beams=beams, max_new_tokens=9, do_sample=False, **how)[0].tolist()
        codes = tokenizer.lang_code_to_id.values() if kind == "m2m" else None
        languages = set(codes or tokenizer.convert_tokens_to_ids(model.language_codes))
        assert code in row
        expected = tokenizer.decode([i for i in row if i not in languages], skip_special_tokens=True)
        assert made.text == expected.rstrip() and not any(name in made.text for name in (source, target))


def test_language_codes():
    own = load(toys.trained_marian().folder)
    assert (own.language_codes, own.own_direction) == ([], ("de", "en"))
    assert load(toys.random_marian(), target="fra").language_codes == ["deu", "eng", "fra"]
    for kind, codes in {
        "nllb": {"deu_Latn", "eng_Latn", "est_Latn", "zho_Hans", "zho_Hant"},
        "m2m": {"de", "en", "zh"},
        "mbart50": {"de_DE", "en_XX"},
    }.items():
        make, source, target = MULTILINGUAL[kind]
        model = load(make(), source=source, target=target)
        assert codes <= {*model.language_codes} and model.own_direction is None


def test_the_target_of_a_multilingual_marian_stands_before_the_text():
    model = load(toys.random_marian(), target="fra")
    [ids], _ = model.tokenize(["the cat"])
    assert model.tokenizer.convert_ids_to_tokens(ids) == [">>fra<<", "▁the", "▁cat", "</s>"]


def test_lines_that_are_too_long_are_cut_and_told(caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    toy = toys.trained_marian()
    model = load(toy.folder)
    assert model.max_input == 24  # positions; the tokenizer says 512
    tokens, cut = model.tokenize(["the " * 23, "the " * 600, "cat"])  # and </s>
    assert [len(ids) for ids in tokens] == [24, 24, 2] and cut == [False, True, False]
    assert tokens[0] == tokens[1]
    assert len(model.generate(tokens)) == 3
    assert caplog.records == []  # the tokenizer would warn of indexing errors, which the cut prevents


def test_translations_that_reach_the_greatest_length_are_told():
    toy = toys.trained_marian()
    model = load(toy.folder, 1, 3)
    made = model.generate(model.tokenize(["cat dog", "cat dog ran", "cat"])[0])
    # two words and the end are 3 tokens, and nothing tells more
    assert [each.output_cut for each in made] == [True, True, False]
    assert made[0].text == toy.expected("cat dog") and made[1].text == toy.expected("cat dog")


def test_lengths_and_beams(tmp_path):
    toy = toys.trained_marian()
    assert (load(toy.folder).beams, load(toy.folder).max_length) == (
        1,
        23,
    )  # its positions; transformers' 20 is no bound
    copy = copy_of(toy.folder, tmp_path, num_beams=3, max_length=10, do_sample=True)
    model = load(copy)
    assert (model.beams, model.max_length) == (3, 9)
    assert (load(copy, 2, 5).beams, load(copy, 2, 5).max_length) == (2, 5)
    with pytest.raises(InputError, match="--rtt-max-length 24: .* 24 positions; use at most 23"):
        load(toy.folder, None, 24)


def test_nothing_is_drawn_at_random_and_one_beam_is_one(tmp_path, capfd):
    """A random model with a generation_config that asks for sampling with beams."""
    copy = copy_of(toys.random_nllb(), tmp_path, do_sample=True, temperature=3.0, num_beams=3)
    drawing, greedy = (load(folder, 1, 9, "deu_Latn", "eng_Latn") for folder in (copy, toys.random_nllb()))
    lines = toys.lines(8, seed=6)
    capfd.readouterr()
    assert translated(drawing, lines) == translated(greedy, lines)
    assert capfd.readouterr() == ("", "")  # nor says transformers anything


def test_the_identity_follows_the_files_beside_the_weights(tmp_path):
    folder = toys.trained_marian().folder
    same = shutil.copytree(folder, tmp_path / "same")
    assert load(same).model.ckpt == load(folder).model.ckpt
    assert load(copy_of(folder, tmp_path, length_penalty=2.0)).model.ckpt != load(folder).model.ckpt


def test_half_precision():
    toy = toys.trained_marian()
    model = load(toy.folder, engine=EngineOptions(device="cpu", dtype="bf16"))
    assert translated(model, ["cat dog"]) == [toy.expected("cat dog")]
    assert {p.dtype for p in model._network.parameters()} == {torch.bfloat16}


def test_older_weights_are_read_and_code_in_them_is_not_run(tmp_path):
    toy = toys.trained_marian()
    copy = copy_of(toy.folder, tmp_path)
    weights = load(toy.folder)._loaded().state_dict()
    (copy / "model.safetensors").unlink()
    torch.save(weights, copy / "pytorch_model.bin")
    assert translated(load(copy), ["cat dog"]) == [toy.expected("cat dog")]

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    with open(copy / "pytorch_model.bin", "wb") as file:
        torch.save({**weights, "evil": Evil()}, file, pickle_module=pickle)
    with pytest.raises(ModelError, match="cannot be loaded as a translation model"):
        load(copy).generate([[2, 0]])
    assert not (tmp_path / "ran").exists()


def test_folders_that_cannot_be_used(tmp_path, tiny_bert):
    with pytest.raises(ModelError, match="is a bert model, which does not translate"):
        load(tiny_bert)
    toy = toys.trained_marian()
    copy = copy_of(toy.folder, tmp_path, "config.json", encoder_layers=2)
    with pytest.raises(ModelError, match="its weights lack model.encoder.layers.1"):
        load(copy).generate([[2, 0]])
    (copy / "vocab.json").unlink()
    with pytest.raises(ModelError, match="cannot be loaded as a translation model") as error:
        load(copy)
    assert "\n" not in str(error.value)
    (copy / "config.json").unlink()
    with pytest.raises(ModelError, match="holds no config.json"):
        load(copy)
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="holds no weights"):
        load(copy)


def test_what_is_fetched_of_a_hub_repository():
    files = {"config.json", "generation_config.json", "source.spm", "target.spm", "vocab.json", "tokenizer_config.json"}
    others = {"rust_model.ot", "tf_model.h5", "flax_model.msgpack", "README.md", "modeling_own.py"}
    wanted = TRANSLATION.wanted(files | others | {"pytorch_model.bin", "model.safetensors"}, "x")
    assert sorted(wanted) == sorted(files | {"model.safetensors"})
    assert "pytorch_model.bin" in TRANSLATION.wanted(files | {"pytorch_model.bin"}, "x")
