"""Training of a UniTE-style quality model: it reads an output with its source, its reference, or both.

In each epoch, a row that has both is read in one of the three ways, drawn by the seed for the whole segment. So one set of
weights learns all ways, and each row costs one pass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from ...engine.checkpoint import EncoderFolder
from ...engine.device import TokenBudget, check_tf32, resolve_device, token_batches
from ...engine.matching import token_pairs
from ...engine.memory import memory_for
from ...engine.tokenizer import TextTokenizer, TokenIds
from ...engine_options import EngineOptions
from ...errors import InputError, ModelError
from ...models import hub
from ...models.comet.adapted import AdaptedCheckpoint, language_tag, plain_quotes
from ...models.comet.checkpoint import ADAPTED_KIND, ENCODER_KINDS, INPUTS, SEPARATORS
from ...models.comet.model import joined
from ...models.folder import read_config
from ...notices import counted, notice
from ..folder import STATE
from ..loop import Loop, Progress, adamw, training_dtype
from ..low_rank import LowRankLinear, learned
from ..state import claim, digest, encoder_name
from .development import DevelopmentSet
from .examples import TrainingSet
from .learn import TrainingResult, check_tokens, matching_config, written
from .network import UnifiedNetwork, few_shapes, new_network, padded, restore, round_as_stored, stored
from .recipe import Architecture, Recipe
from .synthetic.pairs import CleanPairs
from .task import QualityTask

# the ways to read a row, and their shares: without a reference there is most to learn
WAYS = dict(zip(INPUTS, (0.5, 0.25, 0.25), strict=True))
BARE = 0.2  # the share of segments that are read without their tag, so that texts of unknown languages can be scored
# The value of a mean judgement, and that of one standard deviation: nearly all values then lie between 0 and 1.
MEAN, DEVIATION = 0.5, 0.15
LEAST_DEVIATION = 1e-3  # of cosines; a feature that varies less says nothing, and would only magnify rounding
HEAD_WIDTH, RANK = 256, 32
# Tokens of a forward and backward pass: few enough for a CPU's cache, and enough to keep a GPU busy.
TOKENS_A_PASS = {"cpu": 2048, "mps": 2048, "cuda": 8192}
LONG = 256  # tokens of a sequence from which on attention takes most of a pass's memory
SMALLER = "give a smaller --ctx-batch-tokens or --max-length, --ctx-dtype bf16 or --ctx-device cpu"
STANDARDISED_BY = 256  # number of training rows, each read in all ways


def encoder_kind(config: Mapping[str, Any], tokenizer: TextTokenizer) -> str:
    """Return COMET's name for the encoder, which decides how texts are joined."""
    kinds = {kind: name for name, kind in ENCODER_KINDS.items() if kind != "bert"} | {"roberta": "XLM-RoBERTa"}
    if kinds.get(config["model_type"]) == "DeBERTa":
        raise ModelError("a DeBERTa encoder cannot be adapted here", fix="name one of another kind, such as XLM-R")
    return kinds.get(config["model_type"], "BERT" if tokenizer.separator_token == "[SEP]" else "MiniLM")


def cost(rows: int, length: int) -> float:
    """Return the memory cost of a pass over some rows of at most `length` tokens, in tokens of short sequences.

    Attention takes memory for each pair of tokens, which is most of it for long sequences.
    """
    return rows * length * max(1.0, length / LONG)


class UnifiedInputs:
    """The token ids of n rows' texts, and the network's inputs for each way to read them.

    spoken     the language of each data set, which outputs begin with; None: they have no such tags
    plain      whether all styles of quotation marks are read as one
    tokenless  texts in which the tokenizer finds no tokens
    lengths    number of tokens of each row's source or reference, and of its output
    bare       the rows whose output is read without its tag in this epoch
    """

    def __init__(
        self,
        texts: TrainingSet | DevelopmentSet,
        tokenizer: TextTokenizer,
        kind: str,
        most: int,
        max_length: int,
        spoken: Mapping[str, str | None] | None = None,
        plain: bool = False,
    ):
        self.tokenizer, self.kind, self.most, self.max_length = tokenizer, kind, most, max_length
        self.spoken, self.plain, self.bare = spoken, plain, frozenset[int]()
        columns: dict[str, Sequence[str | None]]
        columns = {"mt": texts.hypotheses, "src": texts.sources, "ref": texts.references}
        if spoken is not None:
            tags = [language_tag(spoken.get(name)) for name in texts.datasets]
            columns["mt"] = [tag + text for tag, text in zip(tags, texts.hypotheses, strict=True)]
            columns["bare"] = texts.hypotheses
        distinct = list(dict.fromkeys(text for column in columns.values() for text in column if text is not None))
        as_read = [plain_quotes(text) for text in distinct] if plain else distinct
        ids = dict(zip(distinct, tokenizer(as_read, max_length), strict=True))
        self.rows = [
            {name: ids[text] for name, text in zip(columns, of_row, strict=True) if text is not None}
            for of_row in zip(*columns.values(), strict=True)
        ]
        read = {text for name in ("mt", "src", "ref") for text in columns[name] if text is not None}
        self.cut = sum(ids[text].cut > 0 for text in read)
        own = [text for text in (*texts.hypotheses, *texts.references, *texts.sources) if text is not None]
        self.tokenless = [text for text in dict.fromkeys(own) if not ids[text].content]
        self.lengths = [(len(row.get("src", row.get("ref", row["mt"])).ids), len(row["mt"].ids)) for row in self.rows]

    def with_more(self, texts: TrainingSet) -> "UnifiedInputs":
        """Return the inputs of these rows, and then of more."""
        more = UnifiedInputs(texts, self.tokenizer, self.kind, self.most, self.max_length, self.spoken, self.plain)
        more.rows, more.lengths = self.rows + more.rows, self.lengths + more.lengths
        return more

    def ways(self, row: int) -> list[str]:
        return [way for way in WAYS if self.rows[row].keys() >= set(way.split("+"))]

    def tokens(self, row: int, way: str) -> int:
        """Return the approximate number of tokens of a row read in a way."""
        return sum(len(self.rows[row][name].ids) for name in way.split("+"))

    def sequence(self, row: int, way: str) -> TokenIds:
        names = way.replace("mt", "bare") if row in self.bare else way
        texts = [self.rows[row][name] for name in names.split("+")]
        return joined(texts, self.kind, self.tokenizer.pad, self.most)

    def padded(self, rows: Sequence[tuple[int, str]], device: str | None = None) -> tuple:
        """Return the network's inputs for some rows, and their number.

        device    the device for which they are padded to one of few shapes, with copies of the first row; None: to the
                  longest row
        """
        sequences = [self.sequence(*row) for row in rows]
        number, length = len(sequences), max(len(sequence.ids) for sequence in sequences)
        if device is not None:
            number, length = few_shapes(number, length, self.most, device)
        copies = [sequences[0]] * (number - len(sequences))
        ids, mask, types = padded([*sequences, *copies], self.tokenizer.pad or 0, length)
        starts = range(0, ids.numel(), ids.shape[1])
        others = [[("src", "ref").index(name) for name in way.split("+")[1:]] for _, way in rows]
        separators = self.tokenizer.separator, SEPARATORS[self.kind]
        pairs = token_pairs([each.ids for each in sequences], starts[: len(sequences)], *separators, others)
        return ids, mask, types, *pairs, len(sequences)


class Part(NamedTuple):
    """Rows of a batch whose loss is computed together.

    inputs    the input of one forward and backward pass, on the device; None if the rows need several passes
    """

    rows: list[int]
    inputs: tuple | None


@dataclass(eq=False)
class UnifiedTask(QualityTask):
    """Minimises a recipe's loss; only the encoder's low-rank changes and the head are trained.

    dtype    dtype of the matrix products in training
    batch_tokens    maximum number of tokens at once; None: the device's defaults
    shares   weights of the three ways in the score, fitted on the development data if all of it has source and reference
    synthetic    clean translations, from which each epoch makes rows with errors in addition to the judged rows
    """

    network: UnifiedNetwork
    inputs: UnifiedInputs
    development_inputs: UnifiedInputs
    dtype: torch.dtype = torch.float32
    batch_tokens: int | None = None
    shares: np.ndarray = field(default_factory=lambda: np.array([0.34, 0.33, 0.33]))
    synthetic: CleanPairs | None = None

    def __post_init__(self):
        super().__post_init__()
        self.budget = TokenBudget(self.device, self.batch_tokens)
        self.tokens_a_pass = self.batch_tokens or TOKENS_A_PASS[self.device.type]
        for module in self.network.modules():
            if isinstance(module, LowRankLinear):  # once rather than in each pass
                module.linear.weight.data = module.linear.weight.data.to(self.dtype)
        self._judged = self.inputs
        self._ahead: tuple[list[int], list[Part]] | None = None
        if self.synthetic is not None:
            self.rows += self.synthetic.rows_an_epoch

    @torch.inference_mode()
    def standardise(self) -> None:
        """Set the constants that standardise token matches from some training rows, before the first step.

        A feature without results keeps the mean 0 and the deviation 1.
        """
        self.network.eval()
        draw = np.random.default_rng([self.recipe.seed, 3])
        chosen = draw.permutation(len(self.inputs.rows))[:STANDARDISED_BY].tolist()
        matched = []
        for row in chosen:
            for way in self.inputs.ways(row):
                ids, mask, types, *pairs, _ = self.on_device(self.inputs.padded([(row, way)]))
                with self._autocast():
                    states = self.network.states(ids, mask, types)
                matched.append(self.network.matched(states, pairs))
        matching = self.network.matching
        for k, column in enumerate(torch.cat(matched).flatten(1).unbind(1)):
            there = column[column != 0]
            if len(there) > 1:
                matching.mean[k], matching.deviation[k] = there.mean(), there.std().clamp(min=LEAST_DEVIATION)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32)

    def optimizer(self) -> torch.optim.Optimizer:
        return adamw(self.network, self.recipe)

    def batches(self, progress: Progress) -> list[list[int]]:
        """Return batches of row numbers; make this epoch's synthetic rows, and draw how each segment is read."""
        if self.synthetic is not None:
            self._append(self.synthetic.rows(self.recipe.seed, progress.epoch))
        draw = np.random.default_rng([self.recipe.seed, progress.epoch, 2])
        self._drawn = draw.random(max(self.groups) + 1)
        if self.inputs.spoken is not None:
            bare = np.random.default_rng([self.recipe.seed, progress.epoch, 4]).random(max(self.groups) + 1) < BARE
            self.inputs.bare = frozenset(row for row, group in enumerate(self.groups) if bare[group])
        self._batches = self.batches_of(progress.epoch)
        return self._batches

    def has_pairs(self) -> bool:
        return self.synthetic is not None or super().has_pairs()

    def _append(self, made: TrainingSet) -> None:
        """Append rows to the judged ones, in the place of those of the epoch before."""
        judged = len(self.training)
        self.inputs = self._judged.with_more(made)
        for name in ("targets", "weights"):
            more = torch.tensor(getattr(made, name), dtype=torch.float32)
            setattr(self, name, torch.cat([getattr(self, name)[:judged], more]))
        self.centred = torch.cat([self.centred[:judged], torch.from_numpy(made.centred)])
        first = max(self.groups[:judged]) + 1
        numbers = {group: first + number for number, group in enumerate(dict.fromkeys(made.groups))}
        self.groups = [*self.groups[:judged], *(numbers[group] for group in made.groups)]

    def loss(self, batch: list[int], progress: Progress) -> torch.Tensor:
        """Return the loss; its gradient is already computed, in parts with few tokens and rows of similar length.

        While a GPU computes it, the next batch is read.
        """
        total = torch.zeros((), device=self.device)
        ahead, self._ahead = self._ahead, None
        for rows, inputs in self._read_parts(batch) if ahead is None or ahead[0] is not batch else ahead[1]:
            share = len(rows) / len(batch)
            if inputs is None:
                own = self._in_passes(self._passes(rows), share, progress)
            else:
                own = self.loss_of(self.outputs(inputs), rows) * share
                own.backward()
            total += own.detach()
        if self.device.type != "cpu" and progress.taken + 1 < len(self._batches):
            after = self._batches[progress.taken + 1]
            self._ahead = after, self._read_parts(after)
        return total

    def _read_parts(self, batch: list[int]) -> list[Part]:
        return [
            Part(rows, self.on_device(self.read(rows)) if len(self._passes(rows)) == 1 else None)
            for rows in self._parts(batch)
        ]

    def _in_passes(self, passes: Sequence[list[int]], share: float, progress: Progress) -> torch.Tensor:
        """Return the loss of rows that need several passes, with its gradient computed pass by pass.

        The loss compares rows of different passes. So the first round computes all values, and from them the loss and its
        gradient for each value; the second round computes each value again and passes its gradient on (Gao et al. 2021,
        "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup"). Only one pass is in memory at a time.
        """

        def values_of(number: int) -> torch.Tensor:
            torch.manual_seed((self.recipe.seed * 1_000_003 + progress.step) * 1_009 + number)  # the same dropout twice
            [values] = self.outputs(self.on_device(self.read(passes[number])))
            return values

        with torch.no_grad():
            values = torch.cat([values_of(number) for number in range(len(passes))])
        values.requires_grad_()
        loss = self.loss_of([values], [row for rows in passes for row in rows]) * share
        [gradient] = torch.autograd.grad(loss, values)
        for number, own in enumerate(gradient.split([len(rows) for rows in passes])):
            values_of(number).backward(own)
        return loss

    def _passes(self, part: list[int]) -> list[list[int]]:
        """Split a part whose segment alone costs more than tokens_a_pass; a row that does so is a pass of its own."""
        lengths = {row: self.inputs.tokens(row, self._way(row)) for row in part}
        passes: list[list[int]] = [[]]
        for row in sorted(part, key=lengths.__getitem__):
            if passes[-1] and cost(len(passes[-1]) + 1, lengths[row]) > self.tokens_a_pass:
                passes.append([])
            passes[-1].append(row)
        return passes

    def descend(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        optimizer.step()
        optimizer.zero_grad()

    def _parts(self, batch: list[int]) -> list[list[int]]:
        """Split a batch into parts that cost about tokens_a_pass, without splitting segments, short sequences first."""
        segments: dict[int, list[int]] = {}
        for row in batch:
            segments.setdefault(self.groups[row], []).append(row)
        lengths = {
            group: max(self.inputs.tokens(row, self._way(row)) for row in rows) for group, rows in segments.items()
        }
        parts: list[list[int]] = []
        for group in sorted(segments, key=lengths.__getitem__):
            if not parts or cost(len(parts[-1]) + len(segments[group]), lengths[group]) > self.tokens_a_pass:
                parts.append([])
            parts[-1] += segments[group]
        return parts

    def _way(self, row: int) -> str:
        """Return the way in which a row, like all rows of its segment, is read in this epoch."""
        ways = self.inputs.ways(row)
        if len(ways) == 1:
            return ways[0]
        shares = np.cumsum([WAYS[way] for way in ways])
        return ways[int(np.searchsorted(shares, self._drawn[self.groups[row]] * shares[-1], side="right"))]

    def read(self, batch: list[int]) -> tuple:
        return self._inputs_of(self.inputs, [(row, self._way(row)) for row in batch])

    def _inputs_of(self, inputs: UnifiedInputs, rows: Sequence[tuple[int, str]]) -> tuple:
        return inputs.padded(rows, self.device.type)

    def outputs(self, inputs: tuple) -> Sequence[torch.Tensor]:
        *read, rows = inputs
        with self._autocast():
            return [values[:rows] for values in self.network.outputs(*read)]

    def tensors(self) -> Mapping[str, torch.Tensor]:
        return learned(self.network)

    @torch.inference_mode()
    def values(self, inputs: UnifiedInputs) -> np.ndarray:
        """Return the network's value for each row: float64 [n].

        This is the value of the only way in which a row can be read, or the sum of all three ways weighted by `shares`,
        which are fitted here.
        """
        self.network.eval()
        places = [(row, way) for row in range(len(inputs.rows)) for way in inputs.ways(row)]
        lengths = [inputs.tokens(row, way) for row, way in places]
        values = np.full((len(inputs.rows), len(WAYS)), np.nan)
        columns = {way: number for number, way in enumerate(WAYS)}

        def forward(part: Sequence[int]) -> list[float]:
            [scores] = self.outputs(self.on_device(self._inputs_of(inputs, [places[i] for i in part])))
            return scores.tolist()

        for batch in token_batches(lengths, self.budget.tokens):
            sizes = [lengths[i] for i in batch]
            for part, scores in self.budget.split(batch, sizes, forward, f"row of {{total}} tokens; {SMALLER}"):
                for i, score in zip(part, scores, strict=True):
                    values[places[i][0], columns[places[i][1]]] = score
        if not np.isfinite(values).all():
            return np.nanmean(values, 1)
        self.shares = self.development.shares(values)
        return values @ self.shares


def learn_unified(
    architecture: Architecture,
    recipe: Recipe,
    training: TrainingSet,
    development: DevelopmentSet,
    *,
    out: Path,
    engine: EngineOptions = EngineOptions(),
    languages: Sequence[str] | None = None,
    source_languages: Sequence[str] | None = None,
    notes: dict[str, Any] | None = None,
    init: Path | None = None,
    init_share: float = 0.0,
    window: int | None = None,
    spoken: Mapping[str, str | None] = {},
    synthetic: CleanPairs | None = None,
) -> TrainingResult:
    """Train a model and write it to `out`: model.safetensors and config.json in the format of models.comet.adapted.

    init_share   share of the initial weights in the result, init_share * initial + (1 - init_share) * learned, which is
                 often better both on the initial model's data and on the new data (Wortsman et al. 2022)
    spoken       the target language of each data set, for language tags
    synthetic    clean translations from which it also learns the cost of errors

    Everything else, including resuming after an interruption, is as in training.quality.learn.learn. Of the engine, dtype
    bf16 applies to the matrix products in training.
    """
    dtype = training_dtype(engine.dtype)
    model = hub.resolve(architecture.encoder)
    settings = EncoderFolder(model.folder).config
    tokenizer = TextTokenizer(model.folder)
    positions = settings["max_position_embeddings"] - 2  # as in models.comet.model
    config = {
        "model_type": ADAPTED_KIND,
        "encoder": encoder_name(architecture.encoder),
        "encoder_ckpt": model.ckpt,
        "encoder_model": encoder_kind(settings, tokenizer),
        "languages": None if languages is None else list(languages),
        "source_languages": None if source_languages is None else list(source_languages),
        "rank": architecture.rank or RANK,
        "inputs": architecture.inputs,
        "max_length": min(architecture.max_length or positions - 4, positions - 4),
        "network": {"hidden": architecture.feedforward or HEAD_WIDTH},
        **({"tag": True} if architecture.language_tag else {}),
        **({"plain_quotes": True} if architecture.plain_quotes else {}),
    }
    device = resolve_device(engine.device)
    torch.manual_seed(recipe.seed)
    network = new_network(model.folder, config["rank"], config["network"]["hidden"], fused=device.type == "cuda")
    if init is not None:
        flags = {"tag": "--language-tag", "plain_quotes": "--plain-quotes"}
        given = matching_config(init, config, ("model_type", "encoder_ckpt", "network"), flags)
        if given["rank"] > config["rank"]:
            raise InputError(
                f"{init} has rank {given['rank']}, not {config['rank']}", fix=f"give --rank {given['rank']} or more"
            )
        if not {*config["inputs"].split("+")} <= {*given["inputs"].split("+")}:
            raise InputError(
                f"{init} reads {given['inputs']}, not {architecture.inputs}",
                fix="start from a model that reads all of it",
            )
        restore(network, AdaptedCheckpoint(init), MEAN, DEVIATION)
    first = {name: tensor.clone() for name, tensor in learned(network).items()} if init_share else {}
    texts = [*training.hypotheses, *training.references, *training.sources]
    fingerprint = {
        "network, encoder or languages": config,
        "recipe": asdict(recipe),
        "number format": str(dtype),
        "training data": digest(texts, after=training.targets.tobytes() + training.weights.tobytes()),
        "development data": digest([*development.hypotheses, *development.references, *development.sources]),
        "first weights": None if init is None else [read_config(init)["weights_sha256"], init_share],
    }
    if architecture.language_tag:
        fingerprint["languages of the data sets"] = {name: language_tag(language) for name, language in spoken.items()}
        _say_unknown([name for name, language in spoken.items() if not language])
    if synthetic is not None:
        fingerprint["synthetic errors"] = [synthetic.digest(), synthetic.as_json()]
    check_tf32(device, dtype)
    claim(out, fingerprint, device)
    reading = tokenizer, config["encoder_model"], positions, config["max_length"]
    tagged = spoken if architecture.language_tag else None
    inputs = [UnifiedInputs(each, *reading, tagged, architecture.plain_quotes) for each in (training, development)]
    for each, what in zip(inputs, ("training", "development"), strict=True):
        check_tokens(each.tokenless, what)
        if each.cut:
            cut = counted(each.cut, f"{what} text was", f"{what} texts were")
            notice(f"{cut} cut to {config['max_length']} tokens")
    with memory_for("the training", device, SMALLER):
        sets = training, inputs[0], development, inputs[1]
        task = UnifiedTask(network, recipe, *sets, device, dtype, engine.batch_tokens, synthetic=synthetic)
        if init is None:
            task.standardise()
        loop = Loop(task, out / STATE, fingerprint, engine.quiet)
        loop.train()
        round_as_stored(network, DEVIATION)
        if first:
            for name, tensor in learned(network).items():
                tensor.copy_(init_share * first[name].to(tensor.device) + (1 - init_share) * tensor)
            round_as_stored(network, DEVIATION)
        told = {"rows": len(training), "init": None if init is None else init.name, "init_share": init_share}
        if synthetic is not None:
            config["synthetic"] = synthetic.as_json()
        config["training"] = {**asdict(recipe), **told, "dtype": engine.dtype, "window": window}
        values = task.values(inputs[1])
        config["shares"] = task.shares.tolist()
        score = development.score(values) if first else None
        return written(out, config, stored(network, MEAN, DEVIATION), loop, development, values, notes, score)


def _say_unknown(datasets: Sequence[str]) -> None:
    if datasets:
        sets, named = counted(len(datasets), "data set", "data sets"), ", ".join(datasets[:3])
        more = ", ..." if len(datasets) > 3 else ""
        notice(
            f"--language-tag: the target language of {sets} is unknown ({named}{more}), so the outputs have no tag; "
            "give the pair with -l"
        )
