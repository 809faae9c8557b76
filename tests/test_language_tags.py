"""What is taken for one language, and for a pair of two."""

import pytest
from plugin_conftest import REF, A

from ctx_metrics import BERTR, COMET
from ctx_metrics.errors import InputError
from ctx_metrics.language import check_language, language_pair


@pytest.mark.parametrize(
    "tag", "de DE deu zh-Hans zh_CN pt-BR sr-Latn-RS deu_Latn en_GB de-1996 fr-fr en-gb gsw hsb tlh".split()
)
def test_tags_of_one_language_pass(tag):
    check_language("target_lang", tag)


@pytest.mark.parametrize(
    "tag, says",
    [
        ("de-en", "is a language pair; give source_lang='de', target_lang='en'"),
        ("zh-Hans-en", "is a language pair; give source_lang='zh-Hans', target_lang='en'"),
        ("zh-en-de", "is a language pair; give one language"),
        ("deu-eng", "is a language pair; give source_lang='deu', target_lang='eng'"),
        ("pt-br", "is a language pair; give source_lang='pt', target_lang='br', or write a region in capitals: BR"),
        ("jp", ": 'jp' is not a language code of ISO 639; did you mean 'ja'?"),
        ("cz", ": 'cz' is not a language code of ISO 639; did you mean 'cs'?"),
        ("xx", ": 'xx' is not a language code of ISO 639"),
        ("English", ": 'English' is not a language code such as de, pt-BR or zh-Hans"),
    ],
)
def test_others_are_refused_with_what_was_meant(tag, says):
    between = " " if says.startswith("is") else ""
    with pytest.raises(InputError) as raised:
        check_language("target_lang", tag)
    assert str(raised.value) == f"target_lang {tag!r}{between}{says}"


def test_what_is_no_string_is_refused():
    with pytest.raises(InputError, match="source_lang: expected a language code such as 'de', got int"):
        check_language("source_lang", 1)


@pytest.mark.parametrize(
    "text, pair",
    [
        ("de-en", ("de", "en")),
        ("zh-Hans-en", ("zh-Hans", "en")),
        ("en-pt-BR", ("en", "pt-BR")),
        ("pt-BR-en", ("pt-BR", "en")),
        ("en-US-es-MX", ("en-US", "es-MX")),
        ("fr-fr-CA", ("fr", "fr-CA")),
        ("en-zh_TW", ("en", "zh_TW")),
        ("ru-sah", ("ru", "sah")),
    ],
)
def test_a_pair_keeps_scripts_and_regions(text, pair):
    assert language_pair(text) == pair


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
    says = "comet: the multilingual encoder was not trained on the language {!r} of the sources; the scores may be unreliable"
    for language, more in (("tlh", ""), ("se", "; did you mean 'sv'?")):
        caplog.clear()
        metric = COMET(sources=["Qapla'"], source_lang=language, target_lang="de")
        metric.corpus_score(["Erfolg"], None)
        metric.corpus_score(["Erfolg"], [["Erfolg!"]])
        assert caplog.messages.count(says.format(language) + more) == 1
    caplog.clear()
    COMET(source_lang="tlh", target_lang="en").corpus_score(["Success"], [["Success"]])  # which reads no source
    assert "of the sources" not in caplog.text


def test_the_command_refuses_a_country_for_a_language(forked_sacrebleu):
    assert forked_sacrebleu(REF, "-i", A, "-m", "bertr", "-l", "jp-en").returncode == 1
    assert forked_sacrebleu(REF, "-i", A, "-m", "bleu", "-l", "jp-en").returncode == 0  # sacrebleu's own business
