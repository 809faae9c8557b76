import json
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest
from plugin_conftest import REF, A

from ctx_metrics import BERTR, COMET, evaluate
from ctx_metrics.errors import InputError
from ctx_metrics.language import (
    MIN_WORDS,
    READ_BY_MULTILINGUAL,
    SAMPLE_WORDS,
    bleu_language,
    check_language,
    guard_english,
    language_name,
    language_pair,
    looks_english,
    primary,
    script,
)
from ctx_metrics.language_codes import NAMES, SHORTEST
from ctx_metrics.scoring.tokenization import tokenizer_for

ROOT = Path(__file__).resolve().parents[1]
ENGLISH = "It was not the first time that they had seen the river from the bridge, and it would not be the last."
GERMAN = "Es war nicht das erste Mal, dass sie den Fluss von der Brücke aus sahen, und es sollte nicht das letzte sein."
DUTCH = "Het was niet de eerste keer dat zij de rivier vanaf de brug zagen en het zou ook niet de laatste keer zijn."
RUSSIAN = "Они не впервые видели реку с моста."
CHINESE = "他们不是第一次从桥上看到这条河。"


def test_looks_english():
    assert looks_english([ENGLISH] * 3)
    assert not [text for text in (GERMAN, DUTCH, RUSSIAN, CHINESE) if looks_english([text] * 3)]


def test_too_little_to_tell_counts_as_english():
    assert looks_english([])
    assert looks_english(["", None, "42 % !"])
    assert looks_english([" ".join(["Katze"] * (MIN_WORDS - 1))])
    assert not looks_english([" ".join(["Katze"] * MIN_WORDS)])


def test_only_a_sample_is_read():
    def texts():
        yield "the cat and the dog " * (SAMPLE_WORDS // 5)
        raise AssertionError("read on after the sample")

    assert looks_english(texts())


def test_a_known_other_language_is_an_error_unasked_and_said_when_asked(caplog):
    for language in ("en", "EN", "en_GB", "en-US", "eng"):
        guard_english("bertr", "--flag", False, language=language, texts=[GERMAN] * 3)
    with pytest.raises(InputError, match="the language is German"):
        guard_english("bertr", "--flag", False, language="de", texts=[ENGLISH])
    assert not caplog.records
    guard_english("bertr", "--flag", True, language="de", texts=[ENGLISH])
    assert len(caplog.messages) == 1 and "because --flag asks for it" in caplog.messages[0]


def test_an_unknown_language_is_said_when_the_text_is_not_english(caplog):
    guard_english("bertr", "--flag", False, language=None, texts=[ENGLISH] * 3)
    assert not caplog.records
    guard_english("bertr", "--flag", False, language=None, texts=[GERMAN] * 3)
    guard_english("bertr", "--flag", False, language=None, texts=[GERMAN] * 3, fix="ask another")
    fixes = ["name another model, or the language", "ask another"]
    assert [said.partition("does not look English; ")[2] for said in caplog.messages] == fixes


def test_tags_of_one_language_pass():
    for tag in "de deu zh-Hans zh_CN pt-BR sr-Latn-RS deu_Latn en_GB de-1996 fr-fr en-gb gsw tlh ko_kr sv_se".split():
        check_language("target_lang", tag)


@pytest.mark.parametrize(
    "tag, says",
    [
        ("de-en", "is a language pair; give source_lang='de', target_lang='en'"),
        ("zh-Hans-en", "is a language pair; give source_lang='zh-Hans', target_lang='en'"),
        ("zh-en-de", "is a language pair; give one language"),
        ("de_en", "is a language pair; give one language"),
        ("pt-br", "is a language pair; give source_lang='pt', target_lang='br', or write a region in capitals: BR"),
        ("jp", ": 'jp' is not a language code of ISO 639; did you mean 'ja'?"),
        ("xx", ": 'xx' is not a language code of ISO 639"),
        ("English", ": 'English' is not a language code such as de, pt-BR or zh-Hans"),
    ],
)
def test_others_are_refused_with_what_was_meant(tag, says):
    between = " " if says.startswith("is") else ""
    with pytest.raises(InputError) as raised:
        check_language("target_lang", tag)
    assert str(raised.value) == f"target_lang {tag!r}{between}{says}"
    with pytest.raises(InputError, match="got int"):
        check_language("target_lang", 1)


PAIRS = [
    ("de-en", ("de", "en")),
    ("zh-Hans-en", ("zh-Hans", "en")),
    ("en-pt-BR", ("en", "pt-BR")),
    ("en-US-es-MX", ("en-US", "es-MX")),
    ("fr-fr-CA", ("fr", "fr-CA")),
    ("en-zh_TW", ("en", "zh_TW")),
    ("ru-sah", ("ru", "sah")),
    ("en-ko_kr", ("en", "ko_KR")),  # as the locale alone
    ("ms_my-en", ("ms_MY", "en")),
]


def test_a_pair_keeps_scripts_and_regions():
    assert [language_pair(text) for text, _ in PAIRS] == [pair for _, pair in PAIRS]


def test_pairs_of_sacrebleus_test_sets_are_pairs():
    from sacrebleu.dataset import DATASETS

    pairs = {pair for dataset in DATASETS.values() for pair in dataset.langpairs}
    assert len(pairs) > 50 and all("-".join(language_pair(pair)) == pair for pair in pairs)


@pytest.mark.parametrize("text", ["de", "-en", "de-", "de--en", "zh-en-de", "en-zh-tw", "jp-en", "en-xx"])
def test_what_is_no_pair_is_refused(text):
    with pytest.raises(InputError, match=f"^{text}(:| is not a language pair)"):
        language_pair(text)


@pytest.mark.parametrize("metric, apart", [(COMET, "source_lang='de', target_lang='en'"), (BERTR, "target_lang='en'")])
def test_a_metric_names_the_parameters_that_it_takes(metric, apart):
    with pytest.raises(InputError, match=f"^target_lang 'de-en' is a language pair; give {apart}$"):
        metric(target_lang="de-en")


def test_a_source_language_that_the_model_was_not_trained_on_is_said_once(multilingual, caplog):
    says = "comet: the multilingual encoder was not trained on {}, the source language; the scores may be unreliable"
    for language, named, more in (("tlh", "tlh", ""), ("se", "Northern Sami (se)", "; did you mean 'sv'?")):
        caplog.clear()
        metric = COMET(sources=["Qapla'"], source_lang=language, target_lang="de")
        metric.corpus_score(["Erfolg"], None)
        metric.corpus_score(["Erfolg"], [["Erfolg!"]])
        assert caplog.messages.count(says.format(named) + more) == 1
    caplog.clear()
    COMET(source_lang="tlh", target_lang="en").corpus_score(["Success"], [["Success"]])  # which reads no source
    assert "of the sources" not in caplog.text


@pytest.mark.parametrize(
    "code, says",
    [
        ("kr", "'kr' is the code of Kanuri; did you mean 'ko'?"),
        ("in", "'in' is the code of Indonesian; did you mean 'hi'?"),
        ("ko", None),
        ("ko_kr", None),
        ("et", None),
    ],
)
def test_a_country_that_is_also_a_language_is_said(caplog, code, says):
    evaluate(["word"], ["word"], metrics="chrf", target_lang=code)
    assert [each for each in caplog.messages if "is the code of" in each] == [says] * bool(says)


def test_a_pair_of_sacrebleus_own_metrics_is_its_own_business(forked_sacrebleu):
    assert forked_sacrebleu(REF, "-i", A, "-m", "bleu", "-l", "jp-en").returncode == 0


def forms(code):
    """The tags of a language as users write them, with what is to be read from each: (tag, script)."""
    for tag, named in ((code, ""), (f"{code}_Latn", "Latn"), (f"{code}-Hans", "Hans"), (f"{code}_XX", "")):
        for form in (tag, f"{tag}_001", tag.replace("_", "-")):
            for spelled in (form, form.lower(), form.upper()):
                yield spelled, named


def test_every_form_of_a_code_is_one_language():
    for code, shortest in SHORTEST.items():
        check_language("target_lang", code)
        for tag, named in forms(code):
            assert (primary(tag), script(tag)) == (shortest, named), tag


def test_every_language_has_a_name_and_only_it_has_its_codes():
    assert set(SHORTEST.values()) == NAMES.keys() >= READ_BY_MULTILINGUAL
    assert len({*NAMES.values()}) == len(NAMES) and all(name[0].isupper() for name in NAMES.values())


# ISO 639-2/B, 639-2/T and 639-3 of languages where they differ, of WMT, FLORES and NLLB
CODES = """
zh zho chi cmn|ja jpn|ko kor|de deu ger|fr fra fre|cs ces cze|fa fas per pes|nl nld dut|ro ron rum|sk slk slo|el ell gre
is isl ice|hy hye arm|ka kat geo|mk mkd mac|ms msa may zsm|my mya bur|cy cym wel|eu eus baq|sq sqi alb als|bo bod tib
mi mri mao|nb nob|nn nno|no nor|sr srp|pt por|ar ara arb arz ary apc|et est ekk|lv lav lvs|mn mon khk|sw swa swh|uz uzb uzn
az aze azj|or ori ory|ne nep npi|ps pus pbt|mg mlg plt|yi yid ydd|om orm gaz|he heb iw|id ind in|jv jav
"""


def test_the_codes_of_one_language_are_known():
    for codes in re.split(r"[|\n]", CODES.strip()):
        shortest, *longer = codes.split()
        assert [primary(code) for code in longer] == [shortest] * len(longer)


@pytest.mark.parametrize(
    "tags, tokenizer",
    [
        ("zh ZH zh_CN zh-Hans zho_Hans zho_Hant_TW chi cmn cmn_Hans yue yue_Hant wuu lzh", "zh"),
        ("ja JA ja_JP jpn jpn_Jpan", "ja-mecab"),
        ("ko ko_KR kor kor_Hang", "ko-mecab"),
        ("de deu_Latn pt-BR sr_Cyrl zh_Latn ja-Latn", "13a"),
    ],
)
def test_the_tokenizer_is_that_of_the_language(tags, tokenizer):
    assert {tokenizer_for(None, tag) for tag in tags.split()} == {tokenizer}
    assert bleu_language(None) == ""


def test_names_keep_the_tag():
    assert [language_name(tag) for tag in ("deu", "yue", "tlh")] == ["German (deu)", "Cantonese (yue)", "tlh"]


# Of the tasks' test sets, and of FLORES in the model NLLB-200, by which the files of WMT26 name languages.
WMT24 = (
    "ar_EG ar_SA bg_BG bn_IN ca_ES cs_CZ da_DK de_DE el_GR en es_MX et_EE fa_IR fi_FI fil_PH fr_CA fr_FR gu_IN he_IL hi_IN "
    "hr_HR hu_HU id_ID is_IS it_IT ja_JP kn_IN ko_KR lt_LT lv_LV ml_IN mr_IN nl_NL no_NO pa_IN pl_PL pt_BR pt_PT ro_RO ru_RU "
    "sk_SK sl_SI sr_RS sv_SE sw_KE sw_TZ ta_IN te_IN th_TH tr_TR uk_UA ur_PK vi_VN zh_CN zh_TW zu_ZA"
).split()
WMT25 = "bho_IN mas_KE sr_Cyrl_RS ar_EG cs_CZ et_EE is_IS it_IT ja_JP ko_KR ru_RU uk_UA zh_CN".split()
WMT26 = "eng_Latn rus_Cyrl ind_Latn tha_Thai bel_Cyrl jpn_Jpan ces_Latn ukr_Cyrl zho_Hans zho_Hant_TW arz_Arab lld_Latn".split()
PAIR_ON_A_PAGE = re.compile(r"(?:-l|--language-pair)[ =]([a-z]{2,3}\S*-[a-z]{2,3}[-_A-Za-z]*)")


def of_models() -> dict[str, Iterable[str]]:
    """The codes of models that translate, that tell languages, and that are in the package."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M_100
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES as MBART
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB

    configs = [json.loads(path.read_text()) for path in (ROOT / "ctx_metrics/models/embedded").glob("*/config.json")]
    embedded = [config.get(key) or () for config in configs for key in ("languages", "source_languages")]
    assert len(NLLB) > 200 and len({*chain(*embedded)}) > 20
    return {
        "embedded": chain(*embedded),
        "py3langid": LanguageIdentifier.from_pickled_model(MODEL_FILE).nb_classes,
        "NLLB": NLLB,
        "mBART": MBART,
        "M2M-100": chain(*M2M_100.values()),
    }


@pytest.mark.full
def test_every_language_that_the_product_names_is_known():
    from sacrebleu.dataset import DATASETS
    from sacrebleu.metrics import BLEU

    from ctx_metrics import language
    from ctx_metrics.checks import languages
    from ctx_metrics.metrics import bertscore, meteor
    from ctx_metrics.report.columns import WITHOUT_SPACES
    from ctx_metrics.training.quality.synthetic.negation import LANGUAGES

    pages = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md"), *(ROOT / "integrations").glob("**/*.md")]
    of_pages = [language_pair(pair) for page in pages for pair in PAIR_ON_A_PAGE.findall(page.read_text("utf-8"))]
    assert len({*of_pages}) > 3
    named = of_models() | {
        "tokenizers": BLEU._TOKENIZER_MAP,
        "stemmers": meteor.SNOWBALL,
        "papers' models": chain(BERTR.PAPER_MODELS, bertscore.BERTScore.PAPER_MODELS),
        "language": chain(language.READ_BY_MULTILINGUAL, language.CHINESE, language.LIKELY.values()),
        "text checks": " ".join([*languages._WRITTEN_IN.values(), *map(" ".join, languages.CLOSE)]).split(),
        "rare": chain(languages.RARE, languages._NEVER, languages._DIALECTS),
        "word counts": WITHOUT_SPACES,
        "negation": LANGUAGES,
        "test sets": chain(*(language_pair(pair) for each in DATASETS.values() for pair in each.langpairs)),
        "pages": chain(*of_pages),
        "WMT": [*WMT24, *WMT25, *WMT26],
    }
    unknown = {(by, tag) for by, tags in named.items() for tag in tags if tag and primary(tag) not in NAMES}
    assert not unknown
