"""Runs at every interpreter start (from ctx_metrics.pth): arms the hook that registers us with sacrebleu.

It must stay tiny: it imports nothing but sys, and does nothing more until sacrebleu itself is imported.
"""

import sys

_TARGETS = ("sacrebleu.metrics", "sacrebleu.sacrebleu")


class _Loader:
    """Delegates to the real loader, then hands the executed module to the plugin."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader  # leave no trace
        vars(module).pop("_ctx_metrics_extended", None)  # a reload executes the module anew
        self._loader.exec_module(module)
        _extend(module)


class _Finder:
    """Finds nothing itself: wraps the loader that the other finders give for sacrebleu's two modules."""

    def find_spec(self, name, path=None, target=None):
        if name not in _TARGETS:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)  # type: ignore[assignment]  # no Loader: its class would be an import
                return spec
        return None

    def invalidate_caches(self):
        """Nothing is cached."""


def _extend(module):
    try:
        from ctx_metrics import plugin

        plugin.extend(module)
    except Exception as error:  # sacrebleu must run whatever happens here; the line says why we are absent
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]  # one line is enough
        sys.stderr.write(f"ctx-metrics: could not register with sacrebleu: {type(error).__name__}: {error}\n")


def install():
    """Arm the hook, and extend sacrebleu at once where it is already imported. Idempotent."""
    import os

    if os.environ.get("CTX_METRICS_NO_AUTOLOAD", "0") not in ("", "0"):
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name in _TARGETS:
        module = sys.modules.get(name)
        # a module still being executed is extended by the loader, when it is whole
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            _extend(module)
