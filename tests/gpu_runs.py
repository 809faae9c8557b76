"""One small run of everything that computes on a device, over tiny checkpoints: each gives numbers for a few segments."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import bleurt_folders
import metricx_folders
import numpy as np
import toy_translation
from classifiers import PAIRS, write_classifier
from comet_checkpoints import OF_POLY, RECIPES, build
from learned_folders import write_learned
from pairwise_folders import write_pairwise
from sacrebleu.metrics import METRICS
from sentence_folders import distilbert, pooling, write_model
from toy_judgements import write_judgements

from ctx_metrics.choice.blocks import choose
from ctx_metrics.choice.candidates import Item
from ctx_metrics.choice.minimum_risk import Method, MinimumRisk
from ctx_metrics.corpus import named
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.judgements.judged import JudgedSet
from ctx_metrics.pairwise.training import learn as pairwise_training
from ctx_metrics.pairwise.training.recipe import PairwiseRecipe
from ctx_metrics.pseudo_references.inputs import PseudoFilter
from ctx_metrics.pseudo_references.paraphrase import learn as paraphrase_training
from ctx_metrics.pseudo_references.paraphrase.classifier import ParaphraseClassifier
from ctx_metrics.pseudo_references.paraphrase.data import LabelledPairs
from ctx_metrics.pseudo_references.paraphrase.recipe import ADAPTED
from ctx_metrics.roundtrip.back_translation import BackTranslation
from ctx_metrics.roundtrip.model_translator import ModelTranslator
from ctx_metrics.run.run import Run
from ctx_metrics.run.texts import Texts
from ctx_metrics.scoring.context import MetricSettings
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.learn import learn
from ctx_metrics.training.quality.recipe import UNIFIED, Architecture, Recipe
from ctx_metrics.training.quality.unified import learn_unified

HYPOTHESES = [
    "the cat sat on the mat",
    "a dog ran home",
    "the red bird and the old tree",
    "rain in the city , light on the river and a slow song",
    "the cat sat on the mat and the dog ran home fast",
    "a slow song",
]
REFERENCES = [
    "a cat sat on the old mat",
    "the dog ran home fast",
    "a red bird under the old tree",
    "rain and light on the river in the city",
    "the cat and the dog ran home",
    "the bird song is slow",
]
SOURCES = [" ".join(reversed(text.split())) for text in REFERENCES]
OTHERS = [*HYPOTHESES[1:], HYPOTHESES[0]]
DOC_IDS = [*"aaabbb"]


@dataclass
class Folders:
    """Where models lie, made when first asked for.

    bert    a tiny encoder whose heads have 12 dimensions
    """

    root: Path
    bert: Path

    def comet(self, recipe: str) -> str:
        folder = self.root / f"comet-{recipe}"
        return str(folder if folder.exists() else build(RECIPES[recipe], folder))

    def learned(self, kind: str) -> str:
        folder = self.root / kind
        return str(folder if folder.exists() else write_learned(folder, kind, self.bert))

    @cached_property
    def sentence(self) -> str:
        return str(write_model(self.root / "sentence", self.bert, [pooling("mean_tokens")]))

    @cached_property
    def library_sentence(self) -> str:
        """A model that the sentence_transformers library runs."""
        modules = [{**pooling("mean_tokens"), "word_embedding_dimension": 24}]
        return str(write_model(self.root / "library", distilbert(self.root / "distilbert", self.bert), modules))

    @cached_property
    def classifier(self) -> str:
        return str(write_classifier(self.root / "classifier", self.bert))

    @cached_property
    def pairwise(self) -> str:
        folder = self.root / "pairwise"
        return str(write_pairwise(folder, ("chrf",), ("encoder@0:5", "encoder@3:3"), 4))

    @cached_property
    def polycand(self) -> str:
        return str(build(OF_POLY["polycand-2"], self.root / "polycand-2"))

    @cached_property
    def metricx(self) -> str:
        return str(metricx_folders.make(self.root / "metricx-24"))

    @cached_property
    def bleurt(self) -> str:
        return str(bleurt_folders.make(self.root / "bleurt"))

    @cached_property
    def judgements(self) -> tuple[str, str]:
        return str(write_judgements(self.root / "train.tsv", 6, 1)), str(write_judgements(self.root / "dev.tsv", 4, 2))

    @cached_property
    def adapted(self) -> str:
        """A small model of UniTE's shape, as training writes it."""
        folder = self.root / "adapted"
        _unified(self, folder, EngineOptions(device="cpu", quiet=True))
        return str(folder)

    def fresh(self, name: str) -> Path:
        """A folder that is not there yet."""
        return next(path for n in range(9999) if not (path := self.root / f"{name}-{n}").exists())


RUNS: dict[str, Callable[[Folders, EngineOptions], list[float]]] = {}


def run(*names: str) -> Callable[[Callable], Callable]:
    """Enter a function of folders, options and one of the names into RUNS."""

    def enter(function: Callable[[Folders, EngineOptions, str], Any]) -> Callable:
        for name in names:
            RUNS[name] = lambda folders, engine, name=name: [*map(float, function(folders, engine, name))]
        return function

    return enter


def values(metric, hypotheses=HYPOTHESES, references=None) -> list[float]:
    rows = metric._extract_corpus_statistics(hypotheses, references)
    return [value / weight if weight else 0.0 for value, weight in rows]


# metrics


@run("bertr", "bertscore")
def tokens(folders, engine, name):
    language = {} if name == "bertscore" else {"target_lang": "en"}
    return values(METRICS[name.upper()]([REFERENCES], model=str(folders.bert), engine=engine, **language))


COMETS = {
    f"comet-{recipe}": recipe
    for recipe in (
        "regression",
        "regression-layernorm",
        "referenceless",
        "ranking",
        "kiwi",
        "unite",
        "unite-rembert",
        "xcomet",
        "xcomet-lite",
    )
}


@run(*COMETS)
def comet(folders, engine, name):
    return values(METRICS["COMET"]([REFERENCES], sources=SOURCES, model=folders.comet(COMETS[name]), engine=engine))


@run("comet-polycand")
def candidates(folders, engine, name):
    model, systems = folders.polycand, [HYPOTHESES, OTHERS, REFERENCES]
    metric = METRICS["COMET"](None, systems, sources=SOURCES, model=model, engine=engine)
    return [value for system in systems for value in values(metric, system)]


@run("comet-adapted", "comet-adapted-free")
def adapted(folders, engine, name):
    way = {"inputs": "mt+src"} if name.endswith("free") else {"target_lang": "en"}
    return values(METRICS["COMET"]([REFERENCES], sources=SOURCES, model=folders.adapted, engine=engine, **way))


@run("slide-regression", "slide-kiwi", "doccomet-regression")
def documents(folders, engine, name):
    metric, recipe = name.split("-")
    windows = {"window": 2, "stride": 1} if metric == "slide" else {}
    model = folders.comet(recipe)
    given = {"sources": SOURCES, "doc_ids": DOC_IDS, "model": model, "engine": engine, **windows}
    return values(METRICS[metric.upper()]([REFERENCES], **given))


@run("metricx")
def metricx(folders, engine, name):
    return values(METRICS["METRICX"]([REFERENCES], sources=SOURCES, model=folders.metricx, engine=engine))


@run("bleurt", "bleurt-tanh")
def bleurt(folders, engine, name):
    activation = "gelu_tanh" if name == "bleurt-tanh" else "gelu"
    return values(METRICS["BLEURT"]([REFERENCES], model=folders.bleurt, activation=activation, engine=engine))


@run("bilstm", "bilstmatt", "esim")
def learned(folders, engine, name):
    return values(METRICS[name.upper()]([REFERENCES], target_lang="en", model=folders.learned(name), engine=engine))


@run("pairwise")
def pairwise(folders, engine, name):
    systems = [HYPOTHESES, OTHERS]
    metric = METRICS["PAIRWISE"]([REFERENCES], systems, target_lang="en", model=folders.pairwise, engine=engine)
    return values(metric)


def round_trip(name, engine, **settings):
    outputs = [[f"Satz {number}" for number in range(len(REFERENCES))]]
    given = {"roundtrips": [HYPOTHESES], "backtranslator": "toy", "source_lang": "en", "engine": engine, **settings}
    return values(METRICS[name.upper()](None, outputs, sources=REFERENCES, **given), outputs[0])


@run("rttsbert", "rttsbert-library")
def sentence_cosine(folders, engine, name):
    return round_trip("rttsbert", engine, model=folders.sentence if name == "rttsbert" else folders.library_sentence)


@run("rttbertscore")
def round_trip_tokens(folders, engine, name):
    return round_trip("rttbertscore", engine, model=str(folders.bert))


@run("prbleu", "prbleu-mas")
def pseudo(folders, engine, name):
    chosen = {
        "prbleu": PseudoFilter(model=folders.classifier, guard=None),
        "prbleu-mas": PseudoFilter("mas", guard=None),
    }
    others = [named(OTHERS, "others.txt")]
    metric = METRICS["PRBLEU"](
        [REFERENCES],
        [HYPOTHESES],
        target_lang="en",
        pseudo_references=others,
        pseudo_filter=chosen[name],
        engine=engine,
    )
    return np.ravel(metric._extract_corpus_statistics(HYPOTHESES, None))


# models


@run("classifier")
def classifier(folders, engine, name):
    return ParaphraseClassifier(folders.classifier, engine).probabilities(PAIRS)


@run("translation")
def translation(folders, engine, name):
    options = BackTranslation(f"hf:{toy_translation.random_mbart()}", beams=2, max_length=6)
    made = ModelTranslator(options, "en", "de", engine).translate(toy_translation.lines(5, seed=2))
    return [float(ord(letter)) for each in made for letter in each.text]


@run("mbr", "mbr-references")
def mbr(folders, engine, name):
    own = None if name == "mbr" else tuple(REFERENCES[:3])
    items = [Item(tuple(HYPOTHESES[:4]), own, SOURCES[0]), Item(tuple(OTHERS[:3]), own, SOURCES[1])]
    metric = MetricSettings("comet", METRICS["COMET"], {"model": folders.comet("regression")})
    chooser = MinimumRisk(Run(Texts(), [metric], {}, engine, text_checks=False), [1.0], Method())
    return [score for scores in choose(items, chooser).scores for score in scores]


# training, a few steps each


def sets(folders, inputs: str):
    training, development = folders.judgements
    return read_training_set([training], inputs), read_development([development], inputs=inputs)


@run("train-bilstm", "train-esim", "train-comet")
def train_quality(folders, engine, name):
    kind = name.removeprefix("train-")
    sizes = {} if kind == "comet" else {"projection": 5, "layers": [1, 3]}
    built = Architecture(kind, str(folders.bert), hidden=4, feedforward=6, **sizes)
    recipe = Recipe(learning_rate=5e-3, epochs=2, batch=8, patience=None)
    trained = learn(built, recipe, *sets(folders, "mt+ref"), out=folders.fresh(name), engine=engine)
    return [number for check in trained.checks for number in (check.loss, check.score)]


def _unified(folders, out, engine):
    built = Architecture("comet", str(folders.bert), inputs="mt+src+ref", rank=2, feedforward=5)
    recipe = Recipe(**{**vars(UNIFIED), "learning_rate": 5e-3, "batch": 8, "epochs": 2, "loss": "mse+hinge"})
    return learn_unified(built, recipe, *sets(folders, "mt+src+ref"), out=out, engine=engine)


@run("train-unified")
def train_unified(folders, engine, name):
    checks = _unified(folders, folders.fresh(name), engine).checks
    return [number for check in checks for number in (check.loss, check.score)]


@run("train-paraphrase")
def train_paraphrase(folders, engine, name):
    labelled = LabelledPairs(PAIRS[:4] * 2, np.array([1, 0, 0, 1] * 2))
    recipe = replace(ADAPTED, rank=4, learning_rate=3e-3, epochs=2, batch=4)
    trained = paraphrase_training.learn(str(folders.bert), recipe, labelled, labelled.part(range(4)), engine=engine)
    return [number for check in trained.checks for number in (check.loss, check.accuracy)]


@run("train-pairwise")
def train_pairwise(folders, engine, name):
    draw = random.Random(1)
    outputs = [[" ".join(draw.sample(text.split(), kept)) for text in REFERENCES] for kept in (4, 2)]
    rows = np.array([(segment, segment % 2, 1 - segment % 2) for segment in range(len(REFERENCES))])
    given = {"references": [REFERENCES], "preferences": rows, "source_lang": "cs", "target_lang": "en"}
    judged = JudgedSet("toy", ["A", "B"], len(REFERENCES), outputs, **given)
    built = pairwise_training.Architecture(["chrf"], ["encoder@0:5"], encoder=str(folders.bert), hidden=3)
    recipe = PairwiseRecipe(epochs=2, batch=4)
    trained = pairwise_training.learn(built, recipe, [judged], [judged], out=folders.fresh(name), engine=engine)
    return [number for check in trained.checks for number in (check.cost, check.tau)]
