"""Builds the networks that tell `align` where sentences begin.

    python benchmarks/sentence_begins.py --data DIR --out FOLDER

DIR holds wmt18_19_sys/wmt18_19_sys.tar.xz and wmt25_teacher/wmt25_teacher.tsv.xz. There is one network for the multilingual
encoder and one for the English one, each at the layer that alignment reads. Most texts have no punctuation. Ends of
sentences are those that align/stream.py finds before it is taken away, and ends of lines.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from alignment_texts import UNSPACED, is_mark, read_whole
from embedded_regressor import unpacked
from sklearn.metrics import average_precision_score
from torch import nn

from ctx_metrics.align.alignment import ENGLISH_LAYER, MULTILINGUAL_LAYER
from ctx_metrics.align.first_attention import FirstAttention
from ctx_metrics.align.stream import joined, places
from ctx_metrics.align.vectors import token_vectors
from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import READ_BY_MULTILINGUAL
from ctx_metrics.models.folder import write_model
from ctx_metrics.models.hub import EMBEDDED, MULTILINGUAL, resolve
from ctx_metrics.sentences import sentence_ends

LAYERS = {"english": ENGLISH_LAYER, "multilingual": MULTILINGUAL_LAYER}
LINES = 15  # of news, in one text
LEAST, MOST = 100, 6000  # letters of a text


@dataclass(frozen=True)
class Recipe:
    """How texts are chosen and networks are fitted. Written into the model's config.

    letters, unspaced_letters, english_letters    of each language; of one without spaces; and of English for its own encoder
    bare, lower    shares of texts without punctuation, and of these without capitals
    held_out       share of each language's texts that no network learns from
    """

    letters: int = 360_000
    unspaced_letters: int = 1_200_000
    english_letters: int = 3_600_000
    bare: float = 0.6
    lower: float = 0.15
    held_out: float = 0.2
    hidden: int = 64
    epochs: int = 8
    batch: int = 2048
    learning_rate: float = 3e-3
    weight_decay: float = 1e-2
    seed: int = 5


class Text(NamedTuple):
    """A text, and where its sentences begin."""

    text: str
    begins: set[int]


def documents(data: Path) -> dict[str, list[list[str]]]:
    """The lines of documents by language: references and sources of WMT18 and WMT19; sources and outputs of WMT25, without
    the documents of the tables."""
    found: dict[str, list[list[str]]] = {}
    with unpacked(data / "wmt18_19_sys/wmt18_19_sys.tar.xz") as folder:
        for path in sorted(folder.glob("WMT*/*/newstest*")):
            lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
            for first in range(0, len(lines), LINES):
                found.setdefault(path.suffix[1:], []).append(lines[first : first + LINES])
    for each in read_whole(data, held_out=False):
        for language, lines in zip(each.languages, (each.sources, each.hypotheses), strict=True):
            found.setdefault(language, []).append(lines)
    return {language: _different(every) for language, every in sorted(found.items())}


def _different(every: Sequence[list[str]]) -> list[list[str]]:
    """Documents without empty lines, one of those that begin alike."""
    tidy = [[line for line in (" ".join(text.split()) for text in lines) if line] for lines in every]
    return list({lines[0]: lines for lines in tidy if lines}.values())


def texts(language: str, every: Sequence[list[str]], letters: int, recipe: Recipe) -> Iterator[Text]:
    """Texts of a language, in random order, until they have as many letters as are asked for.

    every    the lines of its documents
    """
    chance = random.Random(f"{language} {recipe.seed}")
    total = 0
    for lines in chance.sample(every, len(every)):
        bare, lower = chance.random() < recipe.bare, chance.random() < recipe.lower
        between = "" if language in UNSPACED else " "
        text, begins = "", set()
        for sentence in _sentences(lines):
            if bare:
                words = "".join(" " if is_mark(c) else c for c in sentence).split()
                sentence = between.join(words).lower() if lower else between.join(words)
            if sentence:
                text += between * bool(text)
                begins.add(len(text))
                text += sentence
        text = text[:MOST]
        if len(text) >= LEAST and joined(text).text == text:
            yield Text(text, begins)
            if (total := total + len(text)) > letters:
                return


def _sentences(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        begin = 0
        for end in dict.fromkeys([*sentence_ends(line), len(line)]):
            yield line[begin:end].strip()
            begin = end


class Tokens(NamedTuple):
    """Vectors of the tokens of many texts, each text after a row of zeros, fp16 [rows, width]; the rows of those with
    which a sentence may begin, [tokens]; and whether one does."""

    vectors: torch.Tensor
    rows: np.ndarray
    begin: np.ndarray


def tokens(encoder: TextEncoder, layer: int, of_language: Sequence[Text]) -> Tokens:
    vectors, rows, begin, done = [], [], [], 0
    read = token_vectors(encoder, layer, [[each.text] for each in of_language])
    for (text, begins), own in zip(of_language, read, strict=True):
        unit, at = own.vectors, own.begins
        is_open = places(joined(text)).open[at] & (np.diff(at, prepend=-1) > 0)
        is_open[0] = False
        vectors += [torch.zeros(1, unit.shape[1], dtype=torch.float16), unit]
        rows.append(done + 1 + np.flatnonzero(is_open))
        begin.append(np.isin(at[is_open], list(begins)))
        done += 1 + len(unit)
    return Tokens(torch.cat(vectors), np.concatenate(rows), np.concatenate(begin))


def inputs(of_language: Tokens) -> torch.Tensor:
    """The vectors of the token before, and of the token itself, fp16 [tokens, 2 * width]."""
    rows = of_language.rows
    return torch.cat([of_language.vectors[rows - 1], of_language.vectors[rows]], 1)


def fitted(learned: Mapping[str, Tokens], recipe: Recipe) -> nn.Sequential:
    """A network fitted to all languages; each counts by the root of its number of tokens."""
    torch.manual_seed(recipe.seed)
    x = torch.cat([inputs(each) for each in learned.values()])
    y = torch.from_numpy(np.concatenate([each.begin for each in learned.values()])).float()
    weights = torch.cat([torch.full((len(each.rows),), len(each.rows) ** -0.5) for each in learned.values()])
    weights /= weights.mean()
    network = nn.Sequential(nn.Linear(x.shape[1], recipe.hidden), nn.Tanh(), nn.Linear(recipe.hidden, 1))
    optimizer = torch.optim.AdamW(network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    batches = len(x) // recipe.batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.learning_rate, total_steps=recipe.epochs * batches + 1
    )
    for _ in range(recipe.epochs):
        for own in torch.randperm(len(x))[: batches * recipe.batch].view(batches, -1):
            logits = network(x[own].float())[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(logits, y[own], weights[own])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network.eval()


def parts(network: nn.Sequential) -> dict[str, torch.Tensor]:
    """The network's weights by the names that align/sentence_begins.py reads."""
    first, last = network[0], network[2]
    before, own = first.weight.chunk(2, 1)
    named = {"before": before, "own": own, "bias": first.bias, "value": last.weight[0], "offset": last.bias}
    return {part: tensor.half() for part, tensor in named.items()}


def main() -> None:
    """Fit the networks, print their average precision on the texts that are held out, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the WMT data")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    recipe, every = Recipe(), documents(args.data)
    tensors, precision, numbers = {}, {}, {}
    for label, layer in LAYERS.items():
        english = label == "english"
        folder = resolve(EMBEDDED if english else MULTILINGUAL).folder
        encoder = TextEncoder(FirstAttention(folder) if english else folder, EngineOptions(device="cpu", quiet=True))
        learned, held = {}, {}
        for language in ["en"] if english else [each for each in every if each in READ_BY_MULTILINGUAL]:
            wanted = recipe.unspaced_letters if language in UNSPACED else recipe.letters
            chosen = list(texts(language, every[language], recipe.english_letters if english else wanted, recipe))
            cut = round(len(chosen) * (1 - recipe.held_out))
            learned[language], held[language] = (tokens(encoder, layer, some) for some in (chosen[:cut], chosen[cut:]))
        network = fitted(learned, recipe)
        tensors |= {f"{label}.{part}": tensor for part, tensor in parts(network).items()}
        with torch.inference_mode():
            precision[label] = {
                language: round(float(average_precision_score(own.begin, network(inputs(own).float())[:, 0])), 3)
                for language, own in held.items()
            }
        numbers[label] = sum(len(each.rows) for each in learned.values())
        print(label, numbers[label], precision[label], flush=True)
    config = {"training": asdict(recipe), "tokens": numbers, "average precision, held out": precision}
    write_model(args.out, config, tensors)


if __name__ == "__main__":
    main()
