"""A judge as a quality model, for `judge`, for the windows of `slide`, and wherever else an estimator is read."""

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from ..corpus import is_blank
from ..engine.memory import LoadedModels
from ..errors import ModelError
from ..models.estimator import Estimate, Estimator, Example
from ..notices import Notice, counted, notice
from ..roundtrip.back_translation import user_cache
from ..scale.folders import LocalFolder
from ..scale.kept import KeptResults
from .answer import together
from .asking import TRIES, Asking
from .judging import Judging
from .prompt import messages, prompt_hash
from .server import Server

INPUTS = ("mt+src", "mt+ref", "mt+src+ref")

_servers: LoadedModels[Server] = LoadedModels()


class JudgeEstimator(Estimator):
    """The mean score of a judge's answers, 0 to 1.

    languages    of the source and of the hypothesis, as the judge is told; None: it is not
    leaves_out   whether an example without an answer has the value NaN, instead of raising ModelError
    """

    choices = INPUTS
    english_only = False
    empty_value = 0.0
    title = "Judge"
    limit = "what the server takes"

    def __init__(
        self,
        judging: Judging,
        inputs: str,
        languages: tuple[str | None, str | None] = (None, None),
        leaves_out: bool = False,
        quiet: bool = False,
    ):
        self.judging, self.inputs, self._languages = judging, inputs, languages
        self._leaves_out, self._quiet = leaves_out, quiet

    @cached_property
    def store(self) -> KeptResults:
        return KeptResults(LocalFolder(str(store_folder(self.judging)), "--judge-store", private=True), "--judge-store")

    @property
    def special_tokens(self) -> int:
        return 0

    def is_cut(self, examples: Sequence[Example]) -> list[bool]:
        return [False] * len(examples)

    def token_counts(self, examples: Sequence[Example]) -> list[int]:
        raise ModelError("a judge's tokens cannot be counted here; give the windows a number of sentences")

    def estimate(self, examples: Sequence[Example], label: str, unit: str = "segment") -> list[Estimate]:
        distinct = list(dict.fromkeys(each for each in examples if not any(map(is_blank, each.texts(self.inputs)))))
        server = _servers.get(self.judging, lambda: Server(self.judging))
        asking = Asking(server, self.store, label, self._quiet)
        questions = [messages(each, self.inputs, *self._languages) for each in distinct]
        estimates: dict[Example, Estimate] = {}
        unplaced = fewer = without = 0
        for example, samples in zip(distinct, asking.samples(questions, unit), strict=True):
            judgements = [each.judgement for each in samples if each.judgement is not None]
            if not judgements:
                estimates[example] = Estimate(math.nan, False, False)
                without += 1
                continue
            fewer += len(judgements) < len(samples)
            placed = together(judgements, example.hypothesis)
            estimates[example] = placed.estimate
            unplaced += placed.unplaced
        if without and not self._leaves_out:
            have = counted(without, f"{unit} has", f"{unit}s have")
            raise ModelError(
                f"{label}: {have} no answer that can be read, after up to {TRIES} requests for each of "
                f"{self.judging.samples} samples; take more samples, or another model"
            )
        of_samples = f"fewer than {self.judging.samples} answers that can be read"
        gone = "no place in the hypothesis (omissions, or words that it does not hold) and no span"
        for number, one, many in (
            (fewer, f"{unit} has {of_samples}", f"{unit}s have {of_samples}"),
            (unplaced, f"marked error has {gone}", f"marked errors have {gone}"),
        ):
            if number:
                notice(Notice(one, many, number, unit="", metric=label))
        empty = Estimate(self.empty_value, False, True)
        return [estimates.get(each, empty) for each in examples]

    def signature(self) -> dict:
        """What scores depend on: the model, the texts that it reads, all that it is told, and how its answers are drawn."""
        own = self.judging
        of_length = {} if own.max_tokens is None else {"maxlen": own.max_tokens}
        return {
            "judge": own.model,
            "inputs": self.inputs,
            "prompt": prompt_hash(self.inputs, own.format),
            "temperature": f"{own.temperature:g}",
            "samples": own.samples,
            **of_length,
        }


def store_folder(judging: Judging | None) -> Path:
    """The folder of the answers."""
    return Path(judging.store).expanduser() if judging and judging.store else user_cache() / "judge"
