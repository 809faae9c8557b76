"""The flag --device of the benchmarks for a GPU."""

import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import TYPE_CHECKING

from ctx_metrics.engine_options import device_name

if TYPE_CHECKING:
    import torch


def add_device(parser: ArgumentParser) -> None:
    """Add the flag."""
    parser.add_argument(
        "--device", default="cuda", help="cuda, cuda:N, mps or cpu; cpu with --small tries this program (default: cuda)"
    )


def device_of(parser: ArgumentParser, name: str) -> "torch.device":
    """The device of this name; the program ends with one line and 1 where there is none."""
    try:
        device_name(name)
    except ArgumentTypeError as error:
        sys.exit(f"{parser.prog}: --device: {error}")
    import torch

    from ctx_metrics.engine.device import device_fault, resolve_device

    if name == "auto":
        return resolve_device(name)
    device = torch.device(name)
    if fault := device_fault(device):
        sys.exit(f"{parser.prog}: --device {name} {fault}; --device cpu --small tries this program without a card")
    return device
