"""Copies of the source, other languages and repetitions: what is found in published texts, and of exchanged texts."""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from py3langid.langid import MODEL_FILE, LanguageIdentifier
from text_sets import TestSet

from ctx_metrics.checks.languages import are_close, letters, verdict
from ctx_metrics.checks.texts import KINDS, LANGUAGE, Languages, check_faults, faults
from ctx_metrics.corpus import named
from ctx_metrics.language import MIN_LETTERS
from ctx_metrics.notices import Notice, collected

SEGMENTS = 300  # of each text, drawn, that are looked at one by one
LINES = 50  # of a file that is made
EXCHANGED = 200  # segments of each language that stand for each other language's
KNOWN = frozenset(LanguageIdentifier.from_pickled_model(MODEL_FILE).nb_classes)


def primary(code: str) -> str:
    return code.split("_")[0]


def and_known(what: str, language: str) -> str:
    return what if primary(language) in KNOWN else f"{what}; of the target language, at most the script is known"


def notices_on(systems, references=(), source=None, languages: Languages = (None, None)) -> list[Notice]:
    """The notices on some texts; systems and references are pairs of a name and lines."""
    given = [[named(lines, name) for name, lines in each] for each in (systems, references)]
    with collected() as notices:
        check_faults(*given, None if source is None else named(source, "source"), languages)
    return notices


class Faults:
    """Counts over all sets; `add` each one, then `report`."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.said: list[str] = []
        self.texts: Counter[str] = Counter()
        self.segments: dict[str, Counter[str]] = defaultdict(Counter)  # by kind of text
        self.languages: dict[str, Counter[str]] = defaultdict(Counter)
        self.files: dict[str, list[bool]] = defaultdict(list)
        self.swapped: dict[str, list[bool]] = defaultdict(list)
        self.pools: dict[str, list[str]] = defaultdict(list)
        self.seconds: Counter[str] = Counter()
        self.lines: Counter[str] = Counter()

    def add(self, each: TestSet) -> None:
        source_lang, _, target_lang = (each.pair or "en-en").partition("-")
        languages = source_lang, target_lang
        start = time.process_time()
        said = notices_on(each.systems.items(), each.references.items(), each.source, languages)
        self.seconds["files"] += time.process_time() - start
        self.lines["files"] += sum(map(len, [*each.systems.values(), *each.references.values()]))
        self.said += [f"{each.name}: {line}" for line in said]
        self._segments(each, languages)
        if each.source is not None and each.pair:
            for lines in each.systems.values():
                self._files(lines, each.source, languages)

    def _segments(self, each: TestSet, languages: Languages) -> None:
        streams = [("systems", lines, each.source, languages) for lines in each.systems.values()]
        streams += [("references", lines, each.source, languages) for lines in each.references.values()]
        streams += [("sources", each.source, None, languages[::-1])] if each.source else []
        for what, lines, source, (source_lang, target_lang) in streams:
            self.texts[what] += 1
            self.lines[what] += len(lines)
            start = time.process_time()
            for i in sorted(self.rng.sample(range(len(lines)), min(SEGMENTS, len(lines)))):
                if len(letters(lines[i])) < MIN_LETTERS:
                    continue
                found = faults(lines[i], source and source[i], source_lang, target_lang)
                self.segments[what].update(["all", *found, *(["any"] if found else [])])
                self.languages[primary(target_lang)].update(["all", *([LANGUAGE] if LANGUAGE in found else [])])
                self.lines["faults"] += 1
                if what != "systems" and LANGUAGE not in found:
                    self.pools[primary(target_lang)].append(lines[i])
            self.seconds["faults"] += time.process_time() - start
            if what == "sources" and each.pair:
                for text in self.rng.sample(lines, min(EXCHANGED, len(lines))):
                    if len(letters(text)) >= MIN_LETTERS:
                        told = verdict(text, languages[1])
                        self.swapped[and_known("for their sources", languages[1])].append(bool(told and told.wrong))

    def _files(self, lines: Sequence[str], source: Sequence[str], languages: Languages) -> None:
        start = self.rng.randrange(max(1, len(lines) - LINES + 1))
        own, of_source = lines[start : start + LINES], source[start : start + LINES]
        made = {
            "as they are (false alarms)": ([("a", own)], (), of_source, languages),
            "copies of the source": ([("a", of_source)], (), of_source, languages),
            and_known("copies, the source not given", languages[1]): ([("a", of_source)], (), None, languages),
            and_known("the pair reversed (-l de-en for en-de)", languages[0]): (
                [("a", own)],
                (),
                None,
                languages[::-1],
            ),
            "the pair reversed, the source given": ([("a", own)], (), of_source, languages[::-1]),
        }
        for what, texts in made.items():
            self.files[what].append(bool(notices_on(*texts)))

    def report(self) -> None:
        print(f"\n## Notices on published texts: {len(self.said)}\n")
        print(*self.said, sep="\n")
        print("\n## Segments of published texts with 20 letters or more: found, %\n")
        print("| texts | lines | segments looked at | " + " | ".join(KINDS) + " | any |")
        print("|---" * 7 + "|")
        for what, counts in self.segments.items():
            shares = " | ".join(f"{100 * counts[kind] / counts['all']:.3f}" for kind in (*KINDS, "any"))
            print(f"| {self.texts[what]:,} {what} | {self.lines[what]:,} | {counts['all']:,} | {shares} |")
        print("\n## The same by language: in another one, %\n")
        of_languages = sorted(self.languages.items(), key=lambda each: -each[1][LANGUAGE] / each[1]["all"])
        print(
            " · ".join(f"{code} {100 * own[LANGUAGE] / own['all']:.2f} ({own['all']:,})" for code, own in of_languages)
        )
        print(f"\n## Files of {LINES} lines with a notice\n")
        for what, outcomes in sorted(self.files.items()):
            print(f"| {what} | {len(outcomes):,} | {100 * sum(outcomes) / len(outcomes):.2f} % |")
        self._exchange()
        print("\n## Segments exchanged for others: found to be in another language\n")
        for what, outcomes in sorted(self.swapped.items(), key=lambda each: sum(each[1]) / len(each[1])):
            print(f"| {what} | {len(outcomes):,} | {100 * sum(outcomes) / len(outcomes):.2f} % |")
        for what in ("files", "faults"):
            print(f"\n{what}: {self.lines[what] / self.seconds[what]:,.0f} lines a second (CPU)")

    def _exchange(self) -> None:
        """Judge segments of each language as if they were of every other one that is not close to it."""
        for language, texts in sorted(self.pools.items()):
            for other in sorted(self.pools):
                if are_close(other, language) or other not in KNOWN:
                    continue
                told = [verdict(text, other) for text in self.rng.sample(texts, min(EXCHANGED, len(texts)))]
                outcomes = [each is not None and each.wrong for each in told]
                self.swapped["for segments in other languages"] += outcomes
                if sum(outcomes) < 0.9 * len(outcomes):
                    self.swapped[f"{language} for {other}"] += outcomes
