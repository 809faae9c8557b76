"""The hook that registers the metrics: what it costs, where it works, and what it leaves behind."""

import sys
from pathlib import Path

import pytest
from plugin_conftest import COMMAND, DOCIDS, REF, A, B, python, run, sacrebleu
from selection import some, some_rows

TEXT = ["-b", "-m", "chrf"]
HEAVY = set(
    "torch transformers numpy scipy tokenizers huggingface_hub py3langid sacrebleu importlib.metadata logging".split()
)


def test_start_up_imports_nothing_more():
    with_hook = set(python("import sys; print(*sys.modules)").stdout.split())
    assert "_ctx_metrics_startup" in with_hook
    assert not with_hook & (HEAVY | {"ctx_metrics"})
    code = "import sys; before = set(sys.modules); import _ctx_metrics_startup; print(*(set(sys.modules) - before))"
    here = str(Path(__file__).resolve().parent.parent)
    assert run(sys.executable, "-S", "-c", f"import sys; sys.path.append({here!r}); {code}").stdout.split() == [
        "_ctx_metrics_startup"
    ]


MAIN = "from contextlib import suppress; from {} import main\nwith suppress(SystemExit): "
CLI = MAIN.format("ctx_metrics.cli") + "main({!r}.split())"
SACREBLEU = MAIN.format("sacrebleu.sacrebleu") + "sys.argv[1:] = {!r}.split(); main()"
WORDS = "import ctx_metrics as c; from ctx_metrics.scoring.sentence_bleu import SentenceBLEU as B; c.NIST(), c.METEOR(), B()"
COSINE = "from ctx_metrics.roundtrip.sentence_cosine import SentenceCosine as S; S().corpus_score(['a'], [['b']])"
HELPS = ["--help", "score -m bertr -h", "cite slide", "meta -m slide chrf --help"]
# code, and what takes long to import and is not needed for it
LIGHT = [
    ("import ctx_metrics; ctx_metrics.release()", HEAVY),
    (WORDS, {"torch", "nltk"}),
    (SACREBLEU.format(f"{REF} -i {A} --docids {DOCIDS}"), {"torch", "ctx_metrics.metrics.bertr"}),
    (SACREBLEU.format("--help"), {"torch"}),
    ("from ctx_metrics import evaluate; evaluate(['a'], ['a'], metrics='chrf').system", {"torch", "pandas", "altair"}),
    ("import ctx_metrics.pseudo_references.inputs", {"torch", "numpy"}),
    ("import ctx_metrics.roundtrip.back_translation, ctx_metrics.roundtrip.cli", {"torch"}),
    (COSINE, {"sentence_transformers"}),
    *((CLI.format(argv), {"torch", "scipy", "matplotlib", "ctx_metrics.meta.evaluation"}) for argv in HELPS),
    (CLI.format(f"score -t {A} -r {REF} -m bleu"), {"torch", "altair", "vl_convert", "jinja2"}),
    ("from ctx_metrics import COMET, Pairwise; COMET(), Pairwise()", {"torch._dynamo"}),  # torch's compiler
]


@pytest.mark.full
@pytest.mark.parametrize(("code", "absent"), some_rows(LIGHT, LIGHT[:-1:2]))
def test_what_is_imported_for_little(code, absent):
    done = python(f"import sys\n{code}\nprint('\\n', *sys.modules)")
    modules = set(done.stdout.split("\n")[-2].split())
    assert "ctx_metrics" in modules and not modules & absent, done.stderr


# sacrebleu's command in this process, then what it has imported
RUN = (
    "import sys; from importlib import metadata\n"
    "searches = []; metadata.entry_points = lambda **how: searches.append(how) or metadata.EntryPoints()\n"
    "from sacrebleu.sacrebleu import main\n"
    "try: main()\n"
    "except SystemExit: pass\n"
    "print('\\n', len(searches), *sys.modules)"
)
OWN_RUNS = [
    [REF, "-i", A, "-m", "bleu"],
    [REF, "-i", A, "-sl", "-tok", "char"],
    [REF, "--inp", A, "--met", "chrf", "--score"],
    ["--list"],
]
MORE_RUNS = [
    [REF, "-i", A, "-m", "bleu", "nist", "-b"],
    [REF, "-i", A, "-m", "blue"],
    [REF, "-i", A, "-m", "bleu", "--docids", DOCIDS],
    [REF, "-i", A, B, "--paired-bs", "--paired-bs-n", "10"],
]


@pytest.mark.parametrize("arguments", some(OWN_RUNS, OWN_RUNS[2:]), ids=" ".join)
def test_a_run_of_sacrebleus_own_metrics_imports_and_searches_nothing(arguments):
    done = python(RUN, *arguments)
    searches, *modules = done.stdout.split("\n")[-2].split()
    assert (done.returncode, searches) == (0, "0"), done.stderr
    assert "ctx_metrics.plugin.view" in modules and "numpy" not in modules
    assert not [each for each in modules if each.startswith(("ctx_metrics.plugin.command", "ctx_metrics.cli"))]


@pytest.mark.parametrize("arguments", some(MORE_RUNS, MORE_RUNS[:3:2]), ids=" ".join)
def test_entry_points_are_read_once_where_more_is_asked_for(arguments):
    done = python(RUN, *arguments)
    searches, *modules = done.stdout.split("\n")[-2].split()
    assert searches == "1" and "ctx_metrics.plugin.command" in modules, done.stderr


def test_importing_sacrebleu_searches_and_loads_no_metric():
    code = (
        "import sys; from importlib import metadata; metadata.entry_points = None\n"
        "import sacrebleu; from sacrebleu.metrics import METRICS; print(METRICS['BLEU'] is sacrebleu.BLEU, *sys.modules)"
    )
    done = python(code)
    seen = set(done.stdout.split())
    assert done.stderr == "" and {"True", "ctx_metrics.registry"} <= seen
    assert not seen & {"torch", "transformers", "numpy", "tokenizers", "ctx_metrics.metrics.bertr"}


@pytest.mark.full
def test_runs_of_one_process_change_over_when_one_needs_us():
    code = (
        "import sys; from sacrebleu.sacrebleu import main; kept = []\n"
        "for metrics in (['bleu'], ['nist'], ['bleu'], ['rouge'], ['chrf']):\n"
        "    kept += [sys.stdin, sys.stdout]  # main() opens the two anew, and what is dropped closes them\n"
        f"    sys.argv = ['sacrebleu', {REF!r}, '-i', {A!r}, '-b', '-w', '4', '-m', *metrics]\n"
        "    try: main()\n"
        "    except SystemExit as end: print(end.code)\n"
    )
    first, nist, again, code, chrf = python(code).stdout.split()
    assert first == again == sacrebleu(REF, "-i", A, "-b", "-w", "4").stdout.strip()
    assert 1 < float(nist) < float(first) < float(chrf) and code == "2"


WAYS = [
    [COMMAND],
    [sys.executable, "-m", "sacrebleu"],
    [sys.executable, "-E", "-I", "-s", "-m", "sacrebleu"],
    [sys.executable, "-O", "-m", "sacrebleu"],
    [sys.executable, "-m", "ctx_metrics"],
]


@pytest.mark.full
@pytest.mark.parametrize("command", some(WAYS, [WAYS[0], WAYS[2]]), ids=lambda c: " ".join(c[1:]) or "script")
def test_every_way_to_start_the_command(command):
    done = run(*command, "--help")
    assert done.returncode == 0 and not done.stderr
    assert "--bertr-model" in done.stdout and "--docids" in done.stdout
    done = run(*command, REF, "-i", A, *TEXT)
    assert (done.returncode, done.stderr) == (0, "") and float(done.stdout) > 20


def test_the_package_alone_is_enough_where_no_pth_file_is_read():
    site = [path for path in sys.path if path.endswith("site-packages")]
    code = (
        f"import sys; sys.path += {[str(Path(__file__).resolve().parent.parent), *site]!r}; sys.argv[1:] = ['--help']; "
    )
    done = run(sys.executable, "-S", "-c", code + "import runpy; runpy.run_module('ctx_metrics', run_name='__main__')")
    assert done.returncode == 0 and "--bertr-model" in done.stdout


@pytest.mark.parametrize("command", [[COMMAND], [sys.executable, "-m", "sacrebleu"]], ids=["script", "module"])
def test_no_autoload_leaves_stock_sacrebleu(command):
    done = run(*command, "--help", CTX_METRICS_NO_AUTOLOAD="1")
    assert done.returncode == 0
    assert "{bleu,chrf,ter}" in done.stdout and "--source" not in done.stdout


def test_metrics_from_the_api():
    done = python(
        "from sacrebleu.metrics import METRICS, BLEU; print(*METRICS); print(METRICS['BLEU'] is BLEU, METRICS['BERTR'])"
    )
    assert done.stdout.split("\n")[0].split()[:4] == ["BLEU", "CHRF", "TER", "BERTR"]
    assert "True <class 'ctx_metrics.metrics.bertr.BERTR'>" in done.stdout


@pytest.mark.parametrize("imported", some(["sacrebleu.metrics", "sacrebleu.sacrebleu"], ["sacrebleu.sacrebleu"]))
def test_sacrebleu_imported_before_the_package(imported):
    """What happens where no .pth file is read: install() extends the modules that are there already."""
    code = (
        f"import sys, os; import {imported}; assert 'ctx_metrics' not in sys.modules; del os.environ['CTX_METRICS_NO_AUTOLOAD']\n"
        "import ctx_metrics; from sacrebleu.metrics import METRICS; assert 'BERTR' in METRICS\n"
        "from sacrebleu.sacrebleu import main; sys.argv = ['sacrebleu', '--help']; main()"
    )
    done = python(code, CTX_METRICS_NO_AUTOLOAD="1")
    assert done.returncode == 0, done.stderr
    assert "--docids" in done.stdout and done.stdout.count("Metrics of ctx-metrics") == 1


def test_installing_twice_changes_nothing():
    done = python(
        "import _ctx_metrics_startup as s, sys; s.install(); s.install()\n"
        "print(sum(type(f).__name__ == '_Finder' for f in sys.meta_path))\n"
        "import sacrebleu.sacrebleu as c, sacrebleu.metrics as m; before = c.main, m.METRICS; s.install()\n"
        "print(before == (c.main, m.METRICS), before[1] is m.METRICS)"
    )
    assert done.stdout.split() == ["1", "True", "True"]


def test_a_plugin_that_cannot_be_imported_is_said_once_and_sacrebleu_scores(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['ctx_metrics.plugin'] = None\n")
    done = sacrebleu(REF, "-i", A, "-b", PYTHONPATH=str(tmp_path))
    stock = sacrebleu(REF, "-i", A, "-b", CTX_METRICS_NO_AUTOLOAD="1")
    assert (done.returncode, done.stdout) == (0, stock.stdout)
    assert done.stderr.startswith("ctx-metrics: could not register with sacrebleu: ") and done.stderr.count("\n") == 1


def test_an_error_of_sacrebleu_itself_comes_through():
    done = python("import sys; sys.modules['portalocker'] = None; import sacrebleu.sacrebleu")
    assert done.returncode == 1 and "import of portalocker halted" in done.stderr and "ctx-metrics" not in done.stderr


def test_the_loader_leaves_no_trace():
    done = python(
        "import sacrebleu.metrics, sacrebleu.sacrebleu, inspect, pickle, importlib, json\n"
        "for m in (sacrebleu.metrics, sacrebleu.sacrebleu):\n"
        "    print(type(m.__loader__).__name__, m.__spec__.loader is m.__loader__, 'import' in inspect.getsource(m))\n"
        "print(pickle.loads(pickle.dumps(sacrebleu.metrics.BLEU)) is sacrebleu.metrics.BLEU)\n"
        "print(importlib.util.find_spec('sacrebleu.dataset').name, importlib.util.find_spec('no_such_thing_at_all'))\n"
        "importlib.invalidate_caches(); importlib.reload(sacrebleu.metrics); print('BERTR' in sacrebleu.metrics.METRICS)"
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["SourceFileLoader True True"] * 2 + ["True", "sacrebleu.dataset None", "True"]


def test_uninstalled_halfway_python_still_starts(tmp_path):
    """The .pth line alone, without the module that it names, says nothing."""
    line = (Path(__file__).resolve().parent.parent / "ctx_metrics.pth").read_text()
    assert line.count("\n") == 1 and line.startswith("import ")
    done = run(sys.executable, "-S", "-I", "-c", line + "print('fine')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


@pytest.mark.full
def test_zero_does_not_turn_the_hook_off():
    code = "from sacrebleu.metrics import METRICS; print('BERTR' in METRICS)"
    seen = [python(code, CTX_METRICS_NO_AUTOLOAD=value).stdout.strip() for value in ("0", "", "yes")]
    assert seen == ["True", "True", "False"]
