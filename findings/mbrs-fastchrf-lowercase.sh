#!/usr/bin/env bash
# Package: mbrs 0.1.8 with fastchrf 0.1.0 and sacrebleu 2.6.0.
# Input: two candidates, of which the second is the reference in other case; MetricChrF with lowercase=True, with and without
#   fastchrf=True.
# Expected: fastchrf=True only makes the same metric faster, or an error, as the package raises for its word_order.
# Seen: with fastchrf=True the case is compared all the same, because the setting is not passed on, and nothing is printed. The
#   second candidate has 1.4 for 100.0, so minimum Bayes risk decoding chooses the other one. fastchrf 0.2.1 changes nothing.
# Hurts: whoever decodes with case-insensitive chrF and turns fastchrf on for speed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
# the requirements of the neural metrics are not needed here: try.py puts mocks in the place of these metrics
env/bin/pip install -q --no-deps mbrs==0.1.8 2> pip.log &&
    env/bin/pip install -q fastchrf==0.1.0 sacrebleu==2.6.0 simple-parsing==0.1.9 tabulate torch==2.13.0 numpy 2>> pip.log ||
    { cat pip.log >&2; exit 1; }
cat > try.py <<'PY'
import sys
from unittest.mock import MagicMock

neural = "bertscore bleurt comet cometkiwi metricx xcomet".split()
sys.modules |= {f"mbrs.metrics.{name}": MagicMock() for name in neural}
from mbrs.metrics.chrf import MetricChrF

candidates = ["The council voted Monday", "THE COUNCIL VOTED ON MONDAY"]
references = ["The council voted on Monday"]
for fast in (False, True):
    metric = MetricChrF(MetricChrF.Config(lowercase=True, fastchrf=fast, num_workers=1))
    both = metric.pairwise_scores(candidates, references).flatten().tolist()
    print(f"lowercase=True, fastchrf={fast}:", *(f"{score:.1f}" for score in both))
PY
env/bin/python try.py 2> err.txt | tee seen.txt || { cat err.txt >&2; exit 1; }
diff seen.txt - <<'SEEN'
lowercase=True, fastchrf=False: 78.7 100.0
lowercase=True, fastchrf=True: 78.7 1.4
SEEN
