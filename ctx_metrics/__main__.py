"""`python -m ctx_metrics ...` runs the sacrebleu command with our metrics, even where Python does not read .pth files."""

import sys

from sacrebleu.sacrebleu import main

if __name__ == "__main__":  # importing ctx_metrics has registered the metrics already
    sys.exit(main())
