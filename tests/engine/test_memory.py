"""Models that a process shares and frees, and what is said where memory runs out."""

import gc
import os
import shutil
import weakref

import pytest
import torch
from classifiers import write_classifier
from cli_conftest import ctx  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build
from damage import CKPT, as_pytorch, change_ckpt, other
from plugin_conftest import REF, A, B
from safetensors.torch import load_file, save_file
from sentence_folders import TANH, dense, pooling, write_model

from ctx_metrics import BERTR, COMET, RTTSBERT, PRSentBLEU, release
from ctx_metrics.choice import minimum_risk
from ctx_metrics.engine.device import TokenBudget
from ctx_metrics.engine.encoder import TextEncoder, shared_encoder
from ctx_metrics.engine.memory import LoadedModels, memory_for
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError, ResourceError, as_line, lacks_memory
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.pseudo_references.paraphrase.classifier import shared_classifier
from ctx_metrics.roundtrip.sentence_encoder import resolve_sentence_model, shared_sentence_encoder
from ctx_metrics.wording import by_flags

QUIET = EngineOptions(device="cpu", quiet=True)
HYPOTHESIS, REFERENCE = "the cat sat", "a cat ran home"


def replace_weights(path, factor: float = 1.3) -> None:
    """Put other numbers into a file of tensors, in place of the old ones, with their time of change."""
    before = path.stat()
    tensors = {
        name: tensor * factor if tensor.dim() > 1 else tensor.clone() for name, tensor in load_file(path).items()
    }
    save_file(tensors, f"{path}.new", {"format": "pt"})
    os.utime(f"{path}.new", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(f"{path}.new", path)


def bertr(folder):
    return lambda: BERTR(model=str(folder), engine=QUIET).corpus_score([HYPOTHESIS], [[REFERENCE]]).score


def comet(folder):
    metric = {"sources": [REFERENCE], "model": str(folder), "engine": QUIET}
    return lambda: COMET(**metric).corpus_score([HYPOTHESIS], [[REFERENCE]]).score


def cosine(folder):
    pairs = [(HYPOTHESIS, REFERENCE)]
    return lambda: shared_sentence_encoder(resolve_sentence_model(str(folder)), QUIET).cosines(pairs)[0].value


def paraphrase(folder):
    return lambda: shared_classifier(str(folder), QUIET).probabilities([(HYPOTHESIS, REFERENCE)])[0]


def converted(folder, bert):
    convert(str(build(RECIPES["regression"], folder.parent / "unconverted")), folder)
    return folder


def change_bias(folder):
    before = (folder / CKPT).stat()
    change_ckpt(folder, state_dict={"estimator.ff.6.bias": lambda bias: bias + 1})
    os.utime(folder / CKPT, ns=(before.st_atime_ns, before.st_mtime_ns))


def change_converted(folder):
    """Other weights in a converted folder, whose config.json vouches for them."""
    shutil.rmtree(folder)
    change_bias(folder.parent / "unconverted")
    convert(str(folder.parent / "unconverted"), folder)


def copied(folder, bert):
    return shutil.copytree(bert, folder)


def sentence_model(folder, bert):
    return write_model(folder, bert, [pooling("mean_tokens"), dense(TANH)])


def regression(folder, bert):
    return build(RECIPES["regression"], folder)


def pytorch_model(folder, bert):
    """An encoder of a PyTorch file; its safetensors, which are preferred, lie under another name."""
    shutil.copy(copied(folder, bert) / WEIGHTS, folder / "kept")
    as_pytorch(folder)


def prefer_others(folder):
    (folder / "kept").rename(folder / WEIGHTS)
    replace_weights(folder / WEIGHTS)


WEIGHTS = "model.safetensors"
OTHER_WORD = {"type": "Replace", "pattern": {"String": "sat"}, "content": "ran"}
MAXIMUM = {"pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}
CHANGES = {
    "bertr, weights": (copied, bertr, lambda folder: replace_weights(folder / WEIGHTS)),
    "bertr, config": (copied, bertr, other("config.json", layer_norm_eps=0.5)),
    "bertr, tokenizer": (copied, bertr, other("tokenizer.json", normalizer=OTHER_WORD)),
    "bertr, other weights": (pytorch_model, bertr, prefer_others),
    "sentence, weights": (sentence_model, cosine, lambda folder: replace_weights(folder / WEIGHTS)),
    "sentence, dense layer": (sentence_model, cosine, lambda folder: replace_weights(folder / "2_Dense" / WEIGHTS)),
    "sentence, pooling": (sentence_model, cosine, other("1_Pooling/config.json", **MAXIMUM)),
    "paraphrase, weights": (write_classifier, paraphrase, lambda folder: replace_weights(folder / WEIGHTS)),
    "paraphrase, config": (write_classifier, paraphrase, other("config.json", hidden_act="relu")),
    "comet, weights": (regression, comet, change_bias),
    "comet, config": (regression, comet, other("encoder/config.json", layer_norm_eps=0.5)),
    "comet, converted": (converted, comet, change_converted),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_replaced_is_not_handed_out(tiny_bert, tmp_path, name):
    """One process, one folder: the score is that of a new process before and after the folder's files change."""
    make, use, change = CHANGES[name]
    folder = tmp_path / "model"
    make(folder, tiny_bert)
    score = use(folder)
    first = score()
    assert score() == first
    change(folder)
    second = score()
    release()
    assert score() == second != first


def test_an_encoder_is_shared_while_it_is_current(tiny_bert, tmp_path, monkeypatch):
    folder = copied(tmp_path / "model", tiny_bert)
    monkeypatch.chdir(tmp_path)
    encoder = shared_encoder(folder, QUIET)
    assert shared_encoder(folder.relative_to(tmp_path), QUIET) is encoder
    larger = shared_encoder(folder, EngineOptions(device="cpu", quiet=True, store_mb=9))
    assert larger is not encoder and larger.store.limit == 9 * 2**20
    (folder / "README.md").write_text("what nobody reads")
    assert shared_encoder(folder, QUIET) is encoder
    shutil.move(folder, tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", folder)
    assert shared_encoder(folder, QUIET) is encoder


@pytest.mark.parametrize("part", ["weights", "tokenizer"])
def test_a_change_before_the_first_text_is_said(tiny_bert, tmp_path, part):
    """The signature was made of what the folder held, and weights are loaded with the first text."""
    folder = copied(tmp_path / "model", tiny_bert)
    metric = BERTR(model=str(folder), engine=QUIET)
    if part == "weights":
        replace_weights(folder / WEIGHTS)
    else:
        other("tokenizer.json", decoder=None)(folder)
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            metric.corpus_score([HYPOTHESIS], [[REFERENCE]])
        assert str(caught.value) == f"{folder} has changed since it was opened; create the metric again"


def test_release_frees_every_model(tiny_bert, tmp_path):
    folder = sentence_model(tmp_path / "model", tiny_bert)
    classifier = write_classifier(tmp_path / "classifier", tiny_bert)
    checkpoint = regression(tmp_path / "regression", tiny_bert)
    for score in (bertr(tiny_bert), cosine(folder), paraphrase(classifier), comet(checkpoint)):
        score()
    PRSentBLEU([[REFERENCE]], pseudo_references=[[HYPOTHESIS]])
    RTTSBERT(sources=[REFERENCE], roundtrips=[[HYPOTHESIS]], model=str(tiny_bert), engine=QUIET)
    held = BERTR(model=str(folder), engine=QUIET)
    models = [weakref.ref(model) for kind in LoadedModels._kinds for model in kind._models.values()]
    assert len(models) >= 6 and len(LoadedModels._kinds) >= 5
    assert sum(type(model()) is TextEncoder for model in models) >= 3
    release()
    gc.collect()
    assert [model() for model in models if model() is not None] == [held.encoder]
    assert held.corpus_score([HYPOTHESIS], [[REFERENCE]]).score == bertr(folder)()


@pytest.mark.parametrize(
    "free", [release, lambda: TokenBudget(torch.device("cpu")).split(["a", "b"], [1, 1], full, "text")]
)
def test_memory_that_torch_keeps_is_freed(monkeypatch, free):
    """By release(), and before a batch that did not fit is tried again: on CUDA and on MPS, where there is either."""
    emptied = []
    for mps in (False, True):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda there=not mps: there)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda there=mps: there)
        for name in ("cuda", "mps"):
            monkeypatch.setattr(getattr(torch, name), "empty_cache", lambda name=name: emptied.append(name))
        free()
    assert emptied == ["cuda", "mps"]


def full(batch):
    """A forward that has memory for one text."""
    if len(batch) > 1:
        raise torch.OutOfMemoryError("out of memory")


LACKING = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    RuntimeError("MPS backend out of memory (MPS allocated: 18 GB)"),
    RuntimeError("Invalid buffer size: 12.00 GiB"),
    RuntimeError("HIP out of memory. Tried to allocate 2 GiB"),
    RuntimeError("CUDA error: out of memory\nCompile with `TORCH_USE_CUDA_DSA`"),
    RuntimeError("Triton Error [CUDA]: CUDA_ERROR_OUT_OF_MEMORY"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"),
    RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"),
    RuntimeError("cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"),
    RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
]
OTHERS = [
    RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
    RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_BAD_PARAM"),
    RuntimeError("CUDA error: device-side assert triggered"),
    ResourceError("device cuda has too little memory for COMET (CUDA out of memory)"),
    InputError("out of memory.txt: no such file"),
]
CUBLAS = "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
IN_PYTHON = "give a smaller batch_tokens, dtype='bf16' or device='cpu' in EngineOptions, or a smaller model"


def test_it_is_told_from_other_errors():
    assert [str(error) for error in LACKING if not lacks_memory(error)] == []
    assert [str(error) for error in OTHERS if lacks_memory(error)] == []


def fail(*args, **kwargs):
    raise RuntimeError(CUBLAS)


def test_the_line():
    own = pytest.raises(ResourceError, match=r"for a step; give a smaller --batch \(CUDA error")
    with own, memory_for("a step", "auto", "give a smaller --batch"):
        fail()
    of_host = pytest.raises(ResourceError, match="too little memory for a step; free some, or raise the limit")
    with of_host, memory_for("a step", "cpu", "give a smaller --batch"):
        raise LACKING[-1]
    for error in OTHERS:
        with pytest.raises(type(error)) as passed, memory_for("a step", "cpu"):
            raise error
        assert passed.value is error


def test_the_line_of_what_nothing_else_catches():
    with by_flags():
        assert as_line(torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 2 GiB.")) == (
            "the device has too little memory; give a smaller --ctx-batch-tokens, --ctx-dtype bf16 or --ctx-device cpu, or "
            "a smaller model (CUDA out of memory. Tried to allocate 2 GiB.)"
        )
    assert as_line(OTHERS[0]) is None


@pytest.mark.parametrize("place", ["load", "encode"])
def test_a_metric_raises_it_and_can_be_used_again(tiny_bert, monkeypatch, place):
    """Weights that do not fit, or what no forward can be split for, such as pooling; then there is memory again."""
    metric = BERTR(model=str(tiny_bert), engine=QUIET)
    wanted = metric.corpus_score([HYPOTHESIS], [[REFERENCE]]).score
    with monkeypatch.context() as patched:
        patched.setattr(type(metric.encoder), place, fail)
        again = BERTR(model=str(tiny_bert), engine=QUIET)
        again.encoder.forget_texts()
        with pytest.raises(ResourceError, match=f"device cpu has too little memory for bertr; {IN_PYTHON}") as caught:
            again.corpus_score([HYPOTHESIS], [[REFERENCE]])
        assert "\n" not in str(caught.value)
    assert again.corpus_score([HYPOTHESIS], [[REFERENCE]]).score == wanted


def test_a_model_that_does_not_fit_is_not_kept(tiny_bert):
    class Model:
        def is_current(self):
            return False

    models: LoadedModels = LoadedModels()
    old = weakref.ref(models.get("place", Model))
    seen = []

    def load():
        gc.collect()
        seen.append(old())
        fail()

    with pytest.raises(RuntimeError):
        models.get("place", load)
    assert seen == [None] and not models._models  # the old one made room, and nothing broken took its place
    LoadedModels._kinds.remove(models)


def test_commands_end_with_the_line(ctx, monkeypatch):
    flags = "give a smaller --ctx-batch-tokens, --ctx-dtype bf16 or --ctx-device cpu, or a smaller model"
    monkeypatch.setattr(TextEncoder, "load", fail)
    monkeypatch.setattr(minimum_risk, "expected", fail)
    for argv, what in ((["score", "-r", REF, "-t", A, "-m", "bertr"], "bertr"), (["mbr", A, B, "-m", "chrf"], "mbr")):
        done = ctx(*argv, "-q", "--ctx-device", "cpu")
        said = f"ctx-metrics: error: device cpu has too little memory for {what}; {flags} ({CUBLAS})"
        assert (done.code, done.out) == (1, ""), done.err
        assert done.err.splitlines()[-1] == said
