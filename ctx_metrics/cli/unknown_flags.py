"""Flags to give in place of those of comet-score, comet-compare, sacrebleu and others that a subcommand does not have."""

from collections.abc import Mapping, Sequence

COMET_SCORE = {
    "--gpus": "--gpus N: --ctx-device cpu or --ctx-device cuda (a GPU is used where there is one)",
    "--device": "--device DEVICE: --ctx-device DEVICE",
    "--to_json": "--to_json FILE: --format json -o FILE",
    "--batch_size": "--batch_size N: not needed; --ctx-batch-tokens N limits the tokens in a batch",
    "--model_storage_path": "--model_storage_path DIR: the environment variable HF_HUB_CACHE=DIR",
    "--enable-context": "--enable-context: -m doccomet --docids FILE, with the texts as they are, not joined",
    "--num_workers": "--num_workers N: not needed",
    "--disable_cache": "--disable_cache: not needed",
    "--disable_length_batching": "--disable_length_batching: not needed",
    "--print_cache_info": "--print_cache_info: not needed",
}
COMET_COMPARE = {
    "--num_splits": "--num_splits N: --samples N",
    "--sample_ratio": "--sample_ratio: none; each resample has as many segments as the data",
    "--t_test_alternative": "--t_test_alternative: none; the tests are two-sided",
    "--to_json": "--to_json FILE: -o FILE.json",
    "--only_system": "--only_system: not needed; compare prints system scores only",
    "--ctx-resample": "--ctx-resample document: --resample document",
    "--paired-ar": "--paired-ar: --test randomization, the default",
    "--paired-bs": "--paired-bs: --test bootstrap",
}
COMPARE = {
    flag: f"{flag}: a flag of ctx-metrics compare"
    for flag in (
        "--alpha",
        "--autorank",
        "--no-holm",
        "--plot",
        "--resample",
        "--rows",
        "--samples",
        "--seed",
        "--test",
    )
}
SACREBLEU = {
    "--ctx-names": "--ctx-names: --names here",
    "--ctx-no-text-checks": "--ctx-no-text-checks: --no-text-checks here",
}
OF_SACREBLEU = (  # prefixes of flags that only the sacrebleu command has
    *("--paired-", "--confidence", "--ctx-seg-scores", "--slide-output", "--ctx-resample"),
    *("--bleu-", "--chrf-", "--ter-", "--sentence-level", "--score-only", "--test-set"),
)


def fix_of_flags(words: Sequence[str], *tables: Mapping[str, str]) -> str:
    """Return a line for each unknown argument that is a flag of a known tool, starting with a line end; "" if there is none.

    tables    fixes by flag; the first table that has a flag is used. With SACREBLEU, flags of sacrebleu are named too

    >>> print("unrecognized" + fix_of_flags(["--paired-bs", "--to_json=x", "--gpu"], COMET_SCORE, SACREBLEU))
    unrecognized
      --paired-bs: a flag of the sacrebleu command
      --to_json FILE: --format json -o FILE
    """
    lines = [""]
    for flag in dict.fromkeys(word.partition("=")[0] for word in words):
        if found := [table[flag] for table in tables if flag in table]:
            lines.append(f"  {found[0]}")
        elif SACREBLEU in tables and flag.startswith(OF_SACREBLEU):
            lines.append(f"  {flag}: a flag of the sacrebleu command")
    return "\n".join(lines)
