"""Too little memory on a device: it is told from other errors, and ends with one line, after which the process goes on."""

import gc
import weakref

import pytest
import torch
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import REF, A, B
from test_loaded import HYPOTHESIS, QUIET, REFERENCE

from ctx_metrics import BERTR
from ctx_metrics.choice import minimum_risk
from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine.memory import LoadedModels, memory_for
from ctx_metrics.errors import InputError, ResourceError, as_line, lacks_memory
from ctx_metrics.pseudo_references.paraphrase.classifier import ParaphraseClassifier
from ctx_metrics.wording import by_flags

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
    with pytest.raises(ResourceError) as caught, memory_for("the weights of NAME", torch.device("cpu")):
        fail()
    assert str(caught.value) == f"device cpu has too little memory for the weights of NAME; {IN_PYTHON} ({CUBLAS})"
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


def test_a_classifier_that_does_not_fit(monkeypatch):
    classifier = ParaphraseClassifier(engine=QUIET)
    with monkeypatch.context() as patched:
        patched.setattr(torch.nn.Module, "to", fail)
        with pytest.raises(ResourceError, match="too little memory for the weights of embedded-paraphrase"):
            classifier.probabilities([(HYPOTHESIS, REFERENCE)])
    assert 0 <= classifier.probabilities([(HYPOTHESIS, REFERENCE)])[0] <= 1


def test_commands_end_with_the_line(ctx, monkeypatch):
    flags = "give a smaller --ctx-batch-tokens, --ctx-dtype bf16 or --ctx-device cpu, or a smaller model"
    monkeypatch.setattr(TextEncoder, "load", fail)
    monkeypatch.setattr(minimum_risk, "expected", fail)
    for argv, what in ((["score", "-r", REF, "-t", A, "-m", "bertr"], "bertr"), (["mbr", A, B, "-m", "chrf"], "mbr")):
        done = ctx(*argv, "-q", "--ctx-device", "cpu")
        said = f"ctx-metrics: error: device cpu has too little memory for {what}; {flags} ({CUBLAS})"
        assert (done.code, done.out) == (1, ""), done.err
        assert done.err.splitlines()[-1] == said
