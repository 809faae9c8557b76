"""Human judgements as rows to learn from."""

from typing import NamedTuple, Optional

from ..meta.judged import JudgedSet, is_human


class Judgement(NamedTuple):
    """One human score of one output. Scores are comparable within a data set only, where higher is better.

    dataset    such as "newstest2016.cs-en"; document is None where it is not known
    """

    hypothesis: str
    reference: str
    score: float
    dataset: str
    system: str
    document: Optional[str]


def judgements(judged: JudgedSet) -> list[Judgement]:
    """The outputs of a set, segment after segment, of all systems but human ones, beside the first reference.

    The score is NaN where nobody judged an output. Outputs that are not there are left out.

    >>> import numpy as np
    >>> scores = np.array([[0.5, np.nan], [1.0, 0.0]])
    >>> judged = JudgedSet("toy", ["A", "refB"], 2, [["a", "b"], ["c", "d"]], [["x", "y"]], segment_scores=scores)
    >>> [each[:4] for each in judgements(judged)]
    [('a', 'x', 0.5, 'toy'), ('b', 'y', nan, 'toy')]
    """
    machines = [i for i, system in enumerate(judged.systems) if not is_human(system)]
    documents = judged.doc_ids or [None] * judged.segments
    return [
        Judgement(
            text,
            judged.references[0][segment],
            float(judged.segment_scores[i, segment]),
            judged.name,
            judged.systems[i],
            documents[segment],
        )
        for segment in range(judged.segments)
        for i in machines
        if (text := judged.hypotheses[i][segment]) is not None
    ]
