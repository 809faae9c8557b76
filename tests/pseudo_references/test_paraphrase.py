"""The paraphrase classifier: any sequence classifier, its labels, what it refuses; the embedded one."""

import json
import logging
import os
import pickle
import shutil

import pytest
import torch
from classifiers import PAIRS, logits_alone, write_classifier
from damage import as_pytorch, change, change_json, in_turn, line, other, rehash, text, weights, without
from identities import identity_of_folder
from safetensors.torch import load_file
from selection import some_rows

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError, ResourceError
from ctx_metrics.models.hub import ResolvedModel, checkpoint_hash, resolve
from ctx_metrics.opening import file_sha256
from ctx_metrics.pseudo_references.paraphrase import classifier as paraphrase
from ctx_metrics.pseudo_references.paraphrase import pair_classifier as adapted_classifier
from ctx_metrics.pseudo_references.paraphrase.classifier import (
    EMBEDDED_FOLDER,
    ParaphraseClassifier,
    load_tokenizer,
    paraphrase_label,
    shared_classifier,
)
from ctx_metrics.pseudo_references.paraphrase.pair_classifier import (
    load_adapted,
    new_classifier,
    new_pair_classifier,
    write_adapted,
)
from ctx_metrics.training.low_rank import learned

QUIET = EngineOptions(quiet=True)


@pytest.fixture(scope="module")
def bert(tmp_path_factory, tiny_bert):
    return write_classifier(tmp_path_factory.mktemp("classifier") / "bert", tiny_bert)


@pytest.fixture
def folder(tmp_path, bert):
    return shutil.copytree(bert, tmp_path / "mine")


@pytest.fixture
def adapted(tmp_path, tiny_bert):
    """An adapted classifier of rank 3 whose changes are not zero."""
    torch.manual_seed(2)
    network = new_classifier(tiny_bert, 3)
    tensors = {name: tensor + torch.randn_like(tensor) * 0.1 for name, tensor in learned(network).items()}
    encoder = resolve(str(tiny_bert))
    write_adapted(tmp_path / "adapted", {"encoder": str(tiny_bert), "encoder_ckpt": encoder.ckpt, "rank": 3}, tensors)
    return tmp_path / "adapted"


def said_of(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "ctx_metrics"]


def refused(folder) -> str:
    """The one line that using the folder says."""
    return line(lambda: ParaphraseClassifier(str(folder), QUIET).probabilities(PAIRS), folder)


ENCODERS, BUDGETS = ("tiny_bert", "tiny_roberta", "tiny_xlmr"), (1, 40, 4000)
ROWS = [(encoder, budget) for encoder in ENCODERS for budget in BUDGETS]


@pytest.mark.parametrize(
    "encoder, budget", some_rows(ROWS, [("tiny_bert", 1), ("tiny_bert", 4000), ("tiny_roberta", 40), ("tiny_xlmr", 1)])
)
def test_it_equals_the_library_on_each_pair_alone_in_any_batch_and_order(tmp_path, request, encoder, budget):
    folder = write_classifier(tmp_path / "c", request.getfixturevalue(encoder))
    wanted = [float(each.softmax(-1)[1]) for each in logits_alone(folder, *PAIRS)]
    assert max(wanted) - min(wanted) > 0.02  # else nothing could be told apart
    options = EngineOptions(quiet=True, batch_tokens=budget)
    found = ParaphraseClassifier(str(folder), options).probabilities(PAIRS)
    assert found == pytest.approx(wanted, abs=1e-5) and all(isinstance(value, float) for value in found)
    backward = ParaphraseClassifier(str(folder), options).probabilities(PAIRS[::-1])
    assert backward[::-1] == pytest.approx(wanted, abs=1e-5)


def test_a_single_logit_goes_through_the_sigmoid(tmp_path, tiny_bert):
    folder = write_classifier(tmp_path / "one", tiny_bert, labels=1)
    wanted = [float(each.sigmoid()[0]) for each in logits_alone(folder, *PAIRS)]
    assert ParaphraseClassifier(str(folder), QUIET).probabilities(PAIRS) == pytest.approx(wanted, abs=1e-5)


NAMES_AND_LABEL = [
    ("LABEL_0 LABEL_1", 1),
    ("0 1", 1),
    ("not_equivalent equivalent", 1),
    ("equivalent not_equivalent", 0),
    ("is_duplicate not_duplicate", 0),
    ("Paraphrase No_paraphrase", 0),
    ("not_a_paraphrase is_a_paraphrase", 1),
    ("non-paraphrase paraphrase", 1),
    ("paraphrase other", 0),
    ("inequivalent semantically-equivalent", 1),
    ("paraphrase duplicate", 1),  # both mean it
    ("entailment not_entailment", 1),  # neither does
]


@pytest.mark.parametrize("names, label", NAMES_AND_LABEL)
def test_the_label_whose_name_means_paraphrase(names, label):
    from transformers import BertConfig

    assert paraphrase_label(BertConfig(id2label=dict(enumerate(names.split())))) == label


@pytest.mark.parametrize("names, label", [("equivalent not_equivalent", 0), ("entailment not_entailment", 1)])
def test_the_probability_is_that_of_the_label(folder, caplog, names, label):
    names = names.split()
    change(folder, id2label=dict(enumerate(names)), label2id={name: k for k, name in enumerate(names)})
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        found = ParaphraseClassifier(str(folder), QUIET).probabilities(PAIRS)
    wanted = [float(each.softmax(-1)[label]) for each in logits_alone(folder, *PAIRS)]
    assert found == pytest.approx(wanted, abs=1e-5)
    assert ["'not_entailment' is read as paraphrase" in said for said in said_of(caplog)] == [True] * label


def test_long_pairs_lose_the_end_of_their_longer_sentence_and_are_counted(bert, caplog):
    pairs = [("cat", "dog " * 30), ("a " * 20, "the " * 5), *PAIRS]
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        found = ParaphraseClassifier(str(bert), QUIET, max_length=20).probabilities([*pairs, *pairs])
    # [CLS] and two [SEP] leave 17: one of them for cat and 16 for dogs
    same = ParaphraseClassifier(str(bert), QUIET).probabilities([("cat", "dog " * 16), ("a " * 12, "the " * 5)])
    assert found[:2] == pytest.approx(same, abs=1e-5)
    assert found[: len(pairs)] == found[len(pairs) :]
    assert said_of(caplog) == ["paraphrase classifier bert: 2 pairs were truncated to 20 tokens, of 8"]


@pytest.mark.parametrize("encoder, most", [("tiny_bert", 70), ("tiny_roberta", 72), ("tiny_xlmr", 72)])
def test_no_more_tokens_than_the_model_has_positions(tmp_path, request, caplog, encoder, most):
    folder = write_classifier(tmp_path / "c", request.getfixturevalue(encoder))
    change_json(folder / "tokenizer_config.json", ["model_max_length"])  # so that the positions alone can tell
    pair = ("the cat " * 60, "the dog " * 60)
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        (found,) = ParaphraseClassifier(str(folder), QUIET).probabilities([pair])
    [wanted] = logits_alone(folder, pair, limit=most)
    assert found == pytest.approx(float(wanted.softmax(-1)[1]), abs=1e-5)
    assert said_of(caplog) == [f"paraphrase classifier c: 1 pair was truncated to {most} tokens, of 1"]


def test_a_pair_is_computed_once(bert, monkeypatch):
    lengths = []
    whole = paraphrase.batch_of
    monkeypatch.setattr(paraphrase, "batch_of", lambda t, e, d: (lengths.append(len(e)), whole(t, e, d))[1])
    classifier = ParaphraseClassifier(str(bert), QUIET)
    first = classifier.probabilities([*PAIRS[:3], *PAIRS[:3]])
    assert sum(lengths) == 3 and classifier.probabilities(PAIRS)[:3] == first[:3] == first[3:]
    assert sum(lengths) == len(PAIRS) and classifier.probabilities([]) == []


def test_batches_keep_to_the_budget_longest_first(bert, monkeypatch):
    sizes = []
    whole = paraphrase.batch_of
    monkeypatch.setattr(
        paraphrase, "batch_of", lambda t, e, d: (sizes.append([len(x["input_ids"]) for x in e]), whole(t, e, d))[1]
    )
    ParaphraseClassifier(str(bert), EngineOptions(quiet=True, batch_tokens=30)).probabilities(PAIRS)
    flat = [size for batch in sizes for size in batch]
    assert flat == sorted(flat, reverse=True) and len(sizes) > 1 and all(sum(batch) <= 30 for batch in sizes)


def test_memory_that_runs_out_halves_the_batches(bert, caplog):
    classifier = ParaphraseClassifier(str(bert), QUIET)
    wanted = ParaphraseClassifier(str(bert), QUIET).probabilities(PAIRS)
    model = classifier._loaded().model
    whole = model.forward

    def small(input_ids, **inputs):
        if len(input_ids) > least:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(input_ids=input_ids, **inputs)

    model.forward, least = small, 2
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        assert classifier.probabilities(PAIRS) == pytest.approx(wanted, abs=1e-5)
    assert said_of(caplog) and all("out of memory on cpu with" in message for message in said_of(caplog))
    least = 0
    with pytest.raises(ResourceError, match="too little memory for a single pair of"):
        classifier.probabilities([("rain", "city")])


def test_signature_sharing_and_pickling(bert, monkeypatch):
    shared = shared_classifier(str(bert), QUIET)
    assert shared is shared_classifier(str(bert), QUIET) and shared is not shared_classifier(str(bert))
    assert shared.signature() == {"model": "bert", "rev": None, "ckpt": checkpoint_hash(bert)}
    values = shared.probabilities(PAIRS[:2])
    copy = pickle.loads(pickle.dumps(shared))
    assert len(pickle.dumps(shared)) < 5000 and copy.probabilities(PAIRS[:2]) == values
    hub = ResolvedModel("owner/name", bert, "0123456789ab", "c" * 12)
    monkeypatch.setattr(paraphrase, "resolve", lambda name: hub if name == "owner/name@0123456" else None)
    classifier = ParaphraseClassifier("owner/name@0123456", QUIET)
    assert classifier.signature() == {"model": "owner/name", "rev": "0123456789ab", "ckpt": "c" * 12}
    assert classifier.probabilities(PAIRS[:2]) == pytest.approx(values, abs=1e-6)


def test_bf16_and_unknown_devices(bert):
    wide = ParaphraseClassifier(str(bert), QUIET).probabilities(PAIRS)
    narrow = ParaphraseClassifier(str(bert), EngineOptions(quiet=True, dtype="bf16")).probabilities(PAIRS)
    assert narrow == pytest.approx(wide, abs=0.05) and narrow != wide
    with pytest.raises(InputError, match="unknown device 'tpu'"):
        ParaphraseClassifier(str(bert), EngineOptions(device="tpu"))


def test_pytorch_weights_load_and_those_with_code_are_refused(folder):
    wanted = ParaphraseClassifier(str(folder), QUIET).probabilities(PAIRS)
    tensors = load_file(folder / "model.safetensors")
    as_pytorch(folder)
    assert ParaphraseClassifier(str(folder), QUIET).probabilities(PAIRS) == pytest.approx(wanted, abs=1e-6)

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(folder / "trapped"),)

    torch.save({**tensors, "extra": Trap()}, folder / "pytorch_model.bin")
    assert "cannot be loaded as a sequence classifier" in refused(folder)
    assert not (folder / "trapped").exists()


def test_code_beside_the_weights_is_not_run(folder):
    (folder / "own.py").write_text("raise SystemExit('code was run')\n")
    change(folder, model_type="own", auto_map={"AutoConfig": "own.C", "AutoModelForSequenceClassification": "own.M"})
    assert "cannot be loaded as a sequence classifier" in refused(folder)


@pytest.mark.parametrize(
    "damage, says",
    [
        (text("tokenizer.json", "{"), "FOLDER: its tokenizer cannot be loaded: "),
        (text("config.json", "["), "FOLDER cannot be loaded as a sequence classifier: "),
        (without("model.safetensors"), "holds no weights"),
        (
            text("tokenizer_config.json", '{"tokenizer_class": "PreTrainedTokenizerFast"}'),
            "FOLDER: its tokenizer has no padding token, so pairs cannot be read in batches",
        ),
    ],
)
def test_a_damaged_classifier(folder, damage, says):
    damage(folder)
    assert says in refused(folder)


def test_what_is_no_paraphrase_classifier(tmp_path, tiny_bert):
    assert "is not a sequence classifier: classifier.bias is not among its weights" in refused(tiny_bert)
    three = write_classifier(tmp_path / "three", tiny_bert, labels=3)
    assert refused(three).startswith("FOLDER has 3 labels")
    with pytest.raises(ModelError, match="no model folder './not there'"):
        ParaphraseClassifier("./not there", QUIET)


def test_an_adapted_folder_is_its_encoder_with_the_changes_added(adapted, tiny_bert):
    tensors = load_file(adapted / "model.safetensors")
    plain = new_pair_classifier(tiny_bert)
    weights = plain.state_dict()
    changed = {name.removesuffix(".down") for name in tensors if name.endswith(".down")}
    assert len(changed) == 3 * 6  # query, key, value, output and two of the feedforward, in three layers
    for name in changed:
        weights[f"{name}.weight"] += tensors[f"{name}.up"].float() @ tensors[f"{name}.down"].float()
    weights.update(
        {n.replace(".linear.", "."): t.float() for n, t in tensors.items() if not n.endswith((".down", ".up"))}
    )
    plain.load_state_dict(weights)
    tokenizer = load_tokenizer(tiny_bert)
    wanted = []
    for pair in PAIRS:
        with torch.inference_mode():
            wanted.append(float(plain.eval()(**tokenizer(*pair, return_tensors="pt")).logits[0].softmax(-1)[1]))
    classifier = ParaphraseClassifier(str(adapted), QUIET)
    assert classifier.probabilities(PAIRS) == pytest.approx(wanted, abs=1e-5) and len(set(wanted)) == len(PAIRS)
    assert classifier.signature()["ckpt"] == identity_of_folder(adapted, "config.json", "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values() if tensor.dim() > 1} == {torch.float16}


def bias(value: list[float] | None):
    """Weights whose last bias is another, in a folder that vouches for them."""
    return in_turn(weights("classify.bias", lambda _: None if value is None else torch.tensor(value)), rehash)


@pytest.mark.parametrize(
    "damage, says",
    [
        (
            lambda folder: change(folder, ["rank"]),
            "FOLDER/config.json lacks rank, which `ctx-metrics paraphrase train`",
        ),
        *(
            (other("config.json", rank=rank), f"rank is {json.dumps(rank)}, which is not valid; copy the folder again")
            for rank in (0, True, "3")
        ),
        (other("config.json", rank=99), "FOLDER/config.json: rank 99 is more than the encoder's width, 48"),
        (other("config.json", rank=2), "does not fit its config.json (encoder.encoder.layer.0."),
        (other("config.json", encoder_ckpt="0" * 12), "was trained on an encoder that hashes to 000000000000"),
        (other("config.json", encoder="./gone"), "its encoder './gone' cannot be used"),
        (weights("classify.bias", torch.ones_like), "the weights were changed, or belong to another model"),
        (bias(None), "(classify.bias: not there and [2])"),
        (in_turn(weights("more", lambda _: torch.ones(1)), rehash), "(more: [1] and not there)"),
        (bias([0.0, float("nan")]), "classify.bias is not finite everywhere; train the model again"),
        (in_turn(text("model.safetensors", "broken"), rehash), "cannot be read"),
    ],
)
def test_faults_of_an_adapted_folder(adapted, damage, says):
    damage(adapted)
    assert says in refused(adapted)


# ---- the embedded classifier

# (pseudo, gold): what it gave when it was made
BUDGET = "The committee approved the budget on Friday."
INVENTED = {
    (BUDGET, "On Friday, the budget was approved by the committee."): 0.999735,
    (BUDGET, "The committee rejected the plan to build a stadium."): 0.797718,
    ("Shares of the company rose 4 percent.", "The company's stock fell sharply after the announcement."): 0.121779,
    ("He was arrested on Monday in Boston.", "Police arrested him in Boston on Monday."): 0.999588,
}


def test_the_embedded_one_gives_its_stored_figures():
    found = shared_classifier(None, QUIET).probabilities([*INVENTED])
    assert found == pytest.approx([*INVENTED.values()], abs=1e-4)


def test_the_embedded_folder_is_small_and_says_what_it_is():
    assert sum(path.stat().st_size for path in EMBEDDED_FOLDER.iterdir()) <= 6e6
    config = json.loads((EMBEDDED_FOLDER / "config.json").read_text())
    assert config["model_type"] == adapted_classifier.KIND and config["encoder"] == "embedded"
    assert config["weights_sha256"] == file_sha256(EMBEDDED_FOLDER / "model.safetensors")
    signature = ParaphraseClassifier("embedded", QUIET).signature()
    assert signature == {
        "model": "embedded-paraphrase",
        "rev": None,
        "ckpt": identity_of_folder(EMBEDDED_FOLDER, "config.json", "model.safetensors"),
    }
    assert ParaphraseClassifier(None, QUIET).signature() == signature
    model, encoder = load_adapted(EMBEDDED_FOLDER)
    assert not model.training and encoder == resolve("embedded").folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "path, least",
    [
        ("paraphrase/msr_paraphrase_test.txt.xz", {"accuracy": 0.78, "f1": 0.8, "auc": 0.8}),
        ("paws_qqp/dev_and_test.tsv.xz", {}),
    ],
)
def test_the_embedded_one_on_real_pairs(shared_data, path, least):
    from ctx_metrics.pseudo_references.paraphrase.data import read_labelled
    from ctx_metrics.pseudo_references.paraphrase.learn import figures

    data = read_labelled(str(shared_data / path))
    found = figures(shared_classifier(None, QUIET).probabilities(data.pairs), data.labels)
    card = (EMBEDDED_FOLDER / "README.md").read_text()
    for name, value in found.items():
        assert value >= least.get(name, 0) and f"{value:.4f}".lstrip("0") in card, (name, value)
