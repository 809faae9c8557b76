"""The text encoder: from texts to hidden states and to what is read from them."""

import os

# Idle libgomp threads spin in a loop. When other processes are busy, the high default makes two threads slower than one.
# With 10,000 turns they are faster there, and at most 3 % slower on an idle machine. libgomp reads this when torch loads it.
if os.environ.keys().isdisjoint(("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")):
    os.environ["GOMP_SPINCOUNT"] = "10000"
