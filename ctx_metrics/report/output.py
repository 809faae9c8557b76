"""The page that --report adds to a run, and --ctx-report to one of the sacrebleu command."""

from typing import TYPE_CHECKING

from ..notices import shown_notices
from ..run.outputs import RunOutput

if TYPE_CHECKING:
    from ..run.run import RunScores
    from ..scoring.context import Context
    from ..scoring.testing import SystemTests


def check(context: "Context", testing: "SystemTests") -> None:
    from .content import check_size
    from .page import check_installed

    check_installed()
    check_size(context.systems)
    testing.design(context.systems, context.doc_ids)


def text(run: "RunScores", testing: "SystemTests") -> str:
    from ..cli.common.comparisons import columns_of
    from .content import Content
    from .page import page, title_of

    design = testing.design(run.context.systems, run.context.doc_ids)
    design.say_what_is_rough(run.metrics)
    columns = columns_of(run, design)
    content = Content(run.context, design, columns, [str(each) for each in shown_notices()])
    return page([content], title_of(content))


REPORT = RunOutput(
    name="report",
    metavar="FILE.html",
    help="Also write a page with systems, segments, documents and charts to FILE.html.",
    check=check,
    text=text,
    tests=True,
    reads=frozenset({"sources"}),
    explain=True,
)
