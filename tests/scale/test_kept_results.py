"""What is kept on disk may be damaged, planted, or another's: it is computed again, or refused in one line; nobody's file is
written through a link."""

import json
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  fixture
from plugin_conftest import DOCIDS, REF, SOURCE, A, B, lines_of

from ctx_metrics import InputError
from ctx_metrics.scale import folders
from ctx_metrics.scale import kept as module
from ctx_metrics.scale.folders import LocalFolder
from ctx_metrics.scale.kept import KeptResults, ResultCache

VICTIM = "what belongs to somebody else\n"
STATE = ".annotate"


# damage: of a file, given with the folder outside, which must not change


def flipped(share: float) -> Callable[[Path, Path], None]:
    def flip(path: Path, outside: Path) -> None:
        content = bytearray(path.read_bytes())
        content[int(share * (len(content) - 1))] ^= 1
        path.write_bytes(content)

    return flip


def a_link(path: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(outside / "victim")


def a_link_to_a_copy(path: Path, outside: Path) -> None:
    copy = outside / str(len(os.listdir(outside)))
    shutil.copy(path, copy)
    path.unlink()
    path.symlink_to(copy)


def a_link_to_nothing(path: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(outside / "new")


def a_folder_of_links(path: Path, outside: Path) -> None:
    """The folder around the file is a link."""
    moved = outside / str(len(os.listdir(outside)))
    shutil.move(path.parent, moved)
    path.parent.symlink_to(moved, target_is_directory=True)


def a_pipe(path: Path, outside: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def another_users(path: Path, outside: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)


ANY = {
    "cut": lambda path, outside: path.write_bytes(path.read_bytes()[:-7]),
    "a bit in the middle": flipped(0.5),
    "longer": lambda path, outside: path.write_bytes(path.read_bytes() + bytes(9)),
    "a link": a_link,
    "a link to a copy": a_link_to_a_copy,
    "a link to nothing": a_link_to_nothing,
    "a pipe": a_pipe,
    "gone": lambda path, outside: path.unlink(),
}


# damage of kept results whose checksum is right


def name_of(path: Path) -> str:
    """The name that a result has in its folder."""
    name = path.name.removesuffix(module.ENDING)
    return name if path.parent.name == STATE else f"{path.parent.name}/{name}"


def sealed(payload: bytes) -> Callable[[Path, Path], None]:
    def seal(path: Path, outside: Path) -> None:
        packed = zlib.compress(payload)
        path.write_bytes(module._head(name_of(path), packed) + packed)

    return seal


def changed(change: Callable[[object], object], text: Callable[[str], str] = lambda text: text):
    """The result changed as JSON and as text, with a right checksum."""

    def do(path: Path, outside: Path) -> None:
        plain = json.loads(zlib.decompress(path.read_bytes().partition(b"\n")[2]))
        sealed(text(json.dumps(change(plain))).encode())(path, outside)

    return do


def at_first(kind: type, new: Callable[[object], object]) -> Callable[[object], object]:
    """A change of the first value of a type that is not empty."""

    def change(value, done=None):
        done = [] if done is None else done
        if not done and type(value) is kind and value not in ([], {}, ""):
            done.append(1)
            return new(value)
        if isinstance(value, dict):
            return {key: change(own, done) for key, own in value.items()}
        return [change(own, done) for own in value] if isinstance(value, list) else value

    return change


def another_version(path: Path, outside: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"kept 1 ", b"kept 2 ", 1))


def from_another_place(path: Path, outside: Path) -> None:
    """A whole result that belongs to another name."""
    packed = path.read_bytes().partition(b"\n")[2]
    path.write_bytes(module._head("ab/" + "0" * 62, packed) + packed)


RIGHT_CHECKSUM = {
    "no JSON": sealed(b"\xff{"),
    "nested deeply": sealed(b"[" * 100_000),
    "too large": sealed(b"[" + b"0," * (module.MOST // 2) + b"0]"),
    "an object": sealed(b"{}"),
    "one more field": changed(lambda value: {**value, "more": 1} if isinstance(value, dict) else [*value, []]),
    "one field less": changed(lambda value: dict([*value.items()][1:]) if isinstance(value, dict) else value[1:]),
    "a shorter list": changed(at_first(list, lambda value: value[1:])),
    "a number that is text": changed(at_first(float, str)),
    "a number too large": changed(at_first(float, lambda value: "X"), lambda text: text.replace('"X"', "1e999")),
    "NaN": changed(at_first(float, lambda value: "X"), lambda text: text.replace('"X"', "NaN")),
    "text with an escape": changed(at_first(str, lambda value: "\x1b]0;gotcha\x07")),
    "text in reverse": changed(at_first(str, lambda value: "\u202eahctog")),
    "another version": another_version,
    "of another name": from_another_place,
    "another user's": another_users,
}


@pytest.fixture
def table(tmp_path) -> Path:
    columns = {"src": SOURCE, "mt": A, "ref": REF, "doc": DOCIDS}
    rows = zip(*(lines_of(name) for name in columns.values()), strict=True)
    path = tmp_path / "table.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in [tuple(columns), *rows]), encoding="utf-8")
    return path


def files_of(kind: str, folder: Path) -> list[Path]:
    """A few files of a folder that a command keeps results in: each sort of them."""
    if kind in ("score", "mbr"):
        return sorted(folder.glob("*/*"))[:2]
    state = [folder / STATE / f"{name}{module.ENDING}" for name in ("run", "000000", "000003")]
    scores = [folder / STATE / f"000002-scores{module.ENDING}"] if kind == "top" else []
    return [*state, *scores, folder / "part-000001.tsv", folder / "_summary.json"]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def damages(kind: str, path: Path) -> Iterator[tuple[str, Callable[[Path, Path], None]]]:
    yield from ANY.items()
    if path.name.endswith(module.ENDING):
        yield from RIGHT_CHECKSUM.items()
    if path.parent.name == STATE or kind in ("score", "mbr"):
        yield "a folder of links", a_folder_of_links


@pytest.mark.full
def test_damaged_planted_and_foreign_results(ctx, table, tmp_path, monkeypatch):
    """A command prints and writes what it would without them, or one line; nothing outside changes."""
    monkeypatch.setattr("ctx_metrics.scale.corpora.SEGMENTS", 20)
    monkeypatch.setattr("ctx_metrics.choice.blocks.SOURCES", 20)
    candidates = ["mbr", A, B, "-m", "chrf", "--format", "jsonl", "-q", "--ctx-cache"]
    annotate = ["annotate", table, "-m", "chrf", "meteor", "-l", "de-en", "--block", "15", "-q"]
    commands = {
        "score": f"score -t {A} {B} -r {REF} -m meteor -l de-en --format tsv -q --ctx-cache".split(),
        "mbr": candidates,
        "annotate": [*annotate, "--keep", "chrf >= 20", "-o"],
        "top": [*annotate, "--top", "30%", "--by", "chrf", "-o"],
    }
    outside = tmp_path / "outside"
    outside.mkdir()
    tried = refused = 0
    wrong: list[str] = []
    for kind, command in commands.items():
        whole = tmp_path / f"{kind}-whole"
        first = ctx(*command, whole)
        assert first.code == 0, first.err
        wanted = (first.out, {name: text for name, text in contents(whole).items() if not name.startswith(STATE)})
        for number, original in enumerate(files_of(kind, whole)):
            for what, damage in damages(kind, original):
                (outside / "victim").write_text(VICTIM)
                folder = tmp_path / "tried"
                shutil.copytree(whole, folder)
                damage(folder / original.relative_to(whole), outside)
                before = contents(outside)
                done = ctx(*command, folder)
                tried += 1
                refused += done.code != 0
                case = f"{kind}, file {number}, {what}: {done.code} {done.err[-300:]}"
                lines = done.err.splitlines()
                if any(not line.startswith("ctx-metrics: ") for line in lines) or (done.code and len(lines) > 2):
                    wrong.append(f"more than a notice and an error: {case}")
                if contents(outside) != before or (outside / "new").exists():
                    wrong.append(f"written outside: {case}")
                if done.code == 0:
                    found = {name: text for name, text in contents(folder).items() if not name.startswith(STATE)}
                    if done.out != wanted[0] or (kind in ("annotate", "top") and found != wanted[1]):
                        wrong.append(f"another result: {case}")
                if {"\x1b", "\u202e"} & {*done.err, *done.out}:
                    wrong.append(f"an escape: {case}")
                shutil.rmtree(folder)
    assert not wrong, "\n".join(wrong)
    assert tried > 200 and refused < tried / 4


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_folder_that_others_can_write_is_refused(tmp_path, mode):
    folder = tmp_path / "kept"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(InputError, match=r"^cache .*kept: other users may write there, .*; run: chmod -R go-w"):
        ResultCache(str(folder))
    folder.chmod(0o755)
    ResultCache(str(folder))
    new = ResultCache(str(tmp_path / "new"))
    new.put("aa/b", [1])
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700 and new.get("aa/b", list[int], bool) == [1]
    (tmp_path / "new" / "aa").chmod(mode)
    with pytest.raises(InputError, match=r"^cache .*new/aa: other users may write there"):
        new.get("aa/b", list[int], bool)


def test_a_table_whose_name_is_not_utf8(ctx, table, tmp_path):
    odd = tmp_path / "caf\udce9.tsv"
    try:
        shutil.copy(table, odd)
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    command = ["annotate", odd, "-m", "chrf", "-l", "de-en", "-q", "-o", tmp_path / "out"]
    first = ctx(*command)
    assert first.code == 0, first.err
    assert "so nothing was scored" in ctx(*command).err


@pytest.mark.parametrize("ending", ["", "/"])
def test_a_folder_that_the_user_links_stays_a_link(ctx, table, tmp_path, ending):
    (tmp_path / "there").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert ctx("annotate", table, "-m", "chrf", "-l", "de-en", "-q", "-o", f"{tmp_path}/link{ending}").code == 0
    cached = ctx("mbr", A, B, "-m", "chrf", "-q", "--ctx-cache", f"{tmp_path}/link{ending}")
    assert cached.code == 0 and (tmp_path / "link").is_symlink()
    assert (tmp_path / "there/part-000000.tsv").exists() and list((tmp_path / "there").glob("??/*"))


def test_whatever_the_umask_our_own_folders_are_private(tmp_path):
    before = os.umask(0o002)
    try:
        kept = ResultCache(str(tmp_path / "kept"))
        kept.put("aa/b", [1])
        assert kept.get("aa/b", list[int], bool) == [1]
    finally:
        os.umask(before)


def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.os, "geteuid", lambda: 4711)
    os.chown(tmp_path, 12345, -1) if os.getuid() == 0 else None
    with pytest.raises(InputError, match="it belongs to another user, who could change what is kept there"):
        ResultCache(str(tmp_path))


def test_what_is_kept_comes_back_once_and_the_first_damage_is_said(tmp_path, caplog):
    kept = KeptResults(LocalFolder(str(tmp_path / "kept"), "--flag", private=True), "--flag")
    for name in ("a", "b"):
        kept.put(name, [0.1, 1.5])
    assert kept.get("a", list[float], lambda found: len(found) == 2) == [0.1, 1.5]
    assert kept.get("c", list[float], bool) is None and not caplog.messages
    assert kept.get("a", list[int], bool) is None and kept.get("b", list[float], lambda found: False) is None
    assert caplog.messages == [f"--flag {tmp_path}/kept: a.json.z is ignored, because its content does not fit"]


@pytest.mark.full
def test_a_result_that_unpacks_to_too_much_is_not_unpacked(tmp_path, monkeypatch):
    kept = KeptResults(LocalFolder(str(tmp_path), "--flag", private=True), "--flag")
    packed = zlib.compress(bytes(2**28), 9)
    (tmp_path / "a.json.z").write_bytes(module._head("a", packed) + packed)
    assert len(packed) < 2**20
    taken = []
    decompress = zlib.decompressobj

    class Watched:
        def __init__(self):
            self.inner = decompress()

        def decompress(self, *given):
            taken.append(len(found := self.inner.decompress(*given)))
            return found

        eof = property(lambda self: self.inner.eof)
        unused_data = property(lambda self: self.inner.unused_data)

    monkeypatch.setattr(module.zlib, "decompressobj", Watched)
    assert kept.get("a", list[float], bool) is None and taken == [module.MOST]
