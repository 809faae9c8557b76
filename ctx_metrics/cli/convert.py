"""Turn a COMET, MetricX or BLEURT checkpoint into a folder of safetensors and JSON, which loads faster and holds no code.

The scores do not change in any bit. Use the folder instead of the checkpoint: --model FOLDER.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ..paths import Reads, Writes
from ..settings import CommandLine, setting

SUMMARY = "turn a COMET, MetricX or BLEURT checkpoint into a folder of safetensors and JSON"


@dataclass(frozen=True)
class Conversion:
    model: Annotated[str, Reads(str)] = setting(
        "the checkpoint: a folder, a .ckpt file, or the hub name OWNER/NAME[@REVISION]", flag="MODEL"
    )
    folder: Annotated[str, Writes(inside=("*",))] = setting("the output folder", flag="FOLDER")


FLAGS = [Conversion]


def run(line: CommandLine) -> int:
    from ..models.load import convert

    asked = line[Conversion]
    folder = Path(asked.folder)
    convert(asked.model, folder)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        print(f"{path}\t{path.stat().st_size:,} bytes")
    return 0
