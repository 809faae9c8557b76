"""What to give in place of flags of comet-score, comet-mbr, sacrebleu and others that a subcommand does not have."""

from collections.abc import Sequence

COMET_SCORE = {
    "--gpus": "--gpus N: --ctx-device cpu or --ctx-device cuda (a GPU is used where there is one)",
    "--device": "--device DEVICE: --ctx-device DEVICE",
    "--to_json": "--to_json FILE: --format json -o FILE",
    "--batch_size": "--batch_size N: not needed; --ctx-batch-tokens N bounds a batch, in tokens",
    "--model_storage_path": "--model_storage_path DIR: the environment variable HF_HUB_CACHE=DIR",
    "--enable-context": "--enable-context: -m doccomet --docids FILE, with the texts as they are, not joined",
    "--num_workers": "--num_workers N: not needed",
    "--disable_cache": "--disable_cache: not needed",
    "--disable_length_batching": "--disable_length_batching: not needed",
    "--print_cache_info": "--print_cache_info: not needed",
}
COMET_MBR = {
    "--num_samples": "--num_samples N: -n N",
    "--rerank_top_k": "--rerank_top_k K: first ctx-metrics rerank FILE -s SRC --top K -o top.nbest, then mbr top.nbest",
    "--qe_model": "--qe_model MODEL: the --model of ctx-metrics rerank, whose --top K best mbr reads",
    "-t": "-t FILE: candidates have no flag here: ctx-metrics {} FILE",
    "--translations": "-t FILE: candidates have no flag here: ctx-metrics {} FILE",
    "--sources": "--sources FILE: -s FILE",
}
OF_BOTH = {"--ctx-names": "--names", "--ctx-no-text-checks": "--no-text-checks"}
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
COMPARE = ("--alpha", "--plot", "--resample", "--samples", "--seed", "--test", "--no-holm")
SACREBLEU = (  # how they begin
    *("--paired-", "--confidence", "--ctx-seg-scores", "--slide-output", "--ctx-resample"),
    *("--bleu-", "--chrf-", "--ter-", "--sentence-level", "--score-only", "--test-set"),
)


def hints(words: Sequence[str], subcommand: str = "score") -> str:
    """Of the words that the parser of a subcommand did not know, a line for each flag that is known here; begins with a line
    end.

    >>> print("unrecognized" + hints(["--paired-bs", "--to_json=x", "--gpu"]))
    unrecognized
      --paired-bs: a flag of the sacrebleu command
      --to_json FILE: --format json -o FILE
    """
    lines = [""]
    for flag in dict.fromkeys(word.partition("=")[0] for word in words):
        if subcommand == "compare" and flag in COMET_COMPARE:
            lines.append(f"  {COMET_COMPARE[flag]}")
        elif flag in COMET_SCORE:
            lines.append(f"  {COMET_SCORE[flag]}")
        elif subcommand in ("mbr", "rerank"):
            lines += [f"  {COMET_MBR[flag].format(subcommand)}"] if flag in COMET_MBR else []
        elif flag in COMPARE and subcommand == "score":
            lines.append(f"  {flag}: a flag of ctx-metrics compare")
        elif flag in OF_BOTH:
            lines.append(f"  {flag}: {OF_BOTH[flag]} here")
        elif flag.startswith(SACREBLEU):
            lines.append(f"  {flag}: a flag of the sacrebleu command")
    if not words[0].startswith("-") and subcommand == "score":
        lines.append("  give files with their flags: -t FILE (translations), -r FILE (references), -s FILE (source)")
    return "\n".join(lines)
