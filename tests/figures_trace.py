"""Runs one command of a source tree under a profiler, and writes which of the package's functions are called, in order.

    TREE/.venv/bin/python tests/figures_trace.py PACKAGE_FOLDER OUTPUT.json SCRIPT [ARGUMENT ...]

Each call is [module, first line, name, in_import, depth, parsed]: the module's path in the package; whether a module of
the package is just being imported; the number of the package's functions on the stack; and whether the command line has
been parsed. Only the main thread is seen. Bodies of modules and classes are no functions.
"""

import argparse
import inspect
import json
import runpy
import sys
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType

PARSE = argparse.ArgumentParser.parse_known_args.__code__


def main() -> None:
    package, output, script, *arguments = sys.argv[1:]
    prefix = package.rstrip("/") + "/"
    calls: list[tuple[str, int, str, bool, int, int]] = []
    stack: list[CodeType] = []
    # how deep in argparse, and the number of calls before which the last command line was parsed
    parsing, parsed = 0, 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal parsing, parsed
        code = frame.f_code
        if code is PARSE and event in ("call", "return"):
            parsing += 1 if event == "call" else -1
            parsed = parsed if parsing else len(calls)
        if not code.co_filename.startswith(prefix):
            return
        if event == "call":
            stack.append(code)
            if code.co_flags & inspect.CO_OPTIMIZED:
                depth = sum(bool(each.co_flags & inspect.CO_OPTIMIZED) for each in stack)
                in_import = any(each.co_name == "<module>" for each in stack)
                name = getattr(code, "co_qualname", code.co_name)  # qualified from Python 3.11 on
                calls.append((code.co_filename[len(prefix) :], code.co_firstlineno, name, in_import, depth, 0))
        elif event == "return" and stack:
            stack.pop()

    sys.argv = [script, *arguments]
    sys.setprofile(profile)
    with suppress(SystemExit):
        runpy.run_path(script, run_name="__main__")
    sys.setprofile(None)
    Path(output).write_text(json.dumps([[*call[:5], number >= parsed] for number, call in enumerate(calls)]), "utf-8")


if __name__ == "__main__":
    main()
