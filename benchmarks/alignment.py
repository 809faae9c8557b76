"""How well documents are aligned whose lines are merged and split, or miss and add sentences, beside mweralign.

    python benchmarks/alignment.py --data DIR [--mweralign PYTHON] [--documents 40] [--systems 3] > tables.md

DIR holds wmt22_general, wmt22_mqm and wmt24_esa. Every second document is used: the prices were set on the others. mweralign
(GPL-3) is installed apart, and PYTHON is the interpreter that has it and sentencepiece. It gets references, one line of text
for each document (-d), the language (-l), and a SentencePiece model of 8,000 pieces (-m) with identity normalisation and all
characters, trained on the references and outputs of the pair.

Each text is aligned with references, with references and sources, and with sources.

Boundaries: the share of the places between two segments that are found to the letter.
  broken     each line break stays with a chance of one half, and others come after every 25th word (50th character of a
             language without spaces), also inside sentences
  bare       the same, and without punctuation in the output
  own        the output's own lines
mweralign reads one stream, without line breaks.
Omissions and additions: some lines are left out, or sentences of the same system's outputs for other documents are added,
and half of the line breaks are removed. Outputs that say something four times in a row are left out: part of that belongs to
no segment either. An addition is found if more than half of its letters are in additions; one that is reported is right if
more than half of its letters were added.
False omissions: the share of all segments of unchanged outputs; and, beside their sources, of whole documents of WMT25,
whose paragraphs mostly come from language models, which paraphrase.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from alignment_texts import (
    PAIRS,
    Document,
    boundaries,
    broken,
    found_boundaries,
    letters,
    loops,
    read_pair,
    spaced,
    translated_whole,
    with_additions,
    with_omissions,
    without_punctuation,
)
from tabulate import tabulate

from ctx_metrics.align.alignment import Aligner, Alignment
from ctx_metrics.align.alignment import Document as Unaligned

SHARES = (0.05, 0.2)
VARIANTS = ("broken", "bare", "own")
WAYS = ("references", "both", "sources")


def chosen(data: Path, pair: str, documents: int, systems: int) -> list[Document]:
    """Evenly spaced documents among those with even numbers."""
    even = [each for each in read_pair(data, pair, systems) if each.number % 2 == 0]
    names = list(dict.fromkeys(each.name for each in even))
    kept = {*spaced(names, documents)}
    return [each for each in even if each.name in kept]


def varied(document: Document, variant: str) -> tuple[Document, str]:
    """The output whose lines are to be found, and the text that is given."""
    if variant == "own":
        return document, "\n".join(document.hypotheses)
    output = without_punctuation(document) if variant == "bare" else document
    return output, broken(output, variant)


def aligned(pair: str, way: str, documents: Sequence[Document], texts: Sequence[str]) -> list[Alignment]:
    target, across = pair.split("-")[1], way == "sources"
    unaligned = (
        Unaligned(text, each.sources if across else each.references, each.sources if way == "both" else None)
        for text, each in zip(texts, documents, strict=True)
    )
    return [*Aligner(target, across=across, beside=way == "both").align(unaligned)]


def share(hits: int, total: int) -> str:
    return f"{hits / total:.3f}" if total else "-"


def shared(outputs: Sequence[Document], found: Sequence[Sequence[int]]) -> str:
    """The share of the outputs' boundaries that were found."""
    pairs = [
        each
        for output, own in zip(outputs, found, strict=True)
        for each in zip(boundaries(output.hypotheses), own, strict=True)
    ]
    return share(sum(true == got for true, got in pairs), len(pairs))


def by_mweralign(
    python: str, model: Path, documents: Sequence[Document], outputs: Sequence[Document]
) -> list[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("ref", "hyp", "ids", "out")}
        ids = [f"document{number}" for number, each in enumerate(documents) for _ in each.references]
        streams = [each.on_one_line(each.hypotheses) for each in outputs]
        for name, lines in (
            ("ref", [line for each in documents for line in each.references]),
            ("ids", ids),
            ("hyp", streams),
        ):
            files[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
        given = ["-r", files["ref"], "-t", files["hyp"], "-d", files["ids"], "-o", files["out"], "-m", model]
        command = [python, "-m", "mweralign.mweralign", *given, "-l", documents[0].languages[1]]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        lines = iter(files["out"].read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    found = [[next(lines) for _ in each.references] for each in documents]
    assert next(lines, None) is None
    return found


def trained(python: str, documents: Sequence[Document], folder: Path) -> Path:
    """A SentencePiece model of the target language."""
    text, model = folder / "text", folder / "pieces"
    lines = dict.fromkeys(line for each in documents for line in (*each.references, *each.hypotheses))
    text.write_text("\n".join(lines), encoding="utf-8")
    options = "vocab_size=8000, hard_vocab_limit=False, character_coverage=1.0, normalization_rule_name='identity'"
    train = (
        f"SentencePieceTrainer.train(input='{text}', model_prefix='{model}', minloglevel=2, num_threads=1, {options})"
    )
    subprocess.run([python, "-c", f"from sentencepiece import SentencePieceTrainer; {train}"], check=True)
    return model.with_suffix(".model")


def boundaries_table(of_pairs: dict[str, list[Document]], data: Path, python: str | None) -> str:
    rows = []
    for pair, documents in of_pairs.items():
        with tempfile.TemporaryDirectory() as folder:
            model = trained(python, read_pair(data, pair, 3), Path(folder)) if python else None
            for variant in VARIANTS:
                outputs, texts = zip(*(varied(each, variant) for each in documents), strict=True)
                row = [pair, variant, sum(len(each.references) - 1 for each in documents)]
                for way in WAYS:
                    found = aligned(pair, way, documents, texts)
                    row.append(shared(outputs, list(map(found_boundaries, found, texts))))
                if python and model:
                    aligned_lines = by_mweralign(python, model, documents, outputs)
                    row.append(shared(outputs, list(map(boundaries, aligned_lines))))
                rows.append(row)
    heads = ["pair", "text", "boundaries", *WAYS, "mweralign, with references"]
    return tabulate(rows, heads[: len(rows[0])], "github", disable_numparse=True)


def precision_and_recall(counts: Sequence[int]) -> list[str]:
    """counts    right ones among the reported, reported, found ones among the true, true"""
    right, reported, found, true = counts
    return [share(right, reported), share(found, true)]


def count_omissions(found: Alignment, true: set[int]) -> list[int]:
    right = len(true & set(found.omissions))
    return [right, len(found.omissions), right, len(true)]


def count_additions(found: Alignment, output: Document, true: set[int]) -> list[int]:
    """The output's lines with these numbers were added."""
    was_added = [number in true for number, line in enumerate(output.hypotheses) for _ in letters(line)]
    is_added, place = [False] * len(was_added), 0
    right = 0
    spans = sorted([(each.begin, each.end, False, each.text) for each in found.links])
    spans = sorted(spans + [(each.begin, each.end, True, each.text) for each in found.additions])
    for _, _, added, text in spans:
        end = place + len(letters(text))
        if added:
            is_added[place:end] = [True] * (end - place)
            right += sum(was_added[place:end]) * 2 > end - place
        place = end
    begin, hits = 0, 0
    for number, line in enumerate(output.hypotheses):
        end = begin + len(letters(line))
        hits += number in true and sum(is_added[begin:end]) * 2 > end - begin
        begin = end
    return [right, len(found.additions), hits, len(true)]


def changes_table(of_pairs: dict[str, list[Document]]) -> str:
    rows: list[list[str]] = []
    totals: dict[tuple[str, float, str], list[int]] = {}
    of_pairs = {pair: [each for each in every if not loops(each)] for pair, every in of_pairs.items()}
    for pair, documents in of_pairs.items():
        row = [pair, str(len(documents))]
        for what, change, count in changes(documents):
            for rate in SHARES:
                changed = [change(each, rate) for each in documents]
                texts = [broken(output, f"{what} {rate}", inside=False) for output, _ in changed]
                for way in WAYS:
                    found = aligned(pair, way, documents, texts)
                    each = [count(*of_one) for of_one in zip(found, *zip(*changed, strict=True), strict=True)]
                    counts = [sum(column) for column in zip(*each, strict=True)]
                    so_far = totals.get((what, rate, way), [0] * 4)
                    totals[what, rate, way] = [a + b for a, b in zip(so_far, counts, strict=True)]
                    row.append(" / ".join(precision_and_recall(counts)))
        rows.append(row)
    of_all = (" / ".join(precision_and_recall(counts)) for counts in totals.values())
    rows.append(["all", str(sum(map(len, of_pairs.values()))), *of_all])
    heads = [f"{what} {rate:.0%}, {way}" for what in ("omitted", "added") for rate in SHARES for way in WAYS]
    return tabulate(rows, ["pair", "documents", *heads], "github", disable_numparse=True)


def changes(documents: Sequence[Document]) -> list[tuple[str, Callable, Callable]]:
    return [
        ("omitted", with_omissions, lambda found, output, true: count_omissions(found, true)),
        ("added", lambda each, rate: with_additions(each, rate, documents), count_additions),
    ]


def false_table(of_pairs: dict[str, list[Document]]) -> str:
    rows = []
    for pair, documents in of_pairs.items():
        row = [pair, sum(len(each.references) for each in documents)]
        for variant in ("own", "broken"):
            texts = [varied(each, variant)[1] for each in documents]
            for way in WAYS:
                found = aligned(pair, way, documents, texts)
                omitted = share(sum(len(each.omissions) for each in found), row[1])
                added = sum(len(letters(text.text)) for each in found for text in each.additions)
                row.append(f"{omitted} / {share(added, sum(len(letters(text)) for text in texts))}")
        rows.append(row)
    heads = [f"{variant}, {way}" for variant in ("own lines", "broken") for way in WAYS]
    return tabulate(rows, ["pair", "segments", *heads], "github", disable_numparse=True)


def whole_table(of_pairs: dict[str, list[Document]]) -> str:
    rows = []
    for pair, documents in of_pairs.items():
        row = [pair, len(documents), sum(len(each.sources) for each in documents)]
        for variant in ("own", "broken"):
            texts = [varied(each, variant)[1] for each in documents]
            found = aligned(pair, "sources", documents, texts)
            ends = [found_boundaries(each, text) for each, text in zip(found, texts, strict=True)]
            omitted = share(sum(len(each.omissions) for each in found), row[2])
            row.append(f"{shared(documents, ends)} / {omitted}")
        rows.append(row)
    heads = ["pair", "outputs", "paragraphs", "own lines", "broken"]
    return tabulate(rows, heads, "github", disable_numparse=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--mweralign", help="a Python that has mweralign and sentencepiece")
    parser.add_argument("--documents", type=int, default=40, help="most documents of a pair")
    parser.add_argument("--systems", type=int, default=3)
    parser.add_argument("--pairs", nargs="+", default=PAIRS)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    of_pairs = {pair: chosen(args.data, pair, args.documents, args.systems) for pair in args.pairs}
    print(boundaries_table(of_pairs, args.data, args.mweralign), flush=True)
    print("\nOmissions and additions: precision / recall\n\n" + changes_table(of_pairs), flush=True)
    print("\nUnchanged outputs: omitted segments / added letters\n\n" + false_table(of_pairs), flush=True)
    whole = translated_whole(args.data, args.documents)
    print("\nWhole documents of WMT25 and their sources: boundaries / omitted paragraphs\n\n" + whole_table(whole))


if __name__ == "__main__":
    main()
