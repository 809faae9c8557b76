"""Every public function and method of the package is typed."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator

import ctx_metrics


def public_functions() -> Iterator[tuple[str, Callable, type | None]]:
    """Each public function with its name, and a method with its class."""
    for found in pkgutil.walk_packages(ctx_metrics.__path__, "ctx_metrics."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != found.name:
                continue
            if inspect.isfunction(thing):
                yield f"{found.name}.{name}", thing, None
            elif inspect.isclass(thing):
                for attribute, value in vars(thing).items():
                    function = getattr(value, "fget", None) or getattr(value, "__func__", value)
                    own = getattr(function, "__module__", "") == found.name and inspect.isfunction(function)
                    if own and not attribute.startswith("_") and function.__qualname__.startswith(thing.__name__):
                        yield f"{found.name}.{thing.__name__}.{attribute}", function, thing


def untyped(function: Callable) -> list[str]:
    """The parameters without annotation, and "return"."""
    signature = inspect.signature(function)
    missing = [
        name
        for number, (name, parameter) in enumerate(signature.parameters.items())
        if parameter.annotation is parameter.empty and not (number == 0 and name in ("self", "cls"))
    ]
    return missing + ["return"] * (signature.return_annotation is signature.empty)


def test_public_functions_are_typed():
    missing = {name: lacking for name, function, _ in public_functions() if (lacking := untyped(function))}
    assert missing == {}
