"""Paraphrase classifiers: train one on labelled sentence pairs, or score pairs with one.

A classifier gives the probability that two sentences mean the same. The metrics prsentbleu, prbleu and prchrf keep the
pseudo-references that it accepts as paraphrases of the reference.
"""

SUMMARY = "train and run the classifier that filters pseudo-references"

EPILOG = """\
examples:
  # the embedded classifier on MRPC's test set: one probability per line, and its accuracy
  ctx-metrics paraphrase score msr_paraphrase_test.txt

  # pseudo-references against references, one sentence per line
  ctx-metrics paraphrase score pseudo.txt ref.txt --model my-classifier

  # train your own: low-rank changes of the embedded encoder, or all weights of another encoder
  ctx-metrics paraphrase train --train msr_paraphrase_train.txt --dev 0.1 --out my-classifier
  ctx-metrics paraphrase train --train train.tsv --dev dev.tsv --encoder bert-base-uncased --rank 0 --out my-bert
"""
OTHER = "name a model of its language with {}"
