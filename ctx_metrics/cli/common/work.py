"""Flags that say where work is done, and where results are kept between runs."""

import re
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...engine_options import EngineOptions
from ...flag_types import Few, KeptIn
from ...settings import CommandLine, setting

if TYPE_CHECKING:
    from ...scale.corpora import InBlocks


def place(text: str) -> str:
    if text != "ray" and not (text.startswith("ray:") and text.removeprefix("ray:").strip("/")):
        raise ArgumentTypeError(f"{text!r} is neither ray nor ray:ADDRESS")
    return text


@dataclass(frozen=True)
class Work:
    on: str | None = setting(
        "Where to score blocks: ray (workers on this machine, or on the cluster of RAY_ADDRESS), ray:ADDRESS or "
        "ray://ADDRESS. (Default: this process)",
        type=place,
        metavar="PLACE",
    )
    workers: Few | None = setting(
        "Number of processes of --on. (Default: one per GPU; without GPUs, one per two cores)"
    )


@dataclass(frozen=True)
class Kept:
    ctx_cache: KeptIn | None = setting(
        "Keep results in DIR, block by block. The next run continues a killed one, and scores only new blocks.",
        flag="--ctx-cache --resume",
    )


def checked_work(line: CommandLine) -> Work:
    work, device = line[Work], line[EngineOptions].device
    if work.workers and not work.on:
        line.error("--workers works only with --on ray; give both, or leave it out")
    card = re.fullmatch(r"cuda:(\d+)", device)
    if work.on and card:
        line.error(
            f"--ctx-device {device} does not work with --on, which gives each worker a GPU of its own; leave it "
            f"out, or set CUDA_VISIBLE_DEVICES={card[1]} for --on ray to use that GPU alone"
        )
    return work


@contextmanager
def in_blocks(work: Work, kept: Kept) -> Iterator["InBlocks | None"]:
    """Yield an InBlocks, which scores corpora in blocks, or None if no flag asks for it."""
    if work.on is None and kept.ctx_cache is None:
        yield None
        return
    from ...scale.blocks import opened
    from ...scale.corpora import InBlocks
    from ...scale.kept import ResultCache

    cache = ResultCache(kept.ctx_cache) if kept.ctx_cache is not None else None
    with opened(work.on, work.workers) as where:
        yield InBlocks(where, cache)
