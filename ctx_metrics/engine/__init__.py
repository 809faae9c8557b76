"""The text encoder: from texts to hidden states and readouts."""

import os
import sys

forked = False  # whether this process was forked from one that had loaded torch


def _note_fork() -> None:
    global forked
    forked = "torch" in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
