"""Translates all systems' outputs back into the source language, each distinct line once."""

from collections.abc import Sequence
from contextlib import closing

from tqdm import tqdm

from ..corpus import Corpus
from ..engine_options import EngineOptions
from ..notices import counted, notice
from .back_translation import BATCH_LINES, BackTranslation, BackTranslator, Translation
from .cache import TranslationCache


def round_trips(
    systems: Sequence[Sequence[str]],
    source_lang: str | None,
    target_lang: str | None,
    options: BackTranslation,
    engine: EngineOptions = EngineOptions(),
) -> tuple[list[list[str]], str]:
    """Return each system's round trip, line by line, and the back-translator's identity for the signature.

    Blank lines become empty and are not translated. Cached lines are not translated again, and finished translations are in
    the cache even if the process is stopped. Translations without text, such as those of a failing service, are returned
    but not cached. Notices say how many lines came from the cache, and how many were cut.

    systems    outputs in the language `target_lang`, to be translated into `source_lang`
    """
    streams = [[_one_line(text) for text in Corpus(system).hypotheses] for system in systems]
    translator = back_translator(options, source_lang, target_lang, engine)
    lines = list(dict.fromkeys(line for stream in streams for line in stream if line))
    with closing(TranslationCache(options.cache_folder, translator.name)) as cache:
        known = cache.get(lines)
        if known:
            notice(
                f"round trip: {len(known)} of {counted(len(lines), 'distinct line', 'distinct lines')} from the "
                f"cache {cache.path}; if they are out of date, give --rtt-cache none or another --rtt-bt-name"
            )
        missing = [line for line in lines if line not in known]
        try:
            with tqdm(
                total=len(missing), desc="round trip", unit="line", disable=True if engine.quiet else None, leave=False
            ) as bar:
                for chunk in translator.chunks(missing) if missing else ():
                    made = dict(zip(chunk, translator.translate(chunk), strict=True))
                    cache.put({line: each for line, each in made.items() if each.text.strip()})
                    known |= made
                    bar.update(len(chunk))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_kept(cache, lines, options)) from None
    _say_cuts([known[line] for line in lines])
    return [[known[line].text if line else "" for line in stream] for stream in streams], translator.name


def back_translator(
    options: BackTranslation,
    source_lang: str | None = None,
    target_lang: str | None = None,
    engine: EngineOptions = EngineOptions(),
) -> BackTranslator:
    """Return the back-translator that the options name, from target_lang into source_lang (of the run)."""
    if options.is_command:
        from .command_translator import CommandTranslator

        return CommandTranslator(options)
    from .model_translator import ModelTranslator

    return ModelTranslator(options, source_lang, target_lang, engine)


def _one_line(text: str) -> str:
    return " ".join(text.split("\n")) if text.strip() else ""


def _kept(cache: TranslationCache, lines: Sequence[str], options: BackTranslation) -> str:
    """Describe the work that the next run can reuse after this one is stopped."""
    if cache.path is None:
        return "nothing is kept; the same command starts from the beginning"
    kept, portion = len(cache.get(lines)), ""
    if options.is_command and kept < len(lines):
        most = counted(options.batch_lines or BATCH_LINES, "line", "lines")
        portion = f"; a batch of {most} is kept as a whole or not at all; --rtt-batch-lines makes batches smaller"
    return (
        f"{kept} of {counted(len(lines), 'distinct line', 'distinct lines')} {'is' if kept == 1 else 'are'} kept in "
        f"{cache.path}; run the same command again to continue{portion}"
    )


def _say_cuts(translations: Sequence[Translation]) -> None:
    if cut := sum(each.input_cut for each in translations):
        notice(
            f"round trip: {cut} of {counted(len(translations), 'distinct line', 'distinct lines')} were too long for the "
            "model and were truncated before translation"
        )
    if cut := sum(each.output_cut for each in translations):
        notice(
            f"round trip: {counted(cut, 'translation', 'translations')} of {len(translations)} reached the maximum "
            "length and may be incomplete; raise it with --rtt-max-length"
        )
