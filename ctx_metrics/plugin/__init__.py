"""All code that touches sacrebleu's internals. The start-up hook calls `extend` for the two modules that we extend."""

from types import ModuleType


def extend(module: ModuleType) -> None:
    """Add the plugin metrics to `sacrebleu.metrics`, or our flags and fixes to `sacrebleu.sacrebleu`. Idempotent."""
    if getattr(module, "_ctx_metrics_extended", False):
        return
    vars(module)["_ctx_metrics_extended"] = True
    if module.__name__ == "sacrebleu.metrics":
        from .. import registry

        registry.extend(module)
    else:
        from . import on_demand

        on_demand.extend(module)
