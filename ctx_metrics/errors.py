"""The errors that a user can mend. Each message is one line that names the place and the mend."""


class CtxMetricsError(Exception):
    """Base of all: the command prints its message as one line and exits with 1."""


class InputError(CtxMetricsError, ValueError):
    """Texts, files, document ids or settings that cannot be scored as given."""


class ModelError(CtxMetricsError, RuntimeError):
    """A model that cannot be found, fetched, read or used for this metric."""


class ResourceError(CtxMetricsError, RuntimeError):
    """The device is missing or too small for the work."""
