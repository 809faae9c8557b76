"""Prints all values of a metric with full precision: `python values.py "BERTR(references, systems, target_lang='en')"`.

The expression sees the names of ctx_metrics and of sacrebleu.metrics and the examples: references, source, docids, and the
outputs a, b, c and systems; further words assign more names: `"bees=read_lines('bees.txt')"`.
"""

import sys


def main(expression: str, *assignments: str) -> None:
    import sacrebleu.metrics

    import ctx_metrics

    known = {**vars(sacrebleu.metrics), **vars(ctx_metrics)}
    read = ctx_metrics.read_lines
    a, b, c = (read(f"system_{letter}.en.txt") for letter in "abc")
    known |= {"a": a, "b": b, "c": c, "systems": [a, b, c], "references": [read("ref.en.txt")]}
    known |= {"source": read("source.de.txt"), "docids": read("docids.txt")}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        known[name] = eval(value, known)
    metric = eval(expression, known)
    print(repr(metric))
    for system in known["systems"]:
        score = metric.corpus_score(system, None)
        print(repr(float(score.score)), score, score.format(width=12), {k: v for k, v in vars(score).items() if v})
        print(attempt(lambda system=system: [repr(float(value)) for value in metric.segment_scores(system, None)]))
    print(attempt(lambda: metric.corpus_score(a, None, n_bootstrap=50)))
    print(
        attempt(lambda: [repr(float(metric.sentence_score(a[k], [known["references"][0][k]]).score)) for k in (0, 7)])
    )
    print(metric.get_signature())
    print(metric.get_signature().format(short=True))


def attempt(call) -> object:
    """What is returned, or the error in words: not every metric scores single sentences."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(*sys.argv[1:])
