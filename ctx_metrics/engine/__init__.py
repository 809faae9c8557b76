"""The text encoder: from texts to hidden states and to what is read from them."""

from .threads import set_spins

set_spins()  # before torch is imported
