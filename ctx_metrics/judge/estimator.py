"""A judge as a quality model, for `judge`, for the windows of `slide`, and wherever else an estimator is read."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from ..corpus import is_blank
from ..engine.memory import LoadedModels
from ..errors import ModelError
from ..models.estimator import Estimate, Estimator, Example
from ..notices import Notice, counted, notice
from ..scale.folders import LocalFolder, user_cache
from ..scale.kept import KeptResults
from .answer import PlacedSpan, together
from .asking import TRIES, Asking, Fault, Sample
from .judging import Judging
from .prompt import messages, prompt_hash
from .server import Server

INPUTS = ("mt+src", "mt+ref", "mt+src+ref")

_servers: LoadedModels[Server] = LoadedModels()


class JudgeEstimator(Estimator):
    """The mean score of a judge's answers, 0 to 1.

    languages    of the source and of the hypothesis, as the judge is told; None: it is not
    leaves_out   whether an example without an answer has the value NaN, instead of raising ModelError, and who asks gives
                 notice of the faults
    faults       the faults of answers about examples
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
        self.faults: dict[Example, list[Fault]] = {}

    @cached_property
    def store(self) -> KeptResults:
        return KeptResults(LocalFolder(str(store_folder(self.judging)), "--judge-store", private=True), "--judge-store")

    @property
    def special_tokens(self) -> int:
        return 0

    def is_cut(self, examples: Sequence[Example]) -> list[bool]:
        return [False] * len(examples)

    def token_counts(self, examples: Sequence[Example]) -> list[int]:
        raise ModelError("a judge's tokens cannot be counted here", fix="give the windows a number of sentences")

    def estimate(self, examples: Sequence[Example], label: str, unit: str = "segment") -> list[Estimate]:
        distinct = list(dict.fromkeys(each for each in examples if not any(map(is_blank, each.texts(self.inputs)))))
        server = _servers.get(self.judging, lambda: Server(self.judging))
        asking = Asking(server, self.store, label, self._quiet)
        questions = [messages(each, self.inputs, *self._languages) for each in distinct]
        estimates = {
            example: self._estimate(example, samples)
            for example, samples in zip(distinct, asking.samples(questions, unit), strict=True)
        }
        if not self._leaves_out:
            self._say_faults(distinct, estimates, label, unit)
        empty = Estimate(self.empty_value, False, True)
        return [estimates.get(each, empty) for each in examples]

    def _estimate(self, example: Example, samples: Sequence[Sample]) -> Estimate:
        faults = {fault: None for sample in samples for fault in sample.faults}
        judgements = [each.judgement for each in samples if each.judgement is not None]
        found = PlacedSpan(Estimate(math.nan, False, False), 0)
        if judgements:
            found = together(judgements, example.hypothesis)
            if len(judgements) < len(samples):
                faults[_of_now(f"fewer than {len(samples)} readable answers")] = None
        if found.unplaced:
            without = "errors without a place in the hypothesis (omissions, or words that are not in it)"
            faults[_of_now(f"marked {without}")] = None
        if faults:
            self.faults[example] = list(faults)
        return found.estimate

    def _say_faults(
        self, examples: Sequence[Example], estimates: Mapping[Example, Estimate], label: str, unit: str
    ) -> None:
        """Give notice of the faults, and raise ModelError for examples without an answer."""
        for fault, number in Counter(fault for each in examples for fault in self.faults.get(each, ())).items():
            notice(Notice(f"{unit} {fault.one}", f"{unit}s {fault.many}", number, unit="", metric=label))
        if without := sum(math.isnan(each.value) for each in estimates.values()):
            raise ModelError(
                f"{label}: {counted(without, f'{unit} has', f'{unit}s have')} no readable answer after up to "
                f"{TRIES} requests for each of {self.judging.samples} samples",
                fix="use more samples, or another model",
            )

    def signature(self) -> dict:
        """The data that scores depend on: the model, its input texts, its instructions, and how its answers are drawn."""
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


def _of_now(words: str) -> Fault:
    return Fault(f"has {words}", f"have {words}")


def store_folder(judging: Judging | None) -> Path:
    """The folder of the answers."""
    return Path(judging.store).expanduser() if judging and judging.store else user_cache() / "judge"
