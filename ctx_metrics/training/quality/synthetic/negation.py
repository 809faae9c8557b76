"""Takes negation out of a sentence, or puts it in, where a few words of its language do so safely.

For each language: what holds a negation and what it becomes without it; what can be negated and how; and what is left alone,
such as "not only". A pattern that could be wrong is left out, since a sentence without any is simply not changed.
"""

import re
from typing import NamedTuple

import numpy as np

from ....language import primary

Rule = tuple[re.Pattern[str], str]


class Negation(NamedTuple):
    """Rules of a language: (pattern, replacement) to remove and to insert a negation, and texts that rules do not apply to.

    unless        at a place: no rule applies where this matches
    anywhere      in a text: no negation is removed if this is found, such as a second negative word
    """

    remove: list[Rule]
    insert: list[Rule]
    unless: re.Pattern[str] | None = None
    anywhere: re.Pattern[str] | None = None


def _rules(*pairs: tuple[str, str]) -> list[Rule]:
    return [(re.compile(pattern), replacement) for pattern, replacement in pairs]


def _any(words: str) -> str:
    return rf"(?:{'|'.join(words.split())})"


def _before(negation: str, verbs: str, clitics: str) -> list[Rule]:
    """Rules that put a word before one of some verbs, unless a clitic or the word itself is before the verb."""
    # no lookbehind of several lengths: what may not come before is matched, too, and left
    return _rules((rf"(?<=\w )(?<!\b{negation} ){_not_after(clitics)}(?={_any(verbs)} \w)", f"{negation} "))


def _not_after(words: str) -> str:
    return "".join(rf"(?<! {word} )" for word in words.split())


_EN = "is are was were will would can could should must may might"
_NOT_CLITIC = rf"(?<=\w ){_not_after('ne se me te nous vous le la les lui leur y en')}"
_NEGATIONS = {
    "en": Negation(
        _rules(
            (rf"(?<= )({_any(_EN + ' do does did has have had')}) not(?= \w)", r"\1"),
            (r"\bcannot\b", "can"),
            (r"\bcan['’]t\b", "can"),
            (r"\bwon['’]t\b", "will"),
            (rf"\b({_any('is are was were could should would must has have had do does did')})n['’]t\b", r"\1"),
            (r"(?<= )never(?= \w)", "always"),
            (r"(?<= )no longer(?= \w)", "still"),
        ),
        _rules((rf"(?<=\w )({_any(_EN)})(?= (?!not\b|no\b|never\b|it\b|he\b|she\b|you\b|we\b|they\b)\w)", r"\1 not")),
        re.compile(r"not (?:only|just|least|to mention|necessarily)\b"),
        re.compile(r"\?|\b(?:any|anyone|anything|ever|neither|nor)\b"),
    ),
    "de": Negation(
        _rules(
            (r"(?<=\w) nicht(?= \w|[.,;!])", ""),
            (r"\bkein(e[nmrs]?)\b", r"dies\1"),
            (r"\bkein\b", "ein"),
            (r"(?<= )(?:nie|niemals)(?= \w|[.,;!])", "immer"),
            (r"\bniemand\b", "jeder"),
        ),
        _rules(
            (
                rf"(?<=\w )({_any('ist sind war waren wird wurde wurden kann konnte darf soll')})"
                rf"(?= (?!ein(?:e[nmrs]?)?\b|kein|nie|{_any('nicht und oder aber als wie sich es er sie man')}\b)\w)",
                r"\1 nicht",
            ),
            (r"(?<=\w )(ist|war|wird|wurde) ein(e[nmrs]?)?(?= \w)", r"\1 kein\2"),
        ),
        re.compile(r" ?nicht (?:nur|zuletzt|einmal|mehr)\b"),
        re.compile(r"\?"),
    ),
    "fr": Negation(
        _rules(
            (r"(?<= )(?<!\b[CcJj]e )(?:ne |n['’])(\w+) (?:pas|jamais|plus)(?= (?!de\b|d['’]|que\b)\w|[.,;!])", r"\1"),
            (r"\b([Cc])e n['’]est pas(?= \w)", r"\1’est"),
        ),
        _rules(
            (rf"{_NOT_CLITIC}(est|était|étaient)(?= (?!pas\b|plus\b|jamais\b)\w)", r"n’\1 pas"),
            (
                rf"{_NOT_CLITIC}({_any('sont sera seront peut peuvent doit doivent')})(?= (?!pas\b|plus\b)\w)",
                r"ne \1 pas",
            ),
            (r"\b([Cc])['’]est(?= (?!pas\b|plus\b|jamais\b)\w)", r"\1e n’est pas"),
        ),
        re.compile(r"(?:ne |n['’])\w+ pas (?:seulement|uniquement|que)\b"),
        re.compile(r"\?|\b(?:aucune?|rien|personne|ni)\b"),
    ),
    "es": Negation(
        _rules((r"(?<=\w )no (?=\w)", ""), (r"(?<= )nunca(?= \w)", "siempre")),
        _before(
            "no",
            "es son era eran fue fueron está están puede pueden será serán ha han debe deben tiene tienen",
            "se lo la le les me te nos los las nunca tampoco",
        ),
        re.compile(r"no (?:obstante|solo|sólo|solamente|más)\b"),
        re.compile(r"\?|\b(?:nada|nadie|ning[uú]n\w*|ni|tampoco)\b"),
    ),
    "it": Negation(
        _rules((r"(?<=\w )non (?=\w)", "")),
        _before(
            "non",
            "è sono era erano sarà saranno può possono deve devono ha hanno viene vengono",
            "si ci lo la li le mi ti vi ne mai",
        ),
        re.compile(r"non (?:solo|soltanto|solamente|appena)\b"),
        re.compile(r"\?|\b(?:mai|niente|nulla|nessun\w*|né|più)\b"),
    ),
    "pt": Negation(
        _rules((r"(?<=\w )não (?=\w)", ""), (r"(?<= )nunca(?= \w)", "sempre")),
        _before(
            "não",
            "é são era eram foi foram está estão pode podem será serão deve devem tem têm",
            "se lhe lhes me te nos nunca também",
        ),
        re.compile(r"não (?:obstante|só|apenas|somente)\b"),
        re.compile(r"\?|\b(?:nada|ninguém|nenhum\w*|nem)\b"),
    ),
    "ru": Negation(
        _rules((r"(?<= )никогда не(?= \w)", "всегда"), (r"(?<=\w )(?<!никогда )не (?=\w)", "")),
        _before(
            "не",
            "был была было были будет будут может могут мог могла могли должен должна должны является являются "
            "хочет хотят имеет имеют станет смог смогла смогли",
            "не бы",
        ),
        re.compile(r"не (?:только|менее|более|раз|просто|столько|столь|смотря)\b"),
        re.compile(r"\?|\b(?:ничего|никто|никого|никому|никак\w*|ни|нигде|нельзя)\b"),
    ),
    "uk": Negation(
        _rules((r"(?<= )ніколи не(?= \w)", "завжди"), (r"(?<=\w )(?<!ніколи )не (?=\w)", "")),
        _before(
            "не",
            "був була було були буде будуть може можуть міг могла могли повинен повинна повинні має мають хоче "
            "хочуть зміг змогла змогли",
            "не б би",
        ),
        re.compile(r"не (?:тільки|лише|менш|більш|раз|просто|стільки)\b"),
        re.compile(r"\?|\b(?:нічого|ніхто|нікого|нікому|жодн\w*|ні|ніде)\b"),
    ),
    "cs": Negation(
        _rules(
            (r"\bnení\b", "je"),
            (
                r"\bne(jsou|jsem|jsme|byl[aoiy]?|bude|budou|může|mohou|mohl[aoiy]?|má|mají|měl[aoiy]?|musí|chce|chtějí|"
                r"chtěl[aoiy]?)\b",
                r"\1",
            ),
        ),
        _rules(
            (r"(?<=\w )je(?= \w)", "není"),
            (r"(?<=\w )(jsou|byl[aoiy]?|bude|budou|může|mohou|mohl[aoiy]?|mají|musí|chce|chtějí)(?= \w)", r"ne\1"),
        ),
        None,
        re.compile(r"\?|\b(?:nikdy|nikdo|nic|žádn\w*|ani|nejen)\b"),
    ),
    "pl": Negation(
        _rules((r"(?<=\w )nie (?=\w)", "")),
        _before(
            "nie",
            "jest są był była było były będzie będą może mogą musi muszą ma mają chce chcą został została zostały",
            "nie by",
        ),
        re.compile(r"nie (?:tylko|mniej|więcej|raz|tyle)\b"),
        re.compile(r"\?|\b(?:nigdy|nikt|nikogo|nic|niczego|żad\w*|ani)\b"),
    ),
    "zh": Negation(
        _rules(
            (
                "(?<![绝絕决決并並毫从從也而])不(?=是|会|會|能|可以|可能|应|應|同意|需要|想|知道|允许|支持|愿意|希望|接受)",
                "",
            ),
            ("(?<![并並从從还還也])(?:没有|沒有)(?=[^，。、；？！])", "有"),
            ("(?:无法|無法)", "可以"),
            ("(?:从未|從未)", "一直"),
        ),
        _rules(
            ("(?<=[^不的个個一所有])(?=可以|应该|應該|能够|能夠|愿意|願意)", "不"),
            ("(?<=[将將都也就])(?=[会會][^议議员員长長])", "不"),
            ("(?<=[这那這他她它们們我你])(?=是[^否非不])", "不"),
        ),
        re.compile("不(?:可能不|得不|能不|会不|會不|是.{0,8}而是|仅|僅|只)|没有.{0,6}(?:就|不)"),
        re.compile("[?？]|不但|不仅|不僅|是不是|能不能|会不会|有没有"),
    ),
    "ja": Negation(
        _rules(
            ("(?:ではありません|じゃありません)(?=[。、]|$)", "です"),
            ("ませんでした(?=[。、]|$)", "ました"),
            ("(?<!あり)(?<!かもしれ)(?<!すみ)ません(?=[。、]|$)", "ます"),
            ("(?:ではない|でない)(?=[。、]|$)", "である"),
            ("できない(?=[。、]|$)", "できる"),
            ("ていない(?=[。、]|$)", "ている"),
            ("ていなかった(?=[。、]|$)", "ていた"),
        ),
        _rules(
            ("(?<![いたんうく])です(?=[。]|$)", "ではありません"),
            ("(?<!ござい)ました(?=[。]|$)", "ませんでした"),
            ("(?<!あり)(?<!ござい)ます(?=[。]|$)", "ません"),
            ("である(?=[。]|$)", "ではない"),
            ("できる(?=[。]|$)", "できない"),
            ("ている(?=[。]|$)", "ていない"),
            ("ていた(?=[。]|$)", "ていなかった"),
        ),
        re.compile("ではないか"),
        re.compile("[?？]|なければ|しか"),
    ),
}
LANGUAGES = tuple(_NEGATIONS)


def flip_negation(text: str, language: str | None, draw: np.random.Generator) -> str | None:
    """Take one negation out of a text, or put one in if there is none to take out; None if that is not safe.

    >>> flip_negation("Er ist nicht hier.", "de", np.random.default_rng(1))
    'Er ist hier.'
    >>> flip_negation("Er ist hier, sagt sie.", "de", np.random.default_rng(1))
    'Er ist nicht hier, sagt sie.'
    """
    negation = _NEGATIONS.get(primary(language))
    if negation is None:
        return None
    removed = _places(text, negation.remove, negation.unless)
    if removed and negation.anywhere is not None and negation.anywhere.search(text):
        return None
    places = removed or ([] if "?" in text or "？" in text else _places(text, negation.insert, negation.unless))
    if not places:
        return None
    match, replacement = places[int(draw.integers(len(places)))]
    new = match.expand(replacement)
    return text[: match.start()] + (new.replace("’", "'") if "'" in text else new) + text[match.end() :]


def _places(text: str, rules: list[Rule], unless: re.Pattern[str] | None) -> list[tuple[re.Match[str], str]]:
    found = [(match, replacement) for pattern, replacement in rules for match in pattern.finditer(text)]
    if unless is None:
        return found
    left = [match.span() for match in unless.finditer(text)]
    return [
        (match, replacement)
        for match, replacement in found
        if not any(begin <= match.end() and match.start() < end for begin, end in left)
    ]
