"""upstream/sacrebleu-2.6.0.patch on a copy of the installed sacrebleu: the same results with and without our plugin."""

import importlib.metadata
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import sacrebleu as installed_sacrebleu
from plugin_conftest import DOCIDS, EXAMPLES, REF, SOURCE, A, B, add_package, add_test_set, add_toylen, lines_of
from plugin_conftest import fresh_python as python
from plugin_conftest import fresh_sacrebleu as sacrebleu

PATCH = Path(__file__).resolve().parents[2] / "upstream" / "sacrebleu-2.6.0.patch"
VERSION = importlib.metadata.version("sacrebleu")
SMALL = ["--paired-bs-n", "40", "--paired-ar-n", "40"]

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(VERSION != "2.6.0", reason=f"the patch is for sacrebleu 2.6.0, and {VERSION} is installed"),
    pytest.mark.skipif(shutil.which("patch") is None, reason="the program patch is missing"),
]


@pytest.fixture(scope="module")
def patched(tmp_path_factory) -> dict[str, str]:
    """The environment in which a patched copy of sacrebleu comes before the installed one, with toylen installed."""
    folder = tmp_path_factory.mktemp("patched")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(installed_sacrebleu.__file__).parent, folder / "sacrebleu", ignore=ignored)
    whole = PATCH.read_text(encoding="utf-8")
    of_package = [part for part in re.split(r"(?m)^(?=--- )", whole) if part.startswith("--- a/sacrebleu/")]
    assert 0 < len(of_package) < whole.count("\n--- ") + 1  # the others are tests and pages
    applied = subprocess.run(
        ["patch", "-p1", "--fuzz=0"], cwd=folder, input="".join(of_package).encode(), capture_output=True
    )
    assert applied.returncode == 0 and b"offset" not in applied.stdout, applied.stdout.decode()
    return add_toylen(folder)


@pytest.fixture(scope="module")
def unpatched(tmp_path_factory) -> dict[str, str]:
    return add_toylen(tmp_path_factory.mktemp("unpatched"))


ALONE = {"CTX_METRICS_NO_AUTOLOAD": "1"}


def test_which_sacrebleu_is_run(patched, unpatched):
    code = (
        "import sacrebleu.metrics as m; print(getattr(m, 'ENTRY_POINT_GROUP', None), 'BERTR' in m.METRICS, "
        "'ctx_metrics' in __import__('sys').modules)"
    )
    seen = [python(code, **env).stdout for env in (patched, unpatched, {**patched, **ALONE}, {**unpatched, **ALONE})]
    assert [line.split() for line in seen] == [
        ["sacrebleu.metrics", "True", "True"],
        ["None", "True", "True"],
        ["sacrebleu.metrics", "True", "False"],
        ["None", "False", "False"],
    ]


def test_what_sacrebleu_does_itself_our_plugin_leaves_to_it(patched, unpatched):
    """Our search for metrics and our adding of flags raise here."""
    code = """
import sys
import ctx_metrics.run.registry
assert "sacrebleu" not in sys.modules
def never(*args):
    raise AssertionError("done by our plugin")
ctx_metrics.run.registry._installed = never
import ctx_metrics.plugin.arguments
ctx_metrics.plugin.arguments.add_metric_arguments = never
from sacrebleu.sacrebleu import main
sys.argv[0] = "sacrebleu"
main()
"""
    arguments = [REF, "-i", A, "-m", "toylen", "--toylen-scale", "0.5", "-b", "-w", "4"]
    done = python(code, *arguments, **patched)
    assert done.returncode == 0, done.stderr
    words = [sum(len(line.split()) for line in lines_of(name)) for name in (A, REF)]
    assert float(done.stdout) == pytest.approx(50 * words[0] / words[1], abs=1e-3)
    assert "done by our plugin" in python(code, *arguments, **unpatched).stderr


CONTEXT = ["--source", SOURCE, "--docids", DOCIDS, "-l", "de-en"]
# of our plugin; the names of the scores as -m orders them
RUNS = {
    "one system": ([REF, "-i", A, "-m", "toylen", "bertr", "chrf", "bleu", *CONTEXT], "ToyLen BERTR chrF2 BLEU"),
    "two systems": ([REF, "-i", A, B, "-m", "ter", "slide", "bleu", *CONTEXT], "TER SLIDE-embedded BLEU"),
    "their flags": (
        [REF, "-i", A, "-m", "toylen", "bertr", "--toylen-scale=2", "--bertr-layers", "3", "--ctx-batch-tokens", "256"],
        "ToyLen BERTR",
    ),
    "documents": (
        [REF, "-i", A, B, "-m", "slide", "bleu", *CONTEXT, "--ctx-resample", "document", "--paired-bs", *SMALL],
        "SLIDE-embedded BLEU",
    ),
    "ar": ([REF, "-i", A, B, "-m", "toylen", "chrf", *CONTEXT, "--paired-ar", *SMALL, "-j", "2"], "ToyLen chrF2"),
    "interval": ([REF, "-i", A, "-m", "toylen", "bleu", *CONTEXT, "-ci", "-cin", "40"], "ToyLen BLEU"),
    "stock": ([REF, "-i", A, "-m", "ter", "chrf", "bleu"], "TER chrF2 BLEU"),
}


def by_name(text: str) -> dict[str, list]:
    """The results of a run in JSON, by the name of their score, in the order in which they are printed."""
    printed = json.loads(text)
    if isinstance(printed, dict):
        printed = [printed]
    if "system" in printed[0]:
        return {name: [row[name] for row in printed] for name in printed[0] if name != "system"}
    return {result["name"]: [result] for result in printed}


@pytest.mark.parametrize("name", RUNS)
def test_scores_signatures_and_messages_are_the_same_and_in_order(patched, unpatched, name):
    arguments, order = RUNS[name]
    new, old = (sacrebleu(*arguments, **env) for env in (patched, unpatched))
    assert new.returncode == old.returncode == 0, new.stderr
    assert by_name(new.stdout) == by_name(old.stdout)
    assert list(by_name(new.stdout)) == order.split()
    assert sorted(new.stderr.splitlines()) == sorted(old.stderr.splitlines())


def test_signatures_of_several_systems(patched, unpatched):
    arguments = [REF, "-i", A, B, "-m", "toylen", "bertr", "bleu", "-f", "text"]
    new, old = (sacrebleu(*arguments, **env).stdout.splitlines() for env in (patched, unpatched))
    signatures = [[line for line in lines if line.startswith(" - ")] for lines in (new, old)]
    assert len(signatures[0]) == 3 and sorted(signatures[0]) == sorted(signatures[1])
    assert [line.split()[1] for line in signatures[0]] == ["ToyLen", "BERTR", "BLEU"]


def test_short_lines_at_the_margin_are_each_of_their_metric(patched, unpatched):
    arguments = [REF, "-i", A, "-m", "chrf", "bertr", "bleu", "-f", "text"]
    new, old = (sacrebleu(*arguments, **env).stdout.splitlines() for env in (patched, unpatched))
    assert sorted(new) == sorted(old)
    assert [line.split("|")[0] for line in new] == ["chrF2", "BERTR", "BLEU"]


def test_sentence_level_and_files(patched, unpatched, tmp_path):
    for metric in ("toylen", "slide"):
        arguments = [REF, "-i", A, "-m", metric, "-sl", "-b", *CONTEXT]
        new, old = (sacrebleu(*arguments, **env) for env in (patched, unpatched))
        assert (new.returncode, new.stdout, new.stderr) == (0, old.stdout, old.stderr)
        assert len(set(new.stdout.split())) > 10
    for folder, env in (("new", patched), ("old", unpatched)):
        done = sacrebleu(REF, "-i", A, B, "-m", "bleu", "slide", *CONTEXT, "--ctx-seg-scores", tmp_path / folder, **env)
        assert done.returncode == 0, done.stderr
    new, old = ({path.name: path.read_text() for path in (tmp_path / folder).iterdir()} for folder in ("new", "old"))
    assert new == old
    assert {f"{metric}-ref_en.{kind}.score" for metric in ("bleu", "slide") for kind in ("seg", "doc", "sys")} <= set(
        new
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "bertr", "--toylen-scale", "2"],
        ["-m", "xcomet"],
        ["-m", "rouge"],
        ["-m", "bertr", "--bertr-layers", "99"],
        ["-m", "slide", "--docids", "{returns}"],
        ["-m", "broken"],
        ["-m", "badflags"],
    ],
    ids=" ".join,
)
def test_errors_are_the_same(patched, unpatched, tmp_path, arguments):
    ids = tmp_path / "returns"
    ids.write_text("".join(f"{line}\n" for line in [*lines_of(DOCIDS)[:-1], lines_of(DOCIDS)[0]]))
    module = (
        "from sacrebleu.metrics import CHRF\nclass Bad(CHRF):\n    @classmethod\n    def add_arguments(cls, group):\n"
        "        group.add_argument('--foreign')\n"
    )
    more = add_package(
        tmp_path, {"broken": "no_such:Metric", "badflags": "bad_flags:Bad"}, {"bad_flags.py": module}, "bad"
    )["PYTHONPATH"]
    given = [str(ids) if each == "{returns}" else each for each in arguments]
    new, old = (
        sacrebleu(REF, "-i", A, *given, PYTHONPATH=f"{env['PYTHONPATH']}:{more}") for env in (patched, unpatched)
    )
    assert (new.returncode, new.stdout) == (old.returncode, old.stdout) and new.returncode in (1, 2)
    assert new.stderr.splitlines()[-1] == old.stderr.splitlines()[-1] and "Traceback" not in new.stderr


def test_help_lists_all_flags_once(patched):
    done = sacrebleu("--help", **patched)
    assert done.returncode == 0, done.stderr
    for flag in ("--toylen-scale", "--bertr-model", "--source ", "--docids ", "--ctx-resample", "--slide-output"):
        assert len(re.findall(rf"(?m)^  {flag}", done.stdout)) == 1, flag


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> str:
    root, doc_ids = tmp_path_factory.mktemp("sets"), lines_of(DOCIDS)
    origlangs = ["de" if doc_id.startswith(("news", "talk")) else "en" for doc_id in doc_ids]
    domains = ["news" if doc_id.startswith("news") else "other" for doc_id in doc_ids]
    add_test_set(root, "wmt23", "de-en", lines_of(SOURCE), lines_of(REF), doc_ids, origlangs, domains)
    return str(root)


@pytest.mark.parametrize("more", [[], ["-ol", "de"], ["--subset", "news"], ["--detail", "-f", "text"]], ids=" ".join)
def test_context_of_test_sets(patched, unpatched, sets, tmp_path, more):
    """toylen writes what its constructor got: the same by sacrebleu alone, and by our plugin in both sacrebleus."""
    arguments = ["-t", "wmt23", "-l", "de-en", "-i", EXAMPLES / A, "-m", "toylen", *more]
    made, printed = [], []
    for number, env in enumerate((unpatched, patched, {**patched, **ALONE})):
        log = tmp_path / f"log{number}"
        done = sacrebleu(*arguments, SACREBLEU=sets, TOYLEN_LOG=str(log), **env)
        assert done.returncode == 0, done.stderr
        made.append([json.loads(line) for line in log.read_text().splitlines()])
        printed.append(done.stdout)
    assert printed[0] == printed[1] == printed[2] and made[0] == made[1]
    alone = [{**each, "systems": here["systems"]} for each, here in zip(made[2], made[0], strict=True)]
    assert alone == made[0]  # all but the systems, which the plugin alone gives
    assert all(each["sources"] and each["doc_ids"] and each["source_lang"] == "de" for each in alone)


ALONE_RUNS = {
    "one system": [REF, "-i", A, "-m", "toylen", "chrf", "bleu", *CONTEXT],
    "two systems": [REF, "-i", A, B, "-m", "toylen", "chrf", *CONTEXT],
    "flag": [REF, "-i", A, "-m", "chrf", "toylen", "--toylen-scale", "0.5"],
    "sentences": [REF, "-i", A, "-m", "toylen", "-sl", "-b", *CONTEXT],
    "paired": [REF, "-i", A, B, "-m", "toylen", "--paired-bs", *SMALL, *CONTEXT],
}


@pytest.mark.parametrize("name", ALONE_RUNS)
def test_sacrebleu_alone_scores_as_our_plugin_does(patched, unpatched, name):
    alone = sacrebleu(*ALONE_RUNS[name], **patched, **ALONE)
    ours = sacrebleu(*ALONE_RUNS[name], **unpatched)
    assert alone.returncode == ours.returncode == 0, alone.stderr
    if name == "sentences":
        assert alone.stdout == ours.stdout
        return
    assert by_name(alone.stdout) == by_name(ours.stdout)
    order = [word for word in ALONE_RUNS[name] if word in ("toylen", "chrf", "bleu")]
    names = {"toylen": "ToyLen", "chrf": "chrF2", "bleu": "BLEU"}
    assert list(by_name(alone.stdout)) == [names[each] for each in order]


def test_sacrebleu_alone_gives_our_metrics_their_context(patched, unpatched):
    arguments = [REF, "-i", A, "-m", "slide", "bertr", "--docids", DOCIDS, "-l", "de-en"]
    alone, ours = (sacrebleu(*arguments, **env) for env in ({**patched, **ALONE}, unpatched))
    assert alone.returncode == 0 and "|docs:ids|" in alone.stdout, alone.stderr
    assert by_name(alone.stdout) == by_name(ours.stdout)


def test_our_command_finds_the_metrics_beside_sacrebleu_alone(patched):
    code = "import sys; from ctx_metrics.cli import main; sys.exit(main(sys.argv[1:]))"
    done = python(code, "score", "-t", A, "-r", REF, "-l", "de-en", "-m", "bertr", "chrf", "-q", **patched, **ALONE)
    assert done.returncode == 0 and "81.6" in done.stdout, done.stderr


def test_sacrebleu_alone_imports_named_metrics_only(patched):
    code = (
        "import sys; from sacrebleu.sacrebleu import main; sys.argv[0] = 'sacrebleu'; main()\n"
        "print('toylen' in sys.modules, 'ctx_metrics' in sys.modules)"
    )
    seen = [python(code, REF, "-i", A, "-b", "-m", m, **patched, **ALONE).stdout.split() for m in ("bleu", "toylen")]
    assert [line[1:] for line in seen] == [["False", "False"], ["True", "False"]]
