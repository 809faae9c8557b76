"""How texts become numbers."""

from .threads import set_spins

set_spins()  # before torch is imported
