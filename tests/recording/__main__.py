"""Records what every command does, to show that another tree of the project does the same.

    python tests/recording TREE OUT [--bin DIR] [--inputs DIR] [--only PATTERN] [--jobs N]
    python tests/recording --compare OLD NEW [--strict]
    python tests/recording --list

The first runs the commands of commands.py with the programs in TREE/.venv/bin (or --bin) and writes a line of JSON for each:
its name, arguments, exit code, standard output and error, and the files that it wrote. Each command runs in a folder with
copies of the same inputs, which the first run builds beside OUT; give --inputs to share them from elsewhere. Record the tree
before a change and the tree after it with the same copy of this tool. --only takes the commands whose names match a regular
expression, and those before them in the same folder.

--compare lists the commands whose exit code, output or files differ, and exits with 1 if there are any. Lines of standard
error may change: they are listed, old beside new, and count with --strict alone.
"""

import argparse
import difflib
import fcntl
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import TextIO

from commands import Chain, Command, chains
from files import Words, described

HERE = Path(__file__).resolve().parent
FOLDERS = Path(tempfile.gettempdir()) / "ctx-metrics-recording"
LIMIT = 300  # seconds of a command
EXAMPLES = {path.name for path in (HERE.parents[1] / "examples").iterdir()}


class Programs:
    """The commands of one environment, each run in a process of its own: most in a fork of one that runner.py is."""

    def __init__(self, tree: Path, programs: Path, inputs: Path, scratch: Path):
        self.programs, self.inputs, self.scratch = programs, inputs, scratch
        self.folder = scratch  # of the chain that runs
        self.places = {"SCRATCH": scratch, "TREE": tree, "BIN": programs, "RECORDING": HERE}
        self.env = {
            "PATH": os.pathsep.join((str(programs), "/usr/local/bin", "/usr/bin", "/bin")),
            "HOME": str(scratch / "home"),
            "MPLCONFIGDIR": str(inputs / "matplotlib"),  # its list of fonts takes a while to make
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "SOURCE_DATE_EPOCH": "0",
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
        }
        self.runner = subprocess.Popen(
            [programs / "python", HERE / "runner.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
            cwd=scratch,
        )

    def close(self) -> None:
        self.runner.communicate()

    def run(self, command: Command) -> dict:
        """What a command did in the folder as it is."""
        words = Words({"FOLDER": self.folder, **self.places})
        before = self.stamps()
        job = {
            "argv": command.argv,
            "env": {**self.env, "XDG_CACHE_HOME": str(self.folder / ".cache"), **command.env},
            "cwd": str(self.folder),
            "stdin": command.stdin or os.devnull,
            "out": str(self.scratch / "stdout"),
            "err": str(self.scratch / "stderr"),
            "limit": LIMIT,
        }
        # Python reads its settings when it starts, and Ray starts processes
        alone = command.env or "--on" in command.argv or command.argv[:2] == ["python", "-m"]
        code = self.alone(job) if alone else self.forked(job)
        after = self.stamps()
        written = sorted(name for name in after if before.get(name) != after[name])
        out, err = (
            words((self.scratch / name).read_bytes().decode(errors="backslashreplace")) for name in ("stdout", "stderr")
        )
        return {
            "name": command.name,
            "argv": [words(word) for word in command.argv],
            "code": code,
            "stdout": out,
            "stderr": err,
            "files": {
                **{words(name): described(self.folder / name, words) for name in written},
                **dict.fromkeys(sorted(set(before) - set(after)), "removed"),
            },
        }

    def forked(self, job: dict) -> int:
        self.runner.stdin.write(json.dumps(job).encode() + b"\n")
        self.runner.stdin.flush()
        return int(self.runner.stdout.readline())

    def alone(self, job: dict) -> int:
        with (
            open(job["out"], "wb") as out,
            open(job["err"], "wb") as err,
            open(self.folder / job["stdin"], "rb") as stdin,
        ):
            program = self.programs / job["argv"][0]
            streams = {"stdin": stdin, "stdout": out, "stderr": err}
            try:
                done = subprocess.run(
                    [program, *job["argv"][1:]], **streams, env=job["env"], cwd=job["cwd"], timeout=LIMIT
                )
            except subprocess.TimeoutExpired:
                return -signal.SIGALRM  # as in runner.py
            return done.returncode

    def stamps(self) -> dict[str, tuple[int, int]]:
        """The folder's files, with what changes when they are written."""
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                stat = os.lstat(os.path.join(folder, name))
                found[os.path.relpath(os.path.join(folder, name), self.folder)] = (stat.st_mtime_ns, stat.st_size)
        return found

    def run_chain(self, chain: Chain) -> list[dict]:
        """What the commands did in a folder with the examples and the other files that they name."""
        key = hashlib.sha256(chain.commands[0].name.encode()).hexdigest()[:12]
        self.folder = FOLDERS / key  # the same in each recording: hashes of some models cover their encoder's path
        FOLDERS.mkdir(exist_ok=True)
        named = " ".join(" ".join([*command.argv, command.stdin or ""]) for command in chain.commands)
        with open(FOLDERS / f"{key}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another recording may be under way
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            for path in (self.inputs / chain.inputs).iterdir():
                if path.name in named or path.name in EXAMPLES:
                    (shutil.copytree if path.is_dir() else shutil.copy2)(path, self.folder / path.name)
            results = [self.run(command) for command in chain.commands]
            shutil.rmtree(self.folder)
        return results


def record(tree: Path, programs: Path, inputs: Path, out: TextIO, only: str, jobs: int) -> bool:
    """Write what the commands did, in the order in which they end; gives whether all are there."""
    wanted = []
    for chain in chains():
        matching = [k for k, command in enumerate(chain.commands) if re.search(only, command.name)]
        if matching:
            wanted.append(chain._replace(commands=chain.commands[: matching[-1] + 1]))
    left: queue.SimpleQueue[Chain] = queue.SimpleQueue()
    for chain in sorted(wanted, key=lambda chain: -len(chain.commands)):  # long ones first
        left.put(chain)
    done: list[Chain] = []

    def work(scratch: Path) -> None:
        scratch.mkdir()
        (scratch / "home").mkdir()
        running = Programs(tree, programs, inputs, scratch)
        try:
            while True:
                chain = left.get_nowait()
                start = time.monotonic()
                results = running.run_chain(chain)
                out.write("".join(f"{json.dumps(result, ensure_ascii=False)}\n" for result in results))
                out.flush()
                done.append(chain)
                print(f"{time.monotonic() - start:6.1f} s  {chain.commands[0].name[:110]}", file=sys.stderr)
        except queue.Empty:
            pass
        finally:
            running.close()

    with tempfile.TemporaryDirectory() as folder:
        threads = [threading.Thread(target=work, args=(Path(folder, str(k)),)) for k in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return len(done) == len(wanted)


def read(path: Path) -> dict[str, dict]:
    with open(path, encoding="utf-8") as file:
        return {result["name"]: result for result in map(json.loads, file)}


def changed(old: str, new: str) -> list[str]:
    """The lines that differ, with - and + before them."""
    found = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""))[2:]
    return [line for line in found if not line.startswith("@@")]


def differences(old: dict, new: dict) -> list[str]:
    """Where two results of a command differ, but for standard error."""
    found = [] if old["code"] == new["code"] else [f"exit code {old['code']}, now {new['code']}"]
    found += changed(old["stdout"], new["stdout"])
    if not found and old["stdout"] != new["stdout"]:
        found.append("line ends of the output differ")
    for name in sorted({*old["files"], *new["files"]}):
        ours, theirs = (each["files"].get(name, "not written") for each in (old, new))
        if ours != theirs:
            found += [f"file {name}:", *(changed(ours, theirs) or ["line ends differ"])]
    return found


def compare(old: dict[str, dict], new: dict[str, dict], strict: bool) -> int:
    bad = [f"{name}\n    only in one of the recordings" for name in sorted(set(old) ^ set(new))]
    messages = defaultdict(list)
    for name in (name for name in old if name in new):
        if found := differences(old[name], new[name]):
            bad.append("\n    ".join([name, *found[:40]]))
        if old[name]["stderr"] != new[name]["stderr"]:
            messages["\n    ".join(changed(old[name]["stderr"], new[name]["stderr"]) or ["line ends differ"])].append(
                name
            )
    print(f"{len(old)} commands, {len(new)} now: {len(bad)} differ in exit code, output or files")
    for text in bad:
        print(f"\n{text}")
    print(f"\n{sum(map(len, messages.values()))} differ on standard error, in {len(messages)} ways")
    for lines, names in messages.items():
        print(f"\n{len(names)} commands, such as {names[0]}\n    {lines}")
    return int(bool(bad or (strict and messages)))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="recording", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="TREE OUT")
    parser.add_argument("--bin", type=Path)
    parser.add_argument("--inputs", type=Path)
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(command.name for chain in chains() for command in chain.commands))
        return 0
    if args.compare:
        return compare(*map(read, args.compare), strict=args.strict)
    if len(args.paths) != 2:
        parser.error("name a tree and the file to write")
    tree, out = (path.absolute() for path in args.paths)
    programs = (args.bin or tree / ".venv" / "bin").absolute()
    inputs = (args.inputs or out.with_name("recording-inputs")).absolute()
    if not inputs.exists():
        building = inputs.with_name(f"{inputs.name}.part")
        shutil.rmtree(building, ignore_errors=True)
        env = {**os.environ, "PYTHONPATH": str(HERE.parent), "HF_HUB_OFFLINE": "1"}
        subprocess.run([sys.executable, HERE / "inputs.py", building], env=env, check=True)
        building.rename(inputs)
    with open(out, "w", encoding="utf-8") as file:
        return int(not record(tree, programs, inputs, file, args.only, args.jobs))


if __name__ == "__main__":
    sys.exit(main())
