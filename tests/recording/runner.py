"""Runs commands in the environment whose Python runs this file: one fork for each line with a job on standard input.

What takes long to import and is no part of the tree under test is imported before, so that a command takes a fraction of its
time alone. sacrebleu and the package are not: each command finds them as its environment gives them.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import sys
import traceback

IMPORTED = """colorama importlib.metadata lxml.etree matplotlib.figure multiprocessing.pool numpy portalocker regex
safetensors.torch scipy.sparse tabulate tokenizers torch._dynamo yaml""".split()


def run(job: dict) -> int:
    """Run a command in a fork; gives its exit code."""
    gc.freeze()  # collections of the fork leave alone what was imported before
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.alarm(job["limit"])
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for stream, (name, flags) in enumerate(((job["stdin"], os.O_RDONLY), (job["out"], writing), (job["err"], writing))):
        os.dup2(os.open(name, flags), stream)
    program, *sys.argv = [job["argv"][0], *job["argv"]]
    code = 0
    try:
        if program == "python" and sys.argv[1] == "-c":
            sys.path[0] = ""
            sys.argv[:] = ["-c", *sys.argv[3:]]
            exec(job["argv"][2], {"__name__": "__main__"})
        else:
            if program == "python":
                script = sys.argv.pop(1)
            else:
                script = os.path.join(os.path.dirname(sys.executable), program)
            sys.argv[0] = script
            sys.path[0] = os.path.dirname(script)
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve() -> None:
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)  # answers stay apart from what is printed
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert not {"sacrebleu", "ctx_metrics"} & set(sys.modules)
    while line := jobs.readline():
        answers.write(b"%d\n" % run(json.loads(line)))


if __name__ == "__main__":
    serve()
