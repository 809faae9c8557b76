"""`python -m ctx_metrics ...` is the sacrebleu command with our metrics, also where .pth files are not read."""

import sys

from sacrebleu.sacrebleu import main

if __name__ == "__main__":  # importing ctx_metrics has registered the metrics already
    sys.exit(main())
