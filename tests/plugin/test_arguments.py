"""The flags that the plugin adds to the command, and that sacrebleu's own keep their meaning."""

import argparse
import sys
from functools import partial
from pathlib import Path

import pytest
import sacrebleu.sacrebleu as command
from plugin_conftest import DOCIDS, REF, SOURCE, A, python
from plugin_conftest import fresh_sacrebleu as sacrebleu
from sacrebleu.metrics import METRICS

from ctx_metrics.cli import main
from ctx_metrics.cli.common.metrics import add_metric_arguments
from ctx_metrics.errors import CtxMetricsError, InputError
from ctx_metrics.plugin.arguments import parser_class
from ctx_metrics.plugin.capture import Command
from ctx_metrics.registry import MetricTable, wanted_metrics

NAMES = ["bertr", "comet", "slide"]


@pytest.fixture
def parse(monkeypatch):
    """Parses a command line with sacrebleu's parser, ours or stock, without running it."""

    def call(*argv, stock=False):
        monkeypatch.setattr(sys, "argv", ["sacrebleu", *argv])
        if stock:
            monkeypatch.setattr(command, "argparse", argparse)
        try:
            return command.parse_args()
        finally:
            monkeypatch.undo()

    return call


def stock_parser() -> argparse.ArgumentParser:
    """The parser that sacrebleu makes, before anything is added to it."""
    made = []

    class Kept(argparse.ArgumentParser):
        def parse_args(self, args=None, namespace=None):
            made.append(self)
            return super().parse_args([])

    view = type(argparse)("argparse")
    view.__dict__.update({**vars(argparse), "ArgumentParser": Kept})
    ours, command.argparse = command.argparse, view
    try:
        command.parse_args()
    finally:
        command.argparse = ours
    return made[0]


@pytest.mark.full
def test_an_abbreviated_help_shows_them_too():
    assert sacrebleu("--hel").stdout == sacrebleu("-h").stdout == sacrebleu("--help").stdout


@pytest.mark.parametrize(
    "argv, says",
    [
        (["-m", "slide", "--comet-model=x"], "--comet-model is a flag of comet"),
        (["--bertr-lay", "9", "-m", "bleu"], "--bertr-layers is a flag of bertr"),
        (["-m", "bleu", "comet", "--slide-output=slide.tsv"], "--slide-output is a flag of slide"),
        (["-m", "doccomet", "--comet-on-long", "truncate"], "--comet-on-long is a flag of comet"),
    ],
    ids=str,
)
def test_a_flag_of_a_metric_that_is_not_chosen_is_refused(parse, capsys, argv, says):
    """Also where its value is the default."""
    with pytest.raises(SystemExit) as caught:
        parse(REF, *argv)
    last = capsys.readouterr().err.splitlines()[-1]
    assert (caught.value.code, last) == (
        2,
        f"sacrebleu: error: {says}, which is not among the metrics of -m; add the metric, or leave the flag out",
    )


def test_flags_of_sacrebleus_own_metrics_are_taken_as_ever(parse):
    args = parse(
        REF, "-m", "bertr", "--chrf-beta", "3", "--ter-normalized", "--tokenize", "char", "--ctx-dtype", "fp32"
    )
    assert (args.chrf_beta, args.ter_normalized, args.bleu_tokenize) == (3, True, "char")


@pytest.mark.parametrize("flag", ["--source", "--docids", "--ctx-seg-scores", "--slide-output"])
def test_a_home_folder_in_a_path(parse, flag):
    given = [[f"{flag}=~/x"], [flag, "~/x"], [flag, "a/~/x"]]
    found = [vars(parse(REF, "-m", "slide", *words))[flag.strip("-").replace("-", "_")] for words in given]
    assert found == [str(Path.home() / "x"), str(Path.home() / "x"), "a/~/x"]


@pytest.mark.parametrize("argv", [["-i", A, "-m", "slide", "--source", SOURCE], ["-m", "bleu", "comet"]], ids=str)
def test_a_missing_reference_is_one_line_beside_a_plugin_metric(parse, argv):
    with pytest.raises(InputError, match="no reference: name its file first, before -i"):
        parse(*argv)


@pytest.mark.parametrize(
    "argv", [["-t", "wmt17"], ["--list"], ["--download", "wmt17"], ["--citation"], [REF], [REF, "-i"]], ids=str
)
def test_a_run_that_needs_no_reference_file_goes_on(parse, argv):
    assert parse(*argv, "-m", "comet").metrics == ["comet"]
    assert parse("-i", A).refs == []  # without a plugin metric sacrebleu says so itself


def test_every_abbreviation_of_stock_options_keeps_its_meaning():
    """Each prefix that means one stock option must mean it still, with every plugin flag added."""
    stock, ours = stock_parser(), stock_parser()
    before = set(map(id, ours._actions))
    ours.__class__ = parser_class(Command(METRICS))
    from ctx_metrics.plugin.arguments import add_run_arguments, add_shared_arguments, installed_outputs
    from ctx_metrics.scoring.inputs import installed_inputs

    add_shared_arguments(ours, installed_inputs())
    add_run_arguments(ours, NAMES, installed_outputs())
    for name in NAMES:
        add_metric_arguments(ours, name, METRICS)
    ours._plugin_actions = frozenset(id(action) for action in ours._actions if id(action) not in before)
    assert len(ours._plugin_actions) > 10

    def meant(parser, prefix: str) -> set[str]:
        if prefix in parser._option_string_actions:
            return {parser._option_string_actions[prefix].dest}
        return {found[0].dest for found in parser._get_option_tuples(prefix)}

    options = [option for option in stock._option_string_actions if option.startswith("--")]
    prefixes = {option[:n] for option in options for n in range(3, len(option) + 1)}
    of_one = {prefix: meant(stock, prefix) for prefix in prefixes if len(meant(stock, prefix)) == 1}
    assert {prefix: meant(ours, prefix) for prefix in of_one} == of_one and len(of_one) > 150


@pytest.mark.parametrize(
    "argv",
    [
        ["--do", "wmt17"],
        ["--sent"],
        ["--smooth-m", "floor"],
        ["--en", "latin-1"],
        ["--det"],
        ["--conf"],
        ["--e", "src"],
    ],
    ids=str,
)
def test_abbreviations_give_what_stock_gives(parse, argv):
    def outcome(stock):
        try:
            found = vars(parse(*argv, stock=stock))
        except SystemExit as error:
            return error.code
        ours = ("ctx_", "source", "docids", "roundtrip", "rtt_", "pseudo_")
        return {key: value for key, value in found.items() if not key.startswith(ours)}

    assert outcome(False) == outcome(True)


def test_abbreviations_of_plugin_flags_work_where_stock_has_none(parse):
    args = parse(REF, "-m", "bertr", "--sou", "s.txt", "--doc", "d.txt", "--bertr-lay", "3", "--ctx-dev", "cpu")
    assert (args.source, args.docids, args.bertr_layers, args.ctx_device) == ("s.txt", "d.txt", "3", "cpu")


def test_flags_have_the_defaults_that_help_says(parse):
    args = parse(REF)
    assert (args.source, args.docids, args.ctx_device, args.ctx_dtype) == (None, None, "auto", "fp32")
    assert (args.ctx_batch_tokens, args.ctx_store_mb) == (None, 384)
    assert (args.ctx_resample, args.ctx_seg_scores) == (None, None)
    assert not hasattr(args, "bertr_model") and not hasattr(args, "slide_output")


@pytest.mark.parametrize(
    "argv, wanted",
    [
        ([], []),
        (["-m", "bertr"], ["bertr"]),
        (["-mslide"], ["slide"]),
        (["--metrics=comet"], ["comet"]),
        (["--slide-window", "3"], ["slide"]),
        (["-m", "slide", "chrf", "bertr"], ["bertr", "slide"]),
        (["--help"], NAMES),
        (["--h"], NAMES),
        (["-"], []),
        (["bertr.txt"], []),
        (["--slidewindow"], []),
    ],
    ids=str,
)
def test_wanted_metrics(argv, wanted):
    assert wanted_metrics(NAMES, argv) == wanted


class Bad:
    @classmethod
    def add_arguments(cls, group):
        group.add_argument("--bad-good")
        group.add_argument("--length")


def test_a_refused_metric_leaves_the_parser_as_it_was(monkeypatch):
    table = MetricTable({"BAD": Bad})
    parser = argparse.ArgumentParser()
    before = parser.format_help()
    with pytest.raises(CtxMetricsError, match="--length must begin with --bad-"):
        add_metric_arguments(parser, "bad", table)
    assert parser.format_help() == before
    monkeypatch.setattr(Bad, "add_arguments", classmethod(lambda cls, group: group.add_argument("--bad-good")))
    assert add_metric_arguments(parser, "bad", table) == ["bad_good"]
    assert parser.parse_args(["--bad-good", "1"]).bad_good == "1"


@pytest.mark.parametrize(
    "name, meant",
    [
        ("cometkiwi", "-m comet --comet-model Unbabel/wmt22-cometkiwi-da"),
        ("comet-22", "-m comet --comet-model Unbabel/wmt22-comet-da"),
        ("Unbabel/XCOMET-XXL", "-m comet --comet-model Unbabel/XCOMET-XXL"),
        ("metricx-24", "-m metricx --metricx-model MODEL"),
        ("bleurt-20", "-m bleurt --bleurt-model MODEL"),
        ("lucadiliello/BLEURT-20", "-m bleurt --bleurt-model lucadiliello/BLEURT-20"),
    ],
)
def test_a_model_in_place_of_a_metric_has_a_hint_in_one_line(parse, capsys, name, meant):
    commands = [[*words, "-m", name] for words in (["score", "-t", A], ["meta", "x"], ["meta", "paraphrase", "x"])]
    for refused in (partial(parse, REF, "-m", "bleu", name), *(partial(main, words) for words in commands)):
        with pytest.raises(SystemExit) as caught:
            refused()
        assert caught.value.code == 2
        assert capsys.readouterr().err.endswith(f": give {meant}\n")


def test_the_argparse_module_itself_is_untouched():
    done = python(
        "import argparse; before = dict(vars(argparse)); import sacrebleu.sacrebleu\n"
        "print(before == dict(vars(argparse)), sacrebleu.sacrebleu.argparse is argparse)"
    )
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_a_second_run_of_the_process_finds_sacrebleus_metrics_as_they_are(parse):
    """sacrebleu asks METRICS for BLEU's constants while it parses, also after a run whose BLEU we made."""
    parse(REF, "--confidence", "--ctx-resample", "document", "--docids", DOCIDS)
    assert parse(REF, "-tok", "char").bleu_tokenize == "char"
