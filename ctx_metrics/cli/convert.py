"""Turn a COMET checkpoint into a folder of safetensors and JSON, which loads faster and holds no code.

The scores stay the same, bit by bit. The folder is named in place of the checkpoint: --model FOLDER.
"""

import os.path
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    """Add the flags of the subcommand."""
    parser.add_argument(
        "model", metavar="MODEL", help="a COMET checkpoint: a folder, a .ckpt file, or OWNER/NAME[@REVISION] of the hub"
    )
    parser.add_argument("folder", metavar="FOLDER", type=os.path.expanduser, help="where to write")


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    from ..models.comet.convert import convert

    folder = Path(args.folder)
    convert(args.model, folder)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        print(f"{path}\t{path.stat().st_size:,} bytes")
    return 0
