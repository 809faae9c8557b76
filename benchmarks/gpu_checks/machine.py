"""The device and what torch knows of it."""

import os
import shutil
import subprocess

import torch

import ctx_metrics
from ctx_metrics.engine.device import computes_in_tf32, cuda_fault

from .bench import Bench


def check_machine(bench: Bench) -> None:
    """The device and what torch knows of it."""
    add = bench.findings.add
    add("ctx-metrics, torch", f"{ctx_metrics.__version__}, {torch.__version__}; {os.cpu_count()} cores")
    if bench.device.type != "cuda":
        add("device", bench.device.type)
        return
    properties = torch.cuda.get_device_properties(bench.device)
    add("device", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB; {torch.cuda.device_count()} in all")
    add("driver, CUDA", f"{driver()}, {torch.version.cuda}")
    fault = cuda_fault(bench.device.index or 0)
    version = ".".join(map(str, torch.cuda.get_device_capability(bench.device)))
    figure = f"{version}; torch has {' '.join(torch.cuda.get_arch_list())}"
    add("compute capability", figure, "torch has kernels for it", not fault)
    precision = torch.get_float32_matmul_precision()
    forced = os.environ.get("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "not set")
    figure = f"precision {precision}, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE {forced}"
    add("TF32 in matrix products", figure, "off", not computes_in_tf32(bench.device))


def driver() -> str:
    """The version of the NVIDIA driver."""
    if not (tool := shutil.which("nvidia-smi")):
        return "nvidia-smi not found"
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.partition("\n")[0].strip()
