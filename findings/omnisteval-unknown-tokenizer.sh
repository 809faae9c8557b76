#!/usr/bin/env bash
# Package: OmniSTEval 0.1.10 (with sacrebleu 2.6.0).
# Input: two segments, one of which equals its reference, scored with --bleu_tokenizer 13A instead of 13a.
# Expected: an error and a non-zero exit status, since sacrebleu has no tokenizer of that name.
# Seen: the table reports BLEU 0.0000 beside the unchanged chrF, and the command exits with 0. stderr has one line, which
#   a script that reads only the table or the status misses. The same holds for ja-mecab without its extra package.
# Hurts: whoever evaluates simultaneous translation and collects the table. A typo looks like a failed system.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -q OmniSTEval==0.1.10 sacrebleu==2.6.0 2> pip.log || { cat pip.log >&2; exit 1; }
printf 'the council voted on monday\nhe left the room at noon\n' > ref.txt
cat > hyp.jsonl <<'JSON'
{"index": 0, "prediction": "the council voted on tuesday", "delays": [1000, 1500, 2000, 2500, 3000], "elapsed": [1000, 1500, 2000, 2500, 3000], "source_length": 3000}
{"index": 1, "prediction": "he left the room at noon", "delays": [1000, 1500, 2000, 2500, 3000, 3200], "elapsed": [1000, 1500, 2000, 2500, 3000, 3200], "source_length": 3200}
JSON
for tokenizer in 13a 13A; do
    status=0
    env/bin/omnisteval shortform --word_level --hypothesis_file hyp.jsonl --ref_sentences_file ref.txt \
        --bleu_tokenizer "$tokenizer" > "$tokenizer.txt" 2> "$tokenizer.err" || status=$?
    awk -v t="$tokenizer" -v s="$status" '$1 == "BLEU" && NF == 2 {b = $2} $1 == "chrF" {c = $2}
        END {print t ": BLEU " b ", chrF " c ", exit status " s}' "$tokenizer.txt"
done | tee seen.txt
diff seen.txt - <<'SEEN'
13a: BLEU 86.2779, chrF 85.6411, exit status 0
13A: BLEU 0.0000, chrF 85.6411, exit status 0
SEEN
