"""What to give `ctx-metrics score` in place of the flags of comet-score and sacrebleu that it does not have."""

from collections.abc import Sequence

COMET_SCORE = {
    "--gpus": "--gpus N: --ctx-device cpu or --ctx-device cuda (a GPU is used where there is one)",
    "--to_json": "--to_json FILE: --format json -o FILE",
    "--batch_size": "--batch_size N: not needed; --ctx-batch-tokens N bounds a batch, in tokens",
    "--model_storage_path": "--model_storage_path DIR: the environment variable HF_HUB_CACHE=DIR",
    "--enable-context": "--enable-context: -m doccomet --docids FILE, with the texts as they are, not joined",
    "--num_workers": "--num_workers N: not needed",
    "--disable_cache": "--disable_cache: not needed",
    "--disable_length_batching": "--disable_length_batching: not needed",
    "--print_cache_info": "--print_cache_info: not needed",
}
OF_BOTH = {"--ctx-names": "--names", "--ctx-no-text-checks": "--no-text-checks"}
SACREBLEU = (  # how they begin
    *("--paired-", "--confidence", "--ctx-seg-scores", "--slide-output", "--ctx-resample"),
    *("--bleu-", "--chrf-", "--ter-", "--sentence-level", "--score-only", "--test-set"),
)


def hints(words: Sequence[str]) -> str:
    """Of the words that the parser did not know, a line for each flag that is known here; begins with a line end.

    >>> print("unrecognized" + hints(["--paired-bs", "--to_json=x", "--gpu"]))
    unrecognized
      --paired-bs: a flag of the sacrebleu command
      --to_json FILE: --format json -o FILE
    """
    lines = [""]
    for flag in dict.fromkeys(word.partition("=")[0] for word in words):
        if flag in COMET_SCORE:
            lines.append(f"  {COMET_SCORE[flag]}")
        elif flag in OF_BOTH:
            lines.append(f"  {flag}: {OF_BOTH[flag]} here")
        elif flag.startswith(SACREBLEU):
            lines.append(f"  {flag}: a flag of the sacrebleu command")
    if not words[0].startswith("-"):
        lines.append("  files belong to a flag: -t FILE (translations), -r FILE (references), -s FILE (source)")
    return "\n".join(lines)
