"""The environment variables that libraries read while a command, or a call of `evaluate`, runs."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_POLICIES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
# Otherwise the library tokenizers warns in each worker that sacrebleu forks for paired tests (-j N), which gets statistics
# only. In a user's own program it must notice a fork, and go on without threads: they do not survive it.
OF_COMMANDS = {"TOKENIZERS_PARALLELISM": "true"}


@contextmanager
def environment(more: Mapping[str, str] = {}) -> Iterator[None]:
    """Set variables for the block, unless the user has set them; those of a block that has ended are gone.

    more    variables besides those that say how threads wait
    """
    chosen = dict(more)
    # Idle libgomp threads spin in a loop. When other processes are busy, the high default makes two threads slower than
    # one. With 10,000 turns they are faster there, and at most 3 % slower on an idle machine. libgomp reads this when
    # torch loads it.
    if "torch" not in sys.modules and os.environ.keys().isdisjoint(_POLICIES):
        chosen["GOMP_SPINCOUNT"] = "10000"
    own = {name: value for name, value in chosen.items() if name not in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in own.items():
            if os.environ.get(name) == value:
                del os.environ[name]
