"""All codes of a language, with and without script and region, give the same scores, signatures, segments and notices, in
every command and in Python."""

import re
from itertools import count, groupby

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from selection import some

from ctx_metrics import evaluate
from ctx_metrics.checks.languages import _ISO_15924, _WRITTEN_IN, verdict
from ctx_metrics.errors import CtxMetricsError
from ctx_metrics.language import CHINESE, language_name, primary
from ctx_metrics.language_codes import SHORTEST
from ctx_metrics.metrics.meteor import stemmer_for
from ctx_metrics.models.hub import encoder_for
from ctx_metrics.scoring.tokenization import tokenizer_for

# A tokenizer decides the scores of the first segments, a stemmer those of the last ones.
REFERENCE = ["今天天气很好，我们去公园。", "他昨天没有来上班。", "Die alten Häuser der Stadt wurden verkauft."]
OUTPUT = ["今天天气非常好，我们去了公园。", "他昨天没来上班。", "Das alte Haus in der Stadt wurde verkauft."]
OTHER = ["天气好。", "他昨天没有来。", "Ein Haus der Stadt verkaufte man."]
TEXTS = {"ref": REFERENCE, "a": OUTPUT, "b": OTHER}
SCRIPTS = dict.fromkeys(CHINESE, "Hans") | {"ja": "Jpan", "ko": "Kore"}
SCRIPTS |= {
    code: next(short for short, name in _ISO_15924.items() if name == script)
    for script, codes in reversed(_WRITTEN_IN.items())
    for code in codes.split()
    if code not in SCRIPTS
}
FORMS = ("{0}", "{1}", "{0}_XX", "{0}-XX", "{0}_{2}", "{0}-{2}", "{0}_{2}_XX", "{1}-{3}-XX")
LANGUAGES = [[*codes] for _, codes in groupby(sorted(SHORTEST, key=lambda code: (SHORTEST[code], code)), SHORTEST.get)]
TOKENIZED = [codes for codes in LANGUAGES if tokenizer_for(None, codes[0]) != "13a"]  # by tokenizers of their own
FEW = ("zho_Hans", "CMN-CN", "yue-Hant", "deu_Latn", "ger-XX", "ZUL")
SLOW = ("report", "align")
FRONT_ENDS = ("score", "annotate", "mbr", "meta", "evaluate", *SLOW)


def written(code: str, form: int) -> str:
    """A code as one writes it: in lower case or capitals, with or without the language's script and a region."""
    script = SCRIPTS.get(primary(code), "Latn")
    return FORMS[form % len(FORMS)].format(code, code.upper(), script, script.lower())


def asked(every: bool, start: int) -> list[str]:
    """Every code in one form, and those of languages with a tokenizer of their own in all forms; or one code of each
    language, and half of the forms."""
    codes = [code for codes in LANGUAGES for code in (codes if every else [codes[start % len(codes)]])]
    forms = range(len(FORMS)) if every else range(start % 2, len(FORMS), 2)
    special = [(code, form) for codes in TOKENIZED for code in codes for form in forms]
    return [written(*each) for each in [*zip(codes, count(start), strict=False), *special]]


def kind(tag: str) -> tuple:
    """What the language, or its script, decides: tags of one kind differ in their names alone."""
    code = primary(tag)
    plain = f"{code}_{SCRIPTS.get(code, 'Latn')}" if SCRIPTS.get(code, "Latn").lower() in tag.lower() else code
    found = verdict(" ".join(OUTPUT), plain)
    return tokenizer_for(None, code), stemmer_for("auto", code), encoder_for(code), found, code == "en"


class Runs:
    """Runs a command with one language after another, on the same texts."""

    def __init__(self, ctx, folder):
        self.ctx, self.folder, self.numbers = ctx, folder, count()
        for name, lines in TEXTS.items():
            self.write(f"{name}.txt", lines)
        self.write("table.tsv", ["mt\tref", *(f"{mt}\t{ref}" for mt, ref in zip(OUTPUT, REFERENCE))])
        judged = [
            f"{name}\t{i}\t{mt}\t{REFERENCE[i]}\t{score + i}"
            for name, texts, score in (("A", OUTPUT, 80), ("B", OTHER, 30))
            for i, mt in enumerate(texts)
        ]
        self.write("judged.tsv", ["system\tseg\tmt\tref\tscore", *judged])
        self.write("whole.txt", [" ".join(OUTPUT)])

    def write(self, name: str, lines: list[str]) -> None:
        (self.folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def __call__(self, front_end: str, tag: str) -> str:
        """All that a run prints and writes, without the language's name and tag, and without what it says of tags that
        are also codes of countries."""
        new = str(next(self.numbers))
        text = in_python(tag) if front_end == "evaluate" else self.command(front_end, tag, new)
        for own, common in ((language_name(tag), "NAME"), (f"en-{tag}", "PAIR"), (f"{self.folder}/{new}", "NEW")):
            text = text.replace(own, common)
        text = re.sub(r"; did you mean '\w+'\?", "", text)
        return re.sub(r"^ctx-metrics: '[\w-]+' is the code of .*\n", "", text, flags=re.MULTILINE)

    def command(self, name: str, tag: str, new: str) -> str:
        a, b, ref, whole = (f"{self.folder}/{each}.txt" for each in ("a", "b", "ref", "whole"))
        pair, out = ["-l", f"en-{tag}", "-q"], f"{self.folder}/{new}"
        both = ["-t", a, b, "-r", ref, *pair, "-m", "bleu", "meteor"]
        words = {
            "score": [*both, "nist", "--format", "json"],
            "annotate": [f"{self.folder}/table.tsv", "-o", out, *pair, "-m", "bleu", "meteor"],
            "mbr": [a, b, ref, *pair, "-m", "bleu"],
            "meta": [f"{self.folder}/judged.tsv", *pair, "-m", "bleu", "-p", "sys-acc", "--format", "json"],
            "report": [*both, "-o", f"{out}.html", "--tables", f"{out}.tsv"],
            "align": [whole, "-r", ref, *pair, "-o", f"{out}.txt"],
        }
        done = self.ctx(name, *words[name])
        written = [*self.folder.glob(f"{new}/*.tsv"), *self.folder.glob(f"{new}.t*")]
        return "\n".join([str(done.code), done.out, done.err, *(path.read_text("utf-8") for path in written)])

    def differing(self, front_end: str, tags: list[str]) -> dict[str, tuple[str, str]]:
        """What a run with each tag gives, and what its kind does, where they differ."""
        of_kind: dict[tuple, str] = {}
        for tag in tags:
            if (own := kind(tag)) not in of_kind:
                of_kind[own] = self(front_end, primary(tag) if own == kind(primary(tag)) else tag)
        runs = {tag: (self(front_end, tag), of_kind[kind(tag)]) for tag in tags}
        return {tag: both for tag, both in runs.items() if both[0] != both[1]}


def in_python(tag: str) -> str:
    try:
        found = evaluate(OUTPUT, REFERENCE, metrics=["bleu", "nist", "meteor"], target_lang=tag)
    except CtxMetricsError as error:
        return str(error)
    return repr((found.signatures, found.system, found.segments))


@pytest.fixture
def runs(ctx, tmp_path):
    return Runs(ctx, tmp_path)


@pytest.mark.parametrize("front_end", some(FRONT_ENDS, FRONT_ENDS[:-2]))
def test_all_codes_of_a_language_are_one(runs, front_end):
    assert runs.differing(front_end, FEW) == {}
    assert front_end in ("mbr", "align", "report") or "tok:zh" in runs(front_end, "zho_Hans")  # is compared, too


@pytest.mark.full
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_every_code_of_every_language(runs, front_end, monkeypatch):
    """Each front end gets every code in one form, and a code takes other forms in other front ends."""
    monkeypatch.setattr("ctx_metrics.report.page.page", lambda *_: "")  # half a second each; the tables are compared
    tags = asked(front_end not in SLOW, FRONT_ENDS.index(front_end))
    assert len({*map(primary, tags)}) == len(LANGUAGES)
    tags = tags[::8] if front_end == "report" else tags
    assert runs.differing(front_end, tags) == {}


@pytest.mark.full
@pytest.mark.parametrize("pair, said", [("en-zh_CN", 1), ("en-zho", 1), ("en-zh", 0), ("en-de_DE", 0)])
def test_sacrebleu_names_the_tokenizer_that_its_bleu_misses(forked_sacrebleu, tmp_path, pair, said):
    (tmp_path / "ref.txt").write_text("\n".join(REFERENCE) + "\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("\n".join(OUTPUT) + "\n", encoding="utf-8")
    done = forked_sacrebleu("ref.txt", "-i", "a.txt", "-m", "bleu", "nist", "-l", pair, "-b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("sacrebleu uses the tokenizer 13a; give --tokenize zh") == said
