#!/usr/bin/env bash
# Package: sacrebleu 2.6.0.
# Input: two systems of 40 segments that differ in one segment, and a third that is a copy of the baseline; --paired-ar.
# Expected: p = 1 for both. Swapping one segment gives the same absolute difference in every trial, and a randomisation test
#   counts the trials whose difference is at least as large as the observed one.
# Seen: p = 0.0001 for both, the smallest value that 10,000 trials can give. The count takes only differences that are
#   strictly larger, so trials that equal the observed difference never count.
# Hurts: whoever compares systems with few different outputs, such as two checkpoints or a post-editing rule: one changed
#   segment is reported as highly significant.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for number in $(seq 40); do
    echo "the cat lay on the mat number $number and looked about" >> ref.txt
    echo "the cat sat on the mat number $number and looked around" >> base.txt
done
sed '8s/sat/lay/' base.txt > one.txt
cp base.txt copy.txt
python3 -m venv env
env/bin/pip install -q sacrebleu==2.6.0 2> pip.log || { cat pip.log >&2; exit 1; }
for metric in bleu chrf ter; do
    env/bin/sacrebleu ref.txt -i base.txt one.txt copy.txt -m "$metric" --paired-ar 2> err.txt > out.json
    env/bin/python -c "
import json
print('$metric', *(f\"{s['system']} p={s[k]['p_value']:.4f}\" for s in json.load(open('out.json'))[1:] for k in s if k != 'system'))"
done | tee seen.txt
diff seen.txt - <<'SEEN'
bleu one.txt p=0.0001 copy.txt p=0.0001
chrf one.txt p=0.0001 copy.txt p=0.0001
ter one.txt p=0.0001 copy.txt p=0.0001
SEEN
