#!/usr/bin/env bash
# Package: lightyear 0.0.18 (with sacrebleu 2.6.0).
# Input: one hypothesis in lower case and its reference in German, whose nouns have capital letters.
# Expected: BLEUScore() and CHRFScore() give the values of sacrebleu and of the package's own bundle Buzz("fast"), which both
#   compare case.
# Seen: the classes lower-case both texts unless lowercase=False is given and return a perfect score; the bundle returns
#   27.1 (BLEU). The chrF result carries the plain name "chrF2".
# Hurts: whoever calls a class of the package for one metric and compares the score with the bundle's or a paper's.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
# the neural metrics' requirements (PyTorch and others) are not needed here
env/bin/pip install -q --no-deps lightyear==0.0.18 2> pip.log && env/bin/pip install -q sacrebleu==2.6.0 2>> pip.log ||
    { cat pip.log >&2; exit 1; }
cat > try.py <<'PY'
import sacrebleu
from lightyear import Buzz
from lightyear.metrics import BLEUScore, CHRFScore

hypothesis, reference = "die katze liegt auf der matte und schläft", "die Katze liegt auf der Matte und schläft"
bleu = sacrebleu.BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score
chrf = sacrebleu.CHRF().sentence_score(hypothesis, [reference]).score
bundle = Buzz("fast").score(hypothesis, reference)
alone = CHRFScore().score(hypothesis, reference)["chrf_score"]
print(f"sacrebleu: BLEU {bleu:.1f}, chrF {chrf:.1f}")
print(f"Buzz: BLEU {bundle['bleu_score']:.1f}, chrF {bundle['chrf_score']:.1f}")
print(f"BLEUScore(): {BLEUScore().score(hypothesis, reference)['bleu_score']['score']:.1f}")
print(f"CHRFScore(): {alone['score']:.1f}, named {', '.join(sorted(alone))}")
PY
env/bin/python try.py | tee seen.txt
diff seen.txt - <<'SEEN'
sacrebleu: BLEU 27.1, chrF 78.8
Buzz: BLEU 27.1, chrF 78.8
BLEUScore(): 100.0
CHRFScore(): 100.0, named chrF2, score
SEEN
