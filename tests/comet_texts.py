"""Sources, hypotheses and references to score: short, long, empty, many scripts, and literal special tokens."""

import numpy as np
from comet_checkpoints import WORDS

SCRIPTS = (
    "дом река light 猫が走る 老树 город bird, (old) rain! 今天下雨 ابحر हिन्दी 한국어 äöü NASA 1984 ... x-y".split()
)


def _long(seed: int, words: int) -> str:
    """A text of so many words, different for each seed."""
    random = np.random.RandomState(seed)
    return " ".join(np.array(WORDS * 2 + SCRIPTS)[random.randint(0, 2 * len(WORDS) + len(SCRIPTS), words)])


ORDINARY = [  # source, hypothesis, reference
    ("Die Katze saß auf der Matte.", "The cat sat on the mat.", "The cat was sitting on the mat."),
    ("Der alte Baum am Fluss", "old tree river", "The old tree by the river"),
    (
        "Ein Hund lief schnell nach Hause, weil es regnete.",
        "A dog ran fast home in rain",
        "A dog ran home fast because it rained.",
    ),
    ("Хлеб и вода.", "Bread and water.", "Bread and water."),
    ("Быстрая река течёт через город", "The red dog is under the mat", "A fast river flows through the city"),
    ("猫が川を走る。", "The cat runs along the river.", "A cat is running over the river."),
    ("我们在老城里走", "we walk in the old city", "We are walking in the old town"),
    ("今天下雨了。", "今天下雨", "今天下雨了。"),
    ("القلب يعلم", "the heart knows", "The heart knows."),
    ("हिन्दी में", "in Hindi", "In Hindi!"),
    ("한국어", "Korean", "한국어"),
    ("L'été, le café était fermé.", "In summer the cafe was closed", "In summer, the café was closed."),
    ("a", "b", "c"),
    ("the", "the", "the"),
    ("Ja!", "No...", "Yes!"),
    ("1984 - 2001", "1984 to 2001", "from 1984 to 2001"),
    (
        "Wer singt das langsame Lied?",
        "Who sings the slow song? Who sings the slow song?",
        "Who is singing that slow song?",
    ),
    ("Licht", "The city light under the old red tree sat on a mat and the bird ran home in the rain", "Light"),
    (
        "Regen in der Stadt und Licht auf dem Fluss und ein Vogel im Baum",
        "rain",
        "Rain in the city, light on the river",
    ),
    ("Ein Lied", "SONG SONG SONG SONG", "A song"),
]
EMPTY = [
    ("", "", ""),
    ("Die Katze", "", "The cat"),
    ("", "the cat", ""),
    ("Die Katze", "the cat", ""),
    ("", "the cat", "The cat"),
    (" ", "  ", "\t"),
]
ODD = [
    ("Zwei  Leerzeichen  hier", "two  spaces   here ", "Two spaces here"),
    ("cafe\u0301 e\u0301te\u0301", "the cafe\u0301 in summer\u0301", "the café in summer"),
    ("ﬁne ½ ①", "ﬁsh and ½ bird…", "fish and half bird"),
    ("🙂 Hund 👍", "dog 🙂👍 cat 🚀", "🙂 dog 👍🏽"),
    ("zero\u200bwidth\u00a0space", "zero\u200bwidth\u00a0space", "zero width space"),
    ("eins </s> zwei", "one </s> two", "one </s> two"),
    ("das <mask> Tier", "the <mask> animal <s>", "the <s> animal"),
    ("ein [SEP] zwei [MASK]", "one [SEP] two [CLS] three", "one [SEP] two"),
    ("vor <pad> nach", "before after", "before after"),
    ("vor nach", "before <pad> the cat after", "before <pad> after"),
    ("vor [PAD] nach", "before [PAD] the cat after", "before [PAD] after"),
    ("<s></s><unk>", "[UNK] <unk> unk", "</s>"),
    ("漢字\n二行", "two\nlines\there", "two lines\r\nhere"),
    ("☃☃☃", "☃☃☃ ☃", "☃"),
]
LONG = [  # up to three of the texts are cut, or only their concatenation is
    (_long(1, 400), _long(2, 380), _long(3, 390)),
    ("Kurz.", _long(4, 350), "Short."),
    (_long(5, 420), "a short one", "Short."),
    ("Kurz.", "a short one", _long(6, 400)),
    (_long(7, 110), _long(8, 110), _long(9, 110)),
    (_long(10, 60), _long(11, 150), _long(12, 70)),
    (_long(13, 40), _long(14, 45), _long(15, 42)),
    ("a" * 600, "b" * 509, "c" * 508),
    ("猫" * 506, "犬" * 507, "雨" * 511),
]
TEXTS = [*ORDINARY, *EMPTY, *ODD, *LONG]

CONTEXT = [  # two or three sentences joined by " </s> ", the last of which is scored
    tuple(" </s> ".join(TEXTS[i + k][side] for k in range(size)) for side in range(3))
    for i, size in [(0, 2), (1, 3), (3, 2), (5, 3), (11, 2), (14, 3), (16, 2), (19, 2), (23, 3), (44, 2), (45, 2)]
]
