"""Guards: outputs that copy the source, empty ones, and a back-translator that is the system under test."""

import random

import pytest
from sacrebleu.metrics import CHRF

from ctx_metrics.roundtrip.guards import copies, guards, other_languages, same_engine

PLAN = "Der Plan wurde am Montag vom Rat der Stadt angenommen ."


def test_counts_and_notices():
    sources = ["Hallo Welt", "Guten Tag", "ja", "", "nein", "eins zwei"]
    outputs = ["hallo  welt ", "", "yes", "", "no", "\t"]
    trips = ["hallo welt", "", "ja", "", " ", ""]
    counts, said = guards(sources, outputs, trips)
    assert counts == {
        "source_copies": 1,
        "empty_outputs": 3,
        "empty_roundtrips": 1,
        "untranslated": 0,
        "equal_to_source": 1,
    }
    assert [(each.kind, each.first) for each in said] == [
        ("source_copies", (0,)),
        ("empty_outputs", (1, 3, 5)),
        ("empty_roundtrips", (4,)),
    ]


SOURCES, OUTPUTS, TRIPS = (
    [f"{text} {number}" for number in "abcd"] + ["", ""] for text in ("die Katze", "the cat", "eine Katze")
)


@pytest.mark.parametrize(
    "kind, given", [("untranslated", [f"The  cat {number} " for number in "ABCD"]), ("equal_to_source", SOURCES)]
)
def test_another_text_given_for_round_trips(kind, given):
    """There is a notice of it where it is more than half of the 4 outputs with text; two more are empty."""
    for number in range(4):
        counts, notices = guards(SOURCES, OUTPUTS, given[:number] + TRIPS[number:])
        assert counts == {**dict.fromkeys(counts, 0), kind: number, "empty_outputs": 2}
        found = [(each.kind, each.number) for each in notices]
        assert found == [("empty_outputs", 2), *([(kind, 3)] if number == 3 else [])]


def test_the_round_trip_of_a_copy_is_the_copys_alone():
    """It equals source and output because the output is the source, which is said already."""
    counts, said = guards(SOURCES, SOURCES, SOURCES)
    assert (counts["source_copies"], counts["untranslated"], counts["equal_to_source"]) == (4, 0, 0)
    assert len(said) == 2  # the copies and the empty outputs


def test_without_the_source_nothing_equals_it():
    assert guards([""] * 2, ["one", "two"], ["", "zwei"])[0]["equal_to_source"] == 0


@pytest.mark.parametrize(
    "source, output, copied",
    [
        ("STRASSE", "straße", True),  # casefold, beyond lower
        ("a b", "ab", False),
        ("", "", False),
        ("  ", "", False),
        (PLAN, PLAN.replace(" .", "."), True),  # chrF takes no white space
        (PLAN, PLAN.replace("Montag", "Monday"), False),
        ("Der Plan gilt", "Der Plan gilt.", False),  # 3 words: a near copy counts from 4 on
        (PLAN, "The plan was adopted by the city council on Monday .", False),
    ],
)
def test_copies(source, output, copied):
    assert copies(source, output) is copied


def test_near_copies_are_those_of_the_whole_rule():
    """Against the rule without its shortcut, on texts with some changed letters and words."""
    drawn, chrf, near = random.Random(1), CHRF(), 0
    words = "stadt rat plan montag angenommen wurde haushalt donaudampfschifffahrt der am".split()
    for _ in range(150):
        source = drawn.choices(words, k=drawn.randint(4, 30))
        output = list(source)
        for _ in range(drawn.randint(0, 4)):
            k = drawn.randrange(len(output))
            word = output[k]
            output[k] = drawn.choice([word + "s", word[:-1] or "x", word.upper(), drawn.choice(words)])
        source, output = " ".join(source), " ".join(output)
        whole = source.casefold() == output.casefold() or chrf.sentence_score(output, [source]).score >= 95
        near += whole
        assert copies(source, output) == whole, (source, output)
    assert 20 < near < 130


OPUS = "hf-Helsinki-NLP/opus-mt-de-en@0123456789ab-0123456789ab-beams6"


@pytest.mark.parametrize(
    "identity, name, same",
    [
        (OPUS, "out/opus-mt-en-de.txt", True),
        (OPUS, "opus.de", True),
        (OPUS, "out/google.en-de.txt", False),
        ("hf-facebook/nllb-200-distilled-600M@0123456789ab-0123456789ab-deu_Latn-eng_Latn-beams5", "nllb.txt", True),
        ("hf-facebook/nllb-200-distilled-600M-0123456789ab-deu_Latn-eng_Latn-beams5", "distilled.txt", False),
        ("hf-facebook/wmt19-de-en-0123456789ab-beams5", "newstest2019.wmt19.txt", False),  # names of test sets
        ("cmd-0123456789ab-google-2026", "newstest2019.Google.0.en-de", True),
        ("cmd-0123456789ab-google-2026", "newstest2019.2026.en-de", False),
        ("cmd-0123456789ab", "cmd.txt", False),  # without a label it has no name
        ("google", "google.txt", True),
        ("google", "", False),
        ("", "google.txt", False),
        ("", "", False),
    ],
)
def test_same_engine(identity, name, same):
    assert same_engine(identity, ["other.txt", name]) == [name] * same


EN, DE, FR, ZH = (
    [f"{line} {number}" for number in range(40)]
    for line in (
        "the council of the city said that it had not seen the plan and that it was not of use to them",
        "der Rat der Stadt sagte dass er den Plan nicht gesehen hat und dass er ihm nicht von Nutzen ist",
        "le conseil de la ville a dit qu'il n'a pas vu le plan et que le plan ne lui est pas utile du tout",
        "市议会说它没有看到这个计划这个计划对他们没有用市议会说它没有看到这个计划",
    )
)
OTHER = "; the back-translator reads one language, and round trips from another do not measure quality"


@pytest.mark.parametrize(
    "sources, systems, trips, said",
    [
        (EN, [DE, DE, DE], [EN, EN, EN], []),
        (EN, [DE, FR, DE], [EN, EN, EN], ["b seems to be in another language than the other systems" + OTHER]),
        (None, [ZH, ZH, DE], [EN, EN, EN], ["c seems to be in another language than the other systems" + OTHER]),
        (
            EN,
            [DE, FR],
            [EN, EN],
            ["a seems to be in another language than b" + OTHER, "b seems to be in another language than a" + OTHER],
        ),
        (EN, [DE, EN], [EN, EN], ["b seems to be in the source's language"]),
        (EN, [EN], [EN], ["a seems to be in the source's language"]),
        (EN, [FR], [FR], ["the round trip of a does not seem to be in the source's language"]),
        (EN, [DE, FR[:9]], [EN, FR[:9]], []),  # too few words to tell
        (EN, [], [EN], []),
    ],
)
def test_systems_in_another_language(sources, systems, trips, said):
    found = other_languages("abc"[: len(systems)], sources, systems, trips)
    assert len(found) == len(said) and all(map(str.startswith, found, said)), found
