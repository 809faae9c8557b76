#!/usr/bin/env bash
# Package: sacrebleu 2.6.0 with NumPy 2.4.6 (its requirements allow any NumPy).
# Input: two systems, --paired-bs with chrF or TER, in the default output format (JSON).
# Expected: the table, as with BLEU, with --paired-ar, with -f text, or with NumPy 1.26.4.
# Seen: the bootstrap runs to its end, and then the command stops with "TypeError: Object of type float32 is not JSON
#   serializable". A score of chrF or TER from resampled float32 statistics is a NumPy float32 under NumPy 2, whose scalars
#   no longer widen when a Python number meets them.
# Hurts: whoever compares systems with chrF or TER in a fresh environment: minutes of resampling, and no result.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for number in $(seq 40); do
    echo "the cat lay on the mat number $number and looked about" >> ref.txt
    echo "the cat sat on the mat number $number and looked around" >> a.txt
    echo "the cat lay on the mat and looked around" >> b.txt
done
python3 -m venv env
for numpy in 1.26.4 2.4.6; do
    env/bin/pip install -q sacrebleu==2.6.0 "numpy==$numpy" 2> pip.log || { cat pip.log >&2; exit 1; }
    for metric in bleu chrf ter; do
        if env/bin/sacrebleu ref.txt -i a.txt b.txt -m "$metric" --paired-bs --paired-bs-n 100 > out.json 2> err.txt; then
            echo "NumPy $numpy, $metric: $(grep -c '"p_value"' out.json) systems in the table"
        else
            echo "NumPy $numpy, $metric: $(tail -n 1 err.txt)"
        fi
    done
done | tee seen.txt
diff seen.txt - <<'SEEN'
NumPy 1.26.4, bleu: 2 systems in the table
NumPy 1.26.4, chrf: 2 systems in the table
NumPy 1.26.4, ter: 2 systems in the table
NumPy 2.4.6, bleu: 2 systems in the table
NumPy 2.4.6, chrf: TypeError: Object of type float32 is not JSON serializable
NumPy 2.4.6, ter: TypeError: Object of type float32 is not JSON serializable
SEEN
