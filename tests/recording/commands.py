"""The commands that are recorded, as they would be typed in a folder with the files that inputs.py writes.

A line is a command, and a line that is further to the right runs in the folder that the one above it has left behind; every
other one gets fresh copies of the files. `< FILE` and `NAME=VALUE` before a command mean what they mean in a shell, and
`values EXPRESSION` is `python values.py EXPRESSION`. The commands of README.md, docs/ and tests/bad_input.md are read from there.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Command(NamedTuple):
    name: str  # its group and its line
    argv: list[str]
    env: dict[str, str]
    stdin: str | None


class Chain(NamedTuple):
    """Commands that run in one folder, one after the other."""

    inputs: str  # the folder of inputs.py that is copied
    commands: list[Command]


# Every metric alone: its flags beside -m, with one and with several systems

ONE = "ref.en.txt -i system_a.en.txt -l de-en"
SEVERAL = "ref.en.txt -i system_a.en.txt system_b.en.txt system_c.en.txt -l de-en"
PSEUDO = "--pseudo-refs system_b.en.txt system_c.en.txt"
ROUND = "roundtrip/source.en.txt --source roundtrip/source.en.txt -i roundtrip/system_x.de.txt -l en-de --roundtrip roundtrip/system_x.rtt.en.txt"
ROUNDS = (
    "roundtrip/source.en.txt --source roundtrip/source.en.txt -i roundtrip/system_x.de.txt roundtrip/system_y.de.txt -l en-de"
    " --roundtrip roundtrip/system_x.rtt.en.txt roundtrip/system_y.rtt.en.txt"
)
DOCUMENTS = "--docids docids.txt"
METRICS = {
    **{
        name: (f"{ONE} -m {name}", f"{SEVERAL} -m {name}")
        for name in ("bertr", "bertscore", "bilstm", "bilstmatt", "comet", "esim")
    },
    **{name: (f"{ONE} -m {name}", f"{SEVERAL} -m {name}") for name in ("meteor", "nist")},
    "slide": (f"{ONE} -m slide {DOCUMENTS}", f"{SEVERAL} -m slide {DOCUMENTS}"),
    "doccomet": tuple(
        f"{files} -m doccomet {DOCUMENTS} --source source.de.txt --doccomet-model tiny-regression"
        for files in (ONE, SEVERAL)
    ),
    "pairwise": (f"{ONE} -m pairwise --pairwise-against system_b.en.txt", f"{SEVERAL} -m pairwise"),
    **{
        name: (f"{ONE} -m {name} {PSEUDO}", f"{SEVERAL} -m {name} {PSEUDO}")
        for name in ("prsentbleu", "prbleu", "prchrf")
    },
    **{
        f"rtt{name}": (f"{ROUND} -m rtt{name}", f"{ROUNDS} -m rtt{name}")
        for name in ("bleu", "sentbleu", "chrf", "sbert", "bertscore")
    },
}


def metrics_alone() -> Iterator[str]:
    for one, several in METRICS.values():
        yield f"sacrebleu {one} -w 8 --confidence --confidence-n 40"
        yield f"sacrebleu {one} -sl -b -w 8 --short"
        yield f"sacrebleu {several} -f text --paired-bs --paired-bs-n 40"
        yield f"sacrebleu {several} -f latex --paired-ar --paired-ar-n 40 -j 2"
        yield f"sacrebleu {several} --ctx-seg-scores out -q"
    for name in ("bleu", "chrf", "ter"):
        yield f"sacrebleu {SEVERAL} -m {name} --ctx-seg-scores out {DOCUMENTS}"


SACREBLEU = """
sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -l de-en -m bleu chrf ter bertr bertscore bilstm bilstmatt comet esim meteor nist pairwise slide prsentbleu --pseudo-refs system_c.en.txt --docids docids.txt -w 6
sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -l de-en -m bleu chrf bertr slide --docids docids.txt --paired-bs --paired-bs-n 50 --ctx-resample document -j 2
sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -l de-en -m bleu chrf bertr slide --docids docids.txt --paired-ar --paired-ar-n 50 --ctx-resample document -f text
sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -l de-en -m bleu bertr comet -f latex
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bleu chrf comet --confidence --confidence-n 50 --ctx-resample document --docids docids.txt -f text
sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -l de-en -m bleu comet slide --docids docids.txt --ctx-report page.html --ctx-names One Two --paired-ar --paired-ar-n 50
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertr -l de-en --ctx-cache kept
  sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -l de-en -m bertr bertscore --ctx-cache kept
sacrebleu ref.en.txt system_b.en.txt -i system_a.en.txt -l de-en -m bertr bertscore comet esim --bertr-multiref mean --bertscore-multiref mean --comet-multiref mean --esim-multiref mean -w 6
sacrebleu ref.en.txt system_b.en.txt -i system_a.en.txt -l de-en -m bilstm bilstmatt slide doccomet --bilstm-multiref mean --bilstmatt-multiref mean --slide-multiref mean --doccomet-multiref mean --doccomet-model tiny-regression --source source.de.txt --docids docids.txt -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertr --bertr-layers 3,4,5 -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertr --bertr-layers mean --bertr-max-length 9 -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertr bertscore --bertr-layers concat_last4 --bertscore-layers concat_last4 -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertr --bertr-model encoder-bert -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertr bertscore --bertr-model encoder-xlmr --bertscore-model encoder-rembert -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertscore --bertscore-model encoder-xl --bertscore-layers 1 --bertscore-score r --bertscore-idf paper -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertscore --bertscore-score p --bertscore-idf plus-one --bertscore-max-length 12 -w 6
sacrebleu source.de.txt -i source.de.txt -l en-de -m bertr bertscore comet slide --docids docids.txt -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bertr comet --bertr-model multilingual --comet-model multilingual --source source.de.txt -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m comet --comet-model multilingual --comet-inputs mt+ref -w 6
sacrebleu source.de.txt -i system_a.en.txt -l de-en -m comet slide --comet-model multilingual --slide-model multilingual --source source.de.txt --comet-inputs mt+src --slide-inputs mt+src --comet-average penalty --slide-average penalty --docids docids.txt -w 6
sacrebleu source.de.txt -i system_a.en.txt -l de-en -m comet slide --comet-model multilingual --slide-model multilingual --source source.de.txt --comet-inputs mt+src --slide-inputs mt+src --comet-average mean --slide-average mean --docids docids.txt -w 6
sacrebleu source.de.txt -i system_a.en.txt system_b.en.txt -l de-en -m comet --comet-model multilingual --source source.de.txt --comet-inputs mt+src --ctx-seg-scores out
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bilstm bilstmatt esim --bilstm-model random-bilstm --bilstmatt-model random-bilstmatt --esim-model random-esim --bilstm-on-long truncate --bilstmatt-on-long truncate --esim-on-long truncate -w 6
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bilstm bilstmatt esim --bilstm-model random-bilstm --bilstmatt-model random-bilstmatt --esim-model random-esim --bilstm-on-long error
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m bilstmatt --bilstmatt-model random-bilstmatt --bilstmatt-on-long error
sacrebleu ref.en.txt -i system_a.en.txt -l de-en -m esim --esim-model random-esim --esim-on-long error
sacrebleu source.de.txt -i system_a.en.txt -m esim --esim-model random-esim-source --source source.de.txt -w 6
sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -m pairwise --pairwise-model random-pairwise -w 6
sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt system_c.en.txt -m pairwise --pairwise-model random-pairwise-vectors --pairwise-baseline -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m meteor nist prbleu --meteor-stem porter --meteor-tokenize intl --nist-tokenize char --nist-lowercase --prbleu-tokenize none --prbleu-lowercase --pseudo-refs system_b.en.txt -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m meteor prsentbleu prchrf --meteor-stem none --prsentbleu-tokenize intl --prsentbleu-lowercase --prchrf-char-order 4 --prchrf-word-order 2 --prchrf-beta 3 --pseudo-refs system_b.en.txt --pseudo-filter none -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m prsentbleu --pseudo-refs system_b.en.txt system_c.en.txt --pseudo-filter mas --pseudo-threshold 0.6 --pseudo-guard off -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m prsentbleu prbleu --pseudo-refs system_b.en.txt system_c.en.txt --pseudo-filter mas --pseudo-vectors vectors.txt --pseudo-guard 0.1 -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m prsentbleu --pseudo-refs system_b.en.txt --pseudo-model classifier --pseudo-threshold 0.4 -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m prsentbleu --pseudo-refs system_b.en.txt --pseudo-model classifier-one -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m prsentbleu --pseudo-refs system_a.en.txt
sacrebleu roundtrip/source.en.txt --source roundtrip/source.en.txt -i roundtrip/system_x.de.txt -l en-de --roundtrip roundtrip/system_x.rtt.en.txt -m rttbleu rttsentbleu rttchrf --rttbleu-tokenize intl --rttbleu-lowercase --rttsentbleu-tokenize char --rttsentbleu-lowercase --rttchrf-average --rttchrf-char-order 5 --rttchrf-word-order 2 --rttchrf-beta 1 -w 6
sacrebleu roundtrip/source.en.txt --source roundtrip/source.en.txt -i roundtrip/system_x.de.txt -l en-de --roundtrip roundtrip/system_x.rtt.en.txt -m rttsbert rttbertscore --rtt-sbert-model sentence-mean --rtt-bertscore-model encoder-bert --rtt-bertscore-layers 2 --rtt-bertscore-idf none -w 6
sacrebleu roundtrip/source.en.txt --source roundtrip/source.en.txt -i roundtrip/system_x.de.txt -l en-de --roundtrip roundtrip/system_x.rtt.en.txt -m rttsbert rttbertscore --rtt-sbert-model sentence-dense --rtt-bertscore-idf paper --rtt-bt-name by-hand -w 6
sacrebleu roundtrip/source.en.txt --source roundtrip/source.en.txt -i roundtrip/system_x.de.txt -l en-de --roundtrip roundtrip/system_x.rtt.en.txt -m rttsbert rttbertscore --rtt-sbert-model multilingual --rtt-bertscore-model multilingual -w 6
sacrebleu words-2.txt -i words.txt -l en-de --source words-2.txt -m rttbleu rttchrf --rtt-bt hf:marian --rtt-beams 2 --rtt-max-length 9 --rtt-cache cache
sacrebleu words-2.txt -i words.txt -l en-de --source words-2.txt -m rttbleu rttchrf --rtt-bt 'cmd:sh reverse.sh' --rtt-bt-name backwards --rtt-batch-lines 5 --rtt-timeout 60 --rtt-cache none
sacrebleu ref.en.txt -i system_a.en.txt -m slide --slide-window 3 --slide-stride 2 --slide-partial include --docids docids.txt --slide-output slide.tsv -w 6
sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -m slide --slide-window 4 --slide-partial drop --docids docids.txt --slide-output slide.tsv -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m slide --slide-tokens 120 --docids docids.txt -f text -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m slide --slide-window 40 --slide-on-long error
sacrebleu ref.en.txt -i system_a.en.txt -m slide --slide-window 40 --slide-on-long truncate -w 6
sacrebleu ref.en.txt -i system_a.en.txt --source source.de.txt --docids docids.txt -m slide --slide-model tiny-xcomet --slide-spans --slide-output slide.tsv --ctx-seg-scores out -w 6
sacrebleu ref.en.txt -i system_a.en.txt --source source.de.txt --docids docids.txt -m doccomet --doccomet-model tiny-regression --doccomet-context 1 --doccomet-on-long truncate -w 6
sacrebleu source.de.txt -i system_a.en.txt --source source.de.txt --docids docids.txt -m doccomet --doccomet-model tiny-referenceless --doccomet-context 0 --doccomet-on-long error -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m bertr --ctx-dtype bf16 --ctx-device cpu --ctx-batch-tokens 200 --ctx-store-mb 1 -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m comet --ctx-dtype fp16 -w 6
sacrebleu ref.en.txt -i some-empty.txt -m bertr comet esim slide meteor nist -w 6
sacrebleu some-missing.txt -i some-empty.txt -m bertr comet bleu -w 6
sacrebleu ref.en.txt -i entities.txt -m comet -l de-en
sacrebleu ref.en.txt -i shifted.txt -m bertr -l de-en --source source.de.txt
sacrebleu ref.en.txt -i source.de.txt -m bertr -l de-en --source source.de.txt
sacrebleu ref.en.txt -i source.de.txt -m bertr -l de-en --source source.de.txt --ctx-no-text-checks
sacrebleu ref.en.txt -i latin1.txt -m chrf bertr -e latin-1 -w 6
sacrebleu ref.en.txt -m bertr -l de-en -b < system_a.en.txt
sacrebleu ref.en.txt -m bertr -l de-en < two.tsv
sacrebleu two-references.tsv -nr 2 -i system_a.en.txt -m bertr bleu -w 6
sacrebleu ref.en.txt -i system_a.en.txt -m bleu bertr -lc --tokenize intl -w 6
sacrebleu packed.a.txt.gz -i packed.b.txt.gz -m bertr
sacrebleu ref.en.txt -i system_a.en.txt -m bertr --bertr-model paper
sacrebleu --help
sacrebleu --version
sacrebleu --list
CTX_METRICS_NO_AUTOLOAD=1 sacrebleu ref.en.txt -i system_a.en.txt -m bleu chrf
CTX_METRICS_NO_AUTOLOAD=1 sacrebleu ref.en.txt -i system_a.en.txt -m bertr
python -m ctx_metrics ref.en.txt -i system_a.en.txt -m bertr -b
python -m sacrebleu ref.en.txt -i system_a.en.txt -m bertr -b
"""

CHECKPOINTS = (
    "regression regression-sparsemax regression-patch regression-layernorm regression-cls regression-bert regression-minilm "
    "regression-xl regression-default referenceless referenceless-rembert kiwi kiwi-bert unite-ref unite unite-rembert "
    "unite-words xcomet"
).split()
WITHOUT_REFERENCES = ("referenceless", "kiwi")


def checkpoints() -> Iterator[str]:
    for name in CHECKPOINTS:
        files = "source.de.txt" if name.startswith(WITHOUT_REFERENCES) else "ref.en.txt"
        model = f"--source source.de.txt --docids docids.txt --comet-model tiny-{name} --slide-model tiny-{name}"
        yield f"sacrebleu {files} -i system_a.en.txt system_b.en.txt {model} -m comet slide -w 6 --ctx-seg-scores out"
    for name in ("kiwi", "unite-words", "xcomet"):
        references = "" if name == "kiwi" else "-r ref.en.txt"
        yield f"ctx-metrics score -s source.de.txt -t system_a.en.txt {references} -m comet --comet-model tiny-{name} --comet-spans --format jsonl -q"
    for name in ("unite", "xcomet"):
        for texts in ("mt+src", "mt+ref", "mt+src+ref"):
            yield f"sacrebleu ref.en.txt -i system_a.en.txt --source source.de.txt -m comet --comet-model tiny-{name} --comet-inputs {texts} -w 6"
    for name in ("regression", "kiwi", "xcomet"):
        files = "source.de.txt" if name == "kiwi" else "ref.en.txt"
        yield f"ctx-metrics convert tiny-{name} converted"
        yield f"  sacrebleu {files} -i system_a.en.txt --source source.de.txt -m comet --comet-model converted -w 6"
    yield "sacrebleu ref.en.txt -i system_a.en.txt --source source.de.txt -m comet --comet-model tiny-regression --comet-on-long error"
    yield "sacrebleu source.de.txt -i system_a.en.txt --source source.de.txt -m comet --comet-model noenc"
    yield "ctx-metrics convert noenc converted"


PAPER = """
sacrebleu ref.en.txt -i system_a.en.txt -m bertr --bertr-model paper -l {}
sacrebleu ref.en.txt -i system_a.en.txt -m bertscore --bertscore-model paper -l {}
"""


def paper_models() -> Iterator[str]:
    """What the papers used for each target language: offline, the message names it."""
    for pair in ("de-en", "en-de", "en-zh"):
        yield from PAPER.format(pair, pair).split("\n")


SUBCOMMANDS = (
    "score annotate compare mbr rerank report meta train pairwise roundtrip filter-refs paraphrase doctor cite convert"
).split()
BELOW = [
    *("meta paraphrase", "train comet", "train bilstm", "train bilstmatt", "train esim", "train pairwise"),
    *("pairwise rank", "paraphrase train", "paraphrase score"),
]


def helps() -> Iterator[str]:
    yield from ("ctx-metrics", "ctx-metrics --help", "ctx-metrics --version", "ctx-metrics nonsense")
    for name in [*SUBCOMMANDS, *BELOW]:
        yield f"ctx-metrics {name} --help"
        yield f"ctx-metrics {name}" if name != "doctor" else "ctx-metrics doctor"
    for name in METRICS:
        yield f"ctx-metrics score -m {name} --help"


FILES = "-s source.de.txt -t system_a.en.txt system_b.en.txt system_c.en.txt -r ref.en.txt --docids docids.txt -l de-en"
SUB = f"""
ctx-metrics score {FILES} -m bertr bleu comet slide
ctx-metrics score {FILES} -m bertr bleu chrf ter comet slide esim meteor nist pairwise --format jsonl -q
ctx-metrics score {FILES} -m bertr comet slide --format tsv --level segment document system
ctx-metrics score {FILES} -m bertr comet slide --format json --only-system
ctx-metrics score {FILES} -m chrf slide --format csv -o scores.csv --level document
ctx-metrics score {FILES} -m chrf comet --format latex
ctx-metrics score {FILES} -m chrf comet --format markdown -w 3
ctx-metrics score {FILES} -m chrf comet --compare
ctx-metrics score {FILES} -m chrf bertr --compare --format json
ctx-metrics score {FILES} --slide-grid 3 --format tsv
ctx-metrics score {FILES} -m slide --slide-window 2 --slide-stride 1 --slide-partial include --format jsonl
ctx-metrics score {FILES} -m comet --scale 1 -w 6
ctx-metrics score {FILES} -m comet --model tiny-regression --format jsonl -q
ctx-metrics score {FILES} -m bertr chrf --resume kept --format tsv
  ctx-metrics score {FILES} -m bertr chrf comet --resume kept --format tsv
ctx-metrics score {FILES} -m bertr chrf --names A B C --unescape --no-text-checks -q
ctx-metrics score -s source.de.txt -t system_a.en.txt -l de-en -m comet
ctx-metrics score -s roundtrip/source.en.txt -t roundtrip/system_x.de.txt roundtrip/system_y.de.txt -l en-de -m comet --format jsonl
ctx-metrics score -m chrf bertr --columns src mt ref -l de-en --format tsv < columns.tsv
ctx-metrics score -t entities.txt -r ref.en.txt -l de-en -m bleu comet --unescape
ctx-metrics score -t latin1.txt -r ref.en.txt -e latin-1 -m chrf --format tsv
ctx-metrics score -t system_a.en.txt -r ref.en.txt -m bleu chrf ter --tokenize intl --lowercase --chrf-word-order 2 --chrf-beta 3 --smooth-method floor --smooth-value 0.2 --format tsv -w 9
ctx-metrics score -s roundtrip/source.en.txt -t roundtrip/system_x.de.txt -l en-de --roundtrip roundtrip/system_x.rtt.en.txt -m rttbleu rttsentbleu rttchrf rttsbert rttbertscore --format jsonl
ctx-metrics score -t system_a.en.txt -r ref.en.txt --pseudo-refs system_b.en.txt -m prsentbleu prbleu prchrf --format jsonl
ctx-metrics score -t system_a.en.txt -r ref.en.txt -l de-en -m comet --gpus 0 --quiet --to_json out.json
ctx-metrics score -t system_a.en.txt -r ref.en.txt -m comet --on ray --workers 1 --format tsv -q
ctx-metrics compare {FILES} -m comet chrf --samples 100
ctx-metrics compare {FILES} -m comet chrf bertr --samples 100 --format jsonl --no-holm --test randomization --seed 5
ctx-metrics compare {FILES} -m chrf slide --samples 50 --format json --resample segment --alpha 0.01
ctx-metrics compare {FILES} -m chrf bleu --samples 50 --format tsv
ctx-metrics compare {FILES} -m chrf bleu --samples 50 --format latex -w 2
ctx-metrics compare {FILES} -m chrf bleu --samples 50 --format markdown -o table.md
ctx-metrics compare {FILES} -m chrf --samples 50 --format csv --plot pairs.png
ctx-metrics compare {FILES} -m chrf --samples 50 --plot pairs.svg -o pairs.tex
ctx-metrics compare {FILES} -m chrf --samples 50 --plot pairs.pdf -q
ctx-metrics mbr system_a.en.txt system_b.en.txt system_c.en.txt -m bleu chrf --weights 1 0.5
ctx-metrics mbr system_a.en.txt system_b.en.txt system_c.en.txt -m comet bertr -l de-en --format jsonl -q
ctx-metrics mbr system_a.en.txt system_b.en.txt system_c.en.txt -s source.de.txt -m comet --model tiny-regression --top 2
ctx-metrics mbr system_a.en.txt system_b.en.txt system_c.en.txt -s source.de.txt -m comet --model tiny-unite --format jsonl -q
ctx-metrics mbr samples.txt -n 3 -m chrf --exclude-self -o best.txt
ctx-metrics mbr samples.txt -s source.de.txt -m meteor esim --top 1 --format nbest -l de-en
ctx-metrics mbr list.nbest -m chrf --references system_b.en.txt --format jsonl
ctx-metrics mbr candidates.tsv -m ter bilstm bilstmatt -l de-en --format jsonl
ctx-metrics mbr candidates.jsonl -m bertscore chrf -l de-en --format jsonl
ctx-metrics mbr generate.txt -m chrf --format jsonl
ctx-metrics mbr candidates.jsonl -m chrf --method aggregate --refine 2 --format jsonl
ctx-metrics mbr candidates.jsonl -m bleu --method prune --confidence 0.8 --format jsonl
ctx-metrics mbr candidates.jsonl -m chrf --method low-rank --share 0.5 --rank 2 --seed 4 --format jsonl
ctx-metrics mbr candidates.jsonl -m comet --model tiny-regression --method centroids --centroids 2 --format jsonl
ctx-metrics mbr candidates.jsonl -m comet --model tiny-regression --method aggregate --format jsonl
ctx-metrics mbr candidates.jsonl -m chrf --resume kept --format jsonl
  ctx-metrics mbr candidates.jsonl -m chrf --resume kept --format jsonl
ctx-metrics rerank system_a.en.txt system_b.en.txt system_c.en.txt -s source.de.txt -l de-en --format jsonl
ctx-metrics rerank list.nbest -s source.de.txt -m comet --model tiny-kiwi --top 2 --mix 0.5
ctx-metrics rerank list.nbest -s source.de.txt -m comet --model tiny-kiwi --tune ref.en.txt --tune-by bleu
ctx-metrics rerank candidates.jsonl -m comet --model tiny-referenceless -o top.nbest --top 2
  ctx-metrics mbr top.nbest -m chrf -s source.de.txt --format jsonl
ctx-metrics rerank system_a.en.txt system_b.en.txt -s source.de.txt --docids docids.txt -m slide --model tiny-kiwi --documents best --format jsonl
ctx-metrics rerank system_a.en.txt system_b.en.txt -s source.de.txt --docids docids.txt -m slide --model tiny-kiwi --documents path --beam 3 --format jsonl
ctx-metrics report {FILES} -m bleu chrf bertr comet slide -o page.html --tables table.tex table.md --texts texts.tsv
ctx-metrics report {FILES} -m chrf --resample segment --title Title --pearmut campaign.json --subset2evaluate items.jsonl --texts texts.csv -o page.html -q
ctx-metrics report -s source.de.txt -t system_a.en.txt -l de-en -m comet --comet-model tiny-kiwi --comet-spans -o page.html
ctx-metrics score {FILES} -m chrf bertr --format tsv -o scores.tsv
  ctx-metrics report {FILES} --scores scores.tsv -o page.html
ctx-metrics annotate table.tsv -o out -m chrf bertr comet slide -l de-en --block 20
ctx-metrics annotate table.csv -o out -m chrf bleu ter -l de-en --names one two three
ctx-metrics annotate table.jsonl -o out -m comet esim -l de-en --keep 'comet >= 50'
ctx-metrics annotate table.parquet -o out -m chrf slide -l de-en --top 20% --by slide
ctx-metrics annotate table.tsv.gz -o out -m chrf -l de-en --keep 'chrf > 30' 'chrf < 70' --top 5
ctx-metrics annotate table.tsv.xz -o out -m chrf -l de-en --drop none
ctx-metrics annotate table.tsv -o out -m chrf -l de-en --drop copies,wrong-language,repeats --columns mt=src ref=ref src=src
ctx-metrics annotate bare.tsv -o out --columns doc=1 src=2 mt=3 -l de-en -m comet slide
ctx-metrics annotate table.tsv -o out -m comet --model tiny-kiwi --no-text-checks --columns src=src mt=mt
ctx-metrics annotate table.tsv -o out -m prsentbleu prbleu prchrf --columns mt=mt ref=ref pseudo=other --pseudo-guard off
ctx-metrics annotate table.tsv -o out -m rttbleu rttchrf rttsbert --columns src=ref mt=mt rtt=other -l en-de
ctx-metrics annotate table.tsv -o out -m bertr bertscore bilstm bilstmatt meteor doccomet -l de-en --doccomet-model tiny-regression
ctx-metrics annotate table.tsv -o out -m chrf --block 20 -l de-en
  ctx-metrics annotate table.tsv -o out -m chrf --block 20 -l de-en
  ctx-metrics annotate table.tsv -o out -m bleu --block 20 -l de-en
ctx-metrics annotate table.tsv -o out -m chrf comet -l de-en --block 20 --on ray --workers 2
ctx-metrics meta judged.tsv -l de-en -m bleu chrf bertr comet slide --save-scores scores --resamples 60
  ctx-metrics meta judged.tsv -l de-en --scores scores -p sys-acc spa sys-pearson sys-spearman sys-kendall sys-pearson-no-outliers --resamples 60 --intervals
  ctx-metrics meta judged.tsv -l de-en --scores scores -p seg-pearson seg-spearman seg-kendall doc-pearson doc-spearman doc-kendall --resamples 60 --format json
  ctx-metrics meta judged.tsv -l de-en --scores scores -p acc-eq tau-23 darr wmt12 wmt13 wmt14 --resamples 60 --format json --all-pairs
  ctx-metrics meta judged.tsv -l de-en --scores scores -p seg-pearson acc-eq --average item --resamples 60 --format tsv
  ctx-metrics meta judged.tsv -l de-en --scores scores -p seg-pearson --average system --resamples 60 --format csv
  ctx-metrics meta judged.tsv -l de-en --scores scores -p seg-pearson --test williams --format latex
  ctx-metrics meta judged.tsv -l de-en --scores scores -p seg-pearson --test perm-both --resamples 60 --format markdown -w 5
  ctx-metrics meta judged.tsv -l de-en --scores scores -p acc-eq --test pairs --resamples 60 --alpha 0.2
  ctx-metrics meta judged.tsv -l de-en --scores scores -p sys-acc seg-pearson --test bootstrap --seed 3 --resamples 60 --seen 'comet:*'
  ctx-metrics meta judged.tsv -l de-en --scores scores -p sys-acc seg-pearson acc-eq --resamples 60 --plot figures --plot-format svg -o table.txt
  ctx-metrics meta judged.tsv -l de-en --scores scores -p seg-pearson --test none --drop system_e --report pages
ctx-metrics meta judged.tsv -l de-en --slide-grid 3 -p sys-acc --resamples 60 --plot figures
ctx-metrics meta judged.tsv -l de-en -m slide:window=1 slide:window=3,stride=1 comet bleu:lowercase=yes -p seg-pearson --resamples 60 --format json
ctx-metrics meta judged.jsonl -l de-en -m chrf -p seg-pearson --reference ref,ref2 --resamples 60
ctx-metrics meta preferences.tsv -l de-en -m chrf bertr -p darr wmt12 wmt13 wmt14 --resamples 60 --format json
ctx-metrics meta wmt99 -l de-en -m chrf bertr slide --resamples 60 --format json
ctx-metrics meta wmt99 -l de-en -m chrf --reference refB --human mqm --keep-humans --resamples 60 --plot figures --plot-format pdf
ctx-metrics meta WMT19 -l de-en -m chrf bertr pairwise --resamples 60
ctx-metrics meta mqm_newstest99_deen.tsv -m comet --comet-model tiny-kiwi -p seg-pearson acc-eq --resamples 60 --format json
ctx-metrics meta rankings.csv --outputs ranked --reference ref.en.txt -m chrf bleu -p wmt14 --resamples 60
ctx-metrics meta mlqe.de-en.tsv -m chrf comet -p seg-pearson --resamples 60 --format json
ctx-metrics meta ratings.tsv ratings-dev.tsv -l de-en -m chrf -p seg-pearson darr --threshold 10 --resamples 60
ctx-metrics meta ratings.tsv -l de-en -m chrf --unescape --no-text-checks --score-column score --resamples 60 -q
ctx-metrics meta paraphrase pairs.tsv -m bleu chrf bertr esim -l en --resamples 60
ctx-metrics meta paraphrase pairs.tsv -m bleu chrf comet --both-directions --resamples 60 --format json --seed 2 --alpha 0.1
ctx-metrics meta paraphrase pairs.tsv -m chrf meteor --resamples 60 --format tsv -o table.tsv -w 4
ctx-metrics pairwise rank ref.en.txt -i system_a.en.txt system_b.en.txt system_c.en.txt -l de-en --resamples 60 --format json
ctx-metrics pairwise rank ref.en.txt -i system_a.en.txt system_b.en.txt system_c.en.txt --model random-pairwise --docids docids.txt --confidence 0.9 --seed 2 --format tsv
ctx-metrics pairwise rank ref.en.txt -t system_a.en.txt system_b.en.txt --model random-pairwise-vectors --names A B --plot wins.png --format csv
ctx-metrics pairwise rank ref.en.txt -t system_a.en.txt system_b.en.txt system_c.en.txt --model random-pairwise --plot wins.svg -o table.jsonl -w 3 -q
ctx-metrics roundtrip -t words.txt words-2.txt -l en-de --rtt-bt hf:marian -o rtt
  ctx-metrics roundtrip -t words.txt -l en-de --rtt-bt hf:marian -o again
  ctx-metrics score -s words-2.txt -t words.txt -l en-de --rtt-bt hf:marian -m rttbleu --format tsv
ctx-metrics roundtrip -t words.txt -l en-de -s words-2.txt --bt hf:marian --rtt-beams 3 --rtt-max-length 5 --rtt-cache none --ctx-dtype bf16 -o rtt
ctx-metrics roundtrip -t words.txt --rtt-bt hf:marian-codes --rtt-bt-from eng --rtt-bt-to deu --rtt-max-length 12 --rtt-cache none -o rtt
ctx-metrics roundtrip -t words.txt -l en-de --rtt-bt hf:m2m --rtt-max-length 12 --rtt-cache cache -o rtt
ctx-metrics roundtrip -t words.txt -l eng-deu --rtt-bt hf:nllb --rtt-max-length 12 --rtt-cache none -o rtt
ctx-metrics roundtrip -t words.txt -l en-de --rtt-bt hf:mbart --rtt-max-length 12 --rtt-cache none -o rtt
ctx-metrics roundtrip -t words.txt -l en-de --rtt-bt 'cmd:sh reverse.sh' --rtt-bt-name backwards --rtt-batch-lines 4 -o rtt
ctx-metrics roundtrip -t words.txt -l en-de --rtt-bt 'cmd:sh split.sh' -o rtt
ctx-metrics roundtrip -t words.txt -l en-de --rtt-bt 'cmd:sh fail.sh' -o rtt
ctx-metrics roundtrip -t words.txt -l en-de --rtt-bt 'cmd:sleep 60' --rtt-timeout 1 -o rtt
ctx-metrics filter-refs -r ref.en.txt --pseudo-refs system_b.en.txt system_c.en.txt -l de-en -o kept
ctx-metrics filter-refs -r ref.en.txt --pseudo-refs system_b.en.txt system_c.en.txt -l de-en -t system_a.en.txt system_b.en.txt -o kept --format jsonl
ctx-metrics filter-refs -r ref.en.txt --pseudo-refs system_b.en.txt --pseudo-filter mas --pseudo-threshold 0.5 --format jsonl -o kept
ctx-metrics filter-refs -r ref.en.txt --pseudo-refs system_b.en.txt --pseudo-filter mas --pseudo-vectors vectors.txt -o kept -q
ctx-metrics filter-refs -r ref.en.txt --pseudo-refs system_b.en.txt --pseudo-model classifier --format jsonl -o kept
ctx-metrics filter-refs -r ref.en.txt --pseudo-refs system_b.en.txt --pseudo-filter none -o kept
ctx-metrics paraphrase score system_b.en.txt ref.en.txt
ctx-metrics paraphrase score pairs.tsv -w 9 --max-length 20 -o values.txt
ctx-metrics paraphrase score pairs.tsv --model classifier -w 9
ctx-metrics paraphrase score mrpc.txt --model classifier-one --ctx-dtype bf16
ctx-metrics cite
ctx-metrics cite slide bertr comet --comet-model Unbabel/wmt22-comet-da
ctx-metrics cite doccomet slide --doccomet-model Unbabel/wmt22-comet-da --slide-model Unbabel/XCOMET-XL
ctx-metrics cite rouge
ctx-metrics cite {" ".join(METRICS)}
"""


SMALL = "--hidden 8 --projection 8 --feedforward 8 --epochs 1"
TRAININGS = f"""
ctx-metrics train comet --train toy.tsv --dev toydev.tsv --out model --epochs 2
  sacrebleu ref.en.txt -i system_a.en.txt -m comet slide --comet-model model --slide-model model --docids docids.txt -w 6
  ctx-metrics train comet --train toy.tsv --dev toydev.tsv --out model --epochs 2
  ctx-metrics train comet --train toy.tsv --dev toydev.tsv --out model --epochs 1 --overwrite --no-plot --rows 30 --seed 3
  ctx-metrics train comet --init model --train toy.tsv:0.5:40 ratings.tsv --dev toydev.tsv -l de-en --out next --epochs 1
ctx-metrics train comet --train ratings.tsv --dev ratings-dev.tsv -l de-en --window 2 --normalise file --average --dev-metric darr --dev-threshold 5 --loss mse+hinge --margin 0.3 --hidden 8 --feedforward 8 --epochs 1 --out model
ctx-metrics train comet --inputs mt+src+ref --encoder encoder-xlmr --train toy.tsv --dev toydev.tsv --rank 2 --feedforward 8 --epochs 1 --out model
  sacrebleu ref.en.txt -i system_a.en.txt --source source.de.txt -m comet --comet-model model -w 6
  sacrebleu ref.en.txt -i system_a.en.txt --source source.de.txt -m comet --comet-model model --comet-inputs mt+src -w 6
  ctx-metrics train comet --inputs mt+src+ref --encoder encoder-xlmr --init model --init-share 0.5 --train toy.tsv --dev toydev.tsv --rank 2 --feedforward 8 --epochs 1 --out next
ctx-metrics train comet --encoder encoder-bert --layers 1,2 --train wmt99 --dev wmt99 --no-mqm-root --clip 1 --weight-decay 0.1 --batch 16 --epochs 1 --out model
ctx-metrics train bilstm --train toy.tsv --dev toydev.tsv {SMALL} --pooling avg --layers 3,6 --max-length 20 --out model
  sacrebleu ref.en.txt -i system_a.en.txt -m bilstm slide --bilstm-model model --slide-model model -w 6
ctx-metrics train bilstmatt --train toy.tsv --dev toydev.tsv {SMALL} --pooling max --schedule linear --learning-rate 0.002 --dropout 0.2 --check-rows 40 --patience 1 --normalise none --languages en --out model
ctx-metrics train esim --train toy.tsv --dev toydev.tsv {SMALL} --inputs mt+src --loss hinge --cache cache --cache-mb 1 --out model
ctx-metrics train esim --teacher chrf --train toy.tsv --dev toydev.tsv {SMALL} --teacher-scores scores.npz --out model
  ctx-metrics train esim --init model --train toy.tsv --dev toydev.tsv {SMALL} --out next
  sacrebleu ref.en.txt -i system_a.en.txt -m esim --esim-model next -w 6
ctx-metrics train esim --train preferences.tsv mqm_newstest99_deen.tsv --dev toydev.tsv {SMALL} --keep-humans --no-text-checks --restart -l de-en --out model
ctx-metrics train pairwise --train preferences.tsv --dev 0.25 -l de-en --vectors none --hidden 0 --antisymmetric --recipe modern --epochs 4 --out model
  sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -m pairwise --pairwise-model model -w 6
  ctx-metrics pairwise rank ref.en.txt -i system_a.en.txt system_b.en.txt --model model --format json
ctx-metrics train pairwise --train preferences.tsv --dev 0.25 -l de-en --features bleucomp chrf:word_order=2 --vectors encoder@3:5 vectors.txt --hidden 2 --tied --cost logistic+kendall --beta 50 --gamma 20 --epochs 2 --optimiser adamw --learning-rate 0.01 --batch 20 --weight-decay 0.001 --patience 5 --seed 2 --cache cache --out model
  sacrebleu ref.en.txt -i system_a.en.txt system_b.en.txt -m pairwise --pairwise-model model -w 6
ctx-metrics train pairwise --train rankings.csv --outputs ranked --reference ref.en.txt --dev 0.2 --vectors none --hidden 0 --cost kendall --epochs 2 --no-plot --out model
ctx-metrics train pairwise --train judged.tsv --dev 0.2 -l de-en --threshold 40 --features chrf --vectors none --hidden 0 --no-antisymmetric --epochs 2 --no-text-checks --out model
ctx-metrics paraphrase train --train pairs.tsv --dev 0.25 --encoder encoder-bert --rank 2 --epochs 1 --out model
  ctx-metrics paraphrase score pairs.tsv --model model -w 9
  sacrebleu ref.en.txt -i system_a.en.txt -m prsentbleu --pseudo-refs system_b.en.txt --pseudo-model model -w 6
ctx-metrics paraphrase train --train mrpc.txt --dev pairs.tsv --encoder encoder-bert --rank 0 --epochs 1 --batch 8 --learning-rate 1e-4 --weight-decay 0 --swap no --max-length 30 --patience 1 --seed 4 --out model
  ctx-metrics paraphrase score pairs.tsv --model model -w 9
"""

READ = "read_lines('{}')"
X, Y, S = (READ.format(f"roundtrip/{name}") for name in ("system_x.rtt.en.txt", "system_y.rtt.en.txt", "source.en.txt"))
PYTHON = f"""
values BLEU(references=references)
values BERTR(references,systems,target_lang='en')
values BERTR(references,systems,target_lang='en',layers='3,4',multiref='mean',max_length=20)
values BERTR(references+[b],systems,model='encoder-bert')
values BERTScore(references,systems,target_lang='en')
values BERTScore(references,systems,target_lang='en',score='p',idf='plus-one')
values BERTScore(references,systems,model='encoder-xlmr',idf='paper',layers='mean')
values BiLSTM(references,systems,target_lang='en')
values BiLSTMAtt(references,systems,target_lang='en')
values ESIM(references,systems,target_lang='en')
values ESIM(references,systems,model='random-esim')
values COMET(references,systems,target_lang='en')
values COMET(references,systems,sources=source,model='multilingual',target_lang='en')
values COMET(None,systems,sources=source,target_lang='en')
values COMET(references,systems,sources=source,model='tiny-regression')
values COMET(references,systems,sources=source,model='tiny-xcomet')
values COMET(references,systems,sources=source,model='tiny-unite',inputs='mt+src')
values COMET(None,systems,sources=source,model='tiny-kiwi')
values DocCOMET(references,systems,sources=source,model='tiny-regression',doc_ids=docids,context=1)
values SLIDE(references,systems,doc_ids=docids,target_lang='en')
values SLIDE(references,systems,doc_ids=docids,target_lang='en',window=3,stride=1,partial='include')
values SLIDE(references,systems,doc_ids=docids,target_lang='en',tokens=150)
values Pairwise(references,systems,target_lang='en')
values Pairwise(references,systems,model='random-pairwise-vectors',baseline=True)
values NIST(references,target_lang='en')
values METEOR(references,target_lang='en')
values METEOR(references,target_lang='en',stem='none',tokenize='intl')
values PRSentBLEU(references,systems=[a],pseudo_references=[b,c],target_lang='en') systems=[a]
values PRBLEU(references,systems=[a],pseudo_references=[b,c],pseudo_filter=PseudoFilter('mas'),target_lang='en') systems=[a]
values PRChrF(references,systems=[a],pseudo_references=[b,c],pseudo_filter=PseudoFilter('none'),target_lang='en') systems=[a]
values RTTBLEU([s],systems,sources=s,roundtrips=systems,source_lang='en',target_lang='de') "systems=[{X},{Y}]" "s={S}"
values RTTSentBLEU([s],systems,sources=s,roundtrips=systems,source_lang='en',target_lang='de') "systems=[{X},{Y}]" "s={S}"
values RTTChrF([s],systems,sources=s,roundtrips=systems,source_lang='en',target_lang='de') "systems=[{X},{Y}]" "s={S}"
values RTTSBERT([s],systems,sources=s,roundtrips=systems,source_lang='en',target_lang='de') "systems=[{X},{Y}]" "s={S}"
values RTTBERTScore([s],systems,sources=s,roundtrips=systems,source_lang='en',target_lang='de') "systems=[{X},{Y}]" "s={S}"
python -c "from sacrebleu.metrics import METRICS; print(list(METRICS))"
python -c "import ctx_metrics; print(sorted(ctx_metrics.__all__), ctx_metrics.__version__)"
python -c "import ctx_metrics, inspect; [print(n, inspect.signature(getattr(ctx_metrics, n))) for n in sorted(ctx_metrics.__all__) if 'Error' not in n and callable(getattr(ctx_metrics, n))]"
python -c "from ctx_metrics import BERTR; BERTR(layer=3)"
python -c "from ctx_metrics import BERTR; BERTR(layers='last')"
python -c "from ctx_metrics import SLIDE; SLIDE(window=2, stride=3)"
python -c "from ctx_metrics import COMET; COMET(model='nowhere')"
python -c "from ctx_metrics import BERTR; print(BERTR(target_lang='en').corpus_score(['a'], [['a', 'b']]))"
python -c "import pickle; from ctx_metrics import BERTR, read_lines; m = pickle.loads(pickle.dumps(BERTR([read_lines('ref.en.txt')], target_lang='en'))); print(repr(m.corpus_score(read_lines('system_a.en.txt'), None).score))"
"""


def of_the_pages() -> Iterator[str]:
    """The commands of README.md and of each page in docs/, one folder a page; what needs a network fails alike.

    Those of reproduce.md need data of WMT.
    """
    for page in [ROOT / "README.md", *sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs" / "reproduce.md"})]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ").replace("examples/", "")
        found = re.findall(r"^(?:    )?(?:\$ )?((?:sacrebleu|ctx-metrics) +\S.*)$", text, re.M)
        commands = [
            re.split(r"\s[|]\s|\s#|&&", command)[0] for command in found if " -" in command and "..." not in command
        ]
        for number, command in enumerate(dict.fromkeys(commands)):
            yield " " * bool(number) + re.sub(" +", " ", command)


def of_bad_input() -> Iterator[str]:
    """Every third: tests/test_bad_input.py runs all."""
    text = (ROOT / "tests" / "bad_input.md").read_text(encoding="utf-8")
    yield from re.findall(r"^    \$ (.+)$", text, re.M)[::3]


GROUPS = {
    "metrics": metrics_alone(),
    "sacrebleu": SACREBLEU.split("\n"),
    "checkpoints": checkpoints(),
    "paper models": paper_models(),
    "trainings": TRAININGS.split("\n"),
    "subcommands": SUB.split("\n"),
    "helps": helps(),
    "python": PYTHON.split("\n"),
    "pages": of_the_pages(),
    "bad input": of_bad_input(),
}


def parsed(group: str, line: str) -> Command:
    words = shlex.split(line)
    env = {}
    while "=" in words[0]:
        name, _, env[name] = words.pop(0).partition("=")
    stdin = None
    if "<" in words:
        *words, _, stdin = words
    if words[0] == "values":
        words[:1] = ["python", str(Path(__file__).with_name("values.py"))]
    return Command(f"{group}: {line.strip()}", words, env, stdin)


def chains() -> list[Chain]:
    found: list[Chain] = []
    names: set[str] = set()
    for group, lines in GROUPS.items():
        for line in filter(str.strip, lines):
            command = parsed(group, line)
            while command.name in names:
                command = command._replace(name=command.name + " (again)")
            names.add(command.name)
            if line.startswith(" "):
                found[-1].commands.append(command)
            else:
                found.append(Chain("bad" if group == "bad input" else "examples", [command]))
    return found
