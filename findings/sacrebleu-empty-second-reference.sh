#!/usr/bin/env bash
# Package: sacrebleu 2.6.0.
# Input: four segments and two reference files; the second file has a reference for two of them and empty lines elsewhere.
# Expected: an empty line means that the segment has no second reference, as None does in Python (sacrebleu allows a
#   different number of references for each segment), so more references never make TER worse.
# Seen: the empty line counts as a reference of no words. TER divides by the mean length of a segment's references, so it
#   rises from 58.1 with one file to 73.9 with two; with None in place of '' it falls to 54.8. Nothing is printed.
# Hurts: whoever scores test sets in which only some segments have further references.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -q sacrebleu==2.6.0 2> pip.log || { cat pip.log >&2; exit 1; }
cat > try.py <<'PY'
from sacrebleu import TER

hypotheses = [
    "the council voted on tuesday",
    "the plan was backed by the members",
    "he left the room at noon",
    "it rained all day in the city",
]
first = [
    "the council met on tuesday to vote",
    "the members of the council backed the plan",
    "he went out of the room at midday",
    "it was raining the whole day in town",
]
second = ["on tuesday the council cast its votes", "", "he left the room at twelve o clock", ""]
sets = {"one file": [first], "'' in the second": [first, second], "None in it": [first, [s or None for s in second]]}
for name, references in sets.items():
    print(f"{name}: TER {TER().corpus_score(hypotheses, references).score:.1f}")
PY
env/bin/python try.py | tee seen.txt
diff seen.txt - <<'SEEN'
one file: TER 58.1
'' in the second: TER 73.9
None in it: TER 54.8
SEEN
