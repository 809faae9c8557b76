"""`ctx-metrics flags`: what every flag of the sacrebleu command means."""

import re

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from cli_pages import DOCS


def flags_in(text: str) -> set[str]:
    return set(re.findall(r"^  (--[a-z][\w-]*)", text, re.M))


def test_each_flag_of_the_page_is_explained(ctx):
    page = (DOCS / "flags.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n?)*)", page, re.M))
    of_page = {title: set(re.findall(r"^\| `(--[\w-]+)", text, re.M)) for title, text in sections.items()}
    metrics = [title for title in of_page if title.islower()]
    done = ctx("flags", *metrics)
    assert (done.code, done.err) == (0, "")
    assert flags_in(done.out) >= set().union(*(of_page[name] for name in metrics))
    shared = ctx("flags").out
    assert flags_in(shared) == set().union(*(of_page[title] for title in of_page.keys() - {*metrics}))
    assert "Windows cut short by a document's end" in " ".join(ctx("flags", "slide").out.split())


def test_inputs_of_a_metric_come_with_it(ctx):
    assert "--rtt-bt" in flags_in(ctx("flags", "rttbleu").out)
    assert "--pseudo-filter" in flags_in(ctx("flags", "PRBLEU").out)
    assert "--rtt-bt" not in flags_in(ctx("flags", "bertr").out)


def test_metrics_of_sacrebleu_have_their_flags_there(ctx):
    assert ctx("flags", "bleu").out == "The flags of bleu are sacrebleu's own: sacrebleu --help\n"


@pytest.mark.parametrize(
    "name, says",
    [
        ("comte", "there is no metric 'comte'; did you mean comet?"),
        ("rouge", "there is no metric 'rouge'; there are bleu, chrf, ter, "),
        ("xcomet", "there is no metric 'xcomet'; give -m comet --comet-model Unbabel/XCOMET-XL"),
    ],
)
def test_an_unknown_metric_is_one_line(ctx, name, says):
    done = ctx("flags", name)
    assert (done.code, done.out) == (2, "") and says in done.err.splitlines()[-1]
