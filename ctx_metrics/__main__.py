"""`python -m ctx_metrics ...` is the sacrebleu command with our metrics, also where .pth files are not read."""

import sys


def main() -> None:
    """Run sacrebleu's command line; importing ctx_metrics has registered the metrics already."""
    from sacrebleu.sacrebleu import main as sacrebleu_main

    sys.exit(sacrebleu_main())


if __name__ == "__main__":
    main()
