"""The page that --ctx-report adds to a run of the sacrebleu command."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..notices import shown_notices
from ..plugin.arguments import RunOutput

if TYPE_CHECKING:
    from ..plugin.capture import CommandRun
    from ..scoring.testing import Design


def check(run: "CommandRun") -> None:
    from .content import check_size
    from .page import check_installed

    check_installed()
    check_size(run.systems)
    _design(run)


def text(run: "CommandRun") -> str:
    from ..scoring.comparison import Column
    from ..scoring.scores import all_scores
    from .content import Content
    from .page import page, title_of

    of_texts = run.of([], run.references, run.systems, REPORT.reads).context
    context = replace(of_texts, doc_ids=run.document_ids(), names=run.names())
    of_metrics = all_scores(run.metrics.values(), context.systems, context.doc_ids)
    design = _design(run)
    design.say_what_is_rough(run.metrics, "--ctx-resample")
    columns = [
        Column.of(*each, of_systems, design) for each, of_systems in zip(run.metrics.items(), of_metrics, strict=True)
    ]
    content = Content(context, design, columns, [str(each) for each in shown_notices()])
    return page([content], title_of(content))


def _design(run: "CommandRun") -> "Design":
    from ..scoring.testing import SystemTests

    return SystemTests(resample=run.asked.settings.ctx_resample).design(
        run.systems, run.document_ids(), "--ctx-resample"
    )


REPORT = RunOutput(
    flag="--ctx-report",
    metavar="FILE.html",
    help="Also write a page with systems, segments, documents and charts to FILE.html.",
    check=check,
    text=text,
    tests=True,
    reads=frozenset({"sources"}),
    explain=True,
)
