"""Kept translations: back as they were put, whole or not at all, for several processes at a time."""

import os
import sqlite3
import stat
import subprocess
import sys
from subprocess import PIPE

import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.roundtrip.back_translation import Translation
from ctx_metrics.roundtrip.cache import TranslationCache, file_stem

ODD = {
    "tab\there": Translation("\u2028 and \r in it", True, False),
    "ein Hund": Translation("", False, True),
    "猫 \0": Translation("a cat \U0001f600"),
}


def test_what_is_put_comes_back_in_another_process_too(tmp_path):
    cache = TranslationCache(tmp_path / "new" / "folder", "key")
    cache.put(ODD)
    assert cache.get([*ODD, "unknown"]) == ODD
    cache.close()
    again = TranslationCache(tmp_path / "new" / "folder", "key")
    assert again.get(["unknown", *ODD]) == ODD
    assert list(again.get(reversed(list(ODD)))) == list(reversed(list(ODD)))
    again.close()
    in_memory = TranslationCache(None, "key")
    in_memory.put(ODD)
    assert in_memory.path is None and in_memory.get(ODD) == ODD


def test_each_key_has_its_own_file(tmp_path):
    first, second = (TranslationCache(tmp_path, key) for key in ("a/b", "a_b"))
    first.put({"x": Translation("one")})
    assert second.get(["x"]) == {} and first.path != second.path
    assert {path.suffix for path in tmp_path.iterdir()} == {".sqlite3"}
    assert len(file_stem("x" * 500)) < 120


def test_the_first_of_two_translations_stays(tmp_path):
    cache = TranslationCache(tmp_path, "key")
    cache.put({"x": Translation("one")})
    cache.put({"x": Translation("two"), "y": Translation("three")})
    assert cache.get(["x", "y"]) == {"x": Translation("one"), "y": Translation("three")}


def test_a_chunk_is_kept_whole_or_not_at_all(tmp_path):
    cache = TranslationCache(tmp_path, "key")
    with pytest.raises(InputError, match="NOT NULL"):
        cache.put({"x": Translation("one"), "y": Translation(None)})
    assert cache.get(["x", "y"]) == {}


def test_a_broken_file_is_one_line(tmp_path):
    path = TranslationCache(tmp_path, "key").path
    path.write_bytes(b"no database " * 100)
    with pytest.raises(InputError, match="cannot be used: file is not a database; .*delete the file") as error:
        TranslationCache(tmp_path, "key")
    assert str(path) in str(error.value) and "\n" not in str(error.value)


CHANGES = "translation = 'a cat!'; input_cut = 1; line = x'00'; checksum = 7; checksum = NULL".split("; ")


@pytest.mark.parametrize("change", [*CHANGES, "translation = CAST(x'61ff' AS TEXT)"])  # no UTF-8
def test_a_translation_that_the_disk_has_changed_is_forgotten_and_said(tmp_path, caplog, change):
    cache = TranslationCache(tmp_path, "key")
    cache.put({"eins": Translation("one"), "zwei": Translation("two"), "Katze": Translation("a cat")})
    cache.close()
    with sqlite3.connect(cache.path) as database:
        database.execute(f"UPDATE translations SET {change} WHERE translation = 'a cat'")
    cache, wanted = TranslationCache(tmp_path, "key"), {"eins": Translation("one"), "zwei": Translation("two")}
    assert cache.get(["eins", "zwei", "Katze"]) == wanted == cache.get(["eins", "zwei", "Katze"])
    # another key is another line, which is not there
    assert caplog.messages == [f"{cache.path}: 1 kept line is damaged and translated again"] * ("line" not in change)
    cache.put({"Katze": Translation("a cat")})
    assert cache.get(["Katze"]) == {"Katze": Translation("a cat")}


def test_the_file_has_the_umasks_permissions_and_is_no_link(tmp_path):
    before = os.umask(0o077)
    try:
        cache = TranslationCache(tmp_path, "key")
        cache.put(ODD)
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    cache.close()
    victim = cache.path.rename(tmp_path / "victim")
    cache.path.symlink_to(victim)
    with pytest.raises(InputError, match="cannot be used: it is a link; "):
        TranslationCache(tmp_path, "key")


WRITER = """
import sys
from pathlib import Path
from ctx_metrics.roundtrip.back_translation import Translation
from ctx_metrics.roundtrip.cache import TranslationCache
cache = TranslationCache(Path(sys.argv[1]), "key")
print("ready", flush=True)
sys.stdin.readline()
for k in range(40):
    cache.put({f"{sys.argv[2]}-{k}": Translation(str(k)), f"both-{k}": Translation("same")})
"""


def test_two_processes_write_at_once(tmp_path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], stdin=PIPE, stdout=PIPE, text=True)
        for name in "ab"
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    lines = [f"{name}-{k}" for name in ("a", "b", "both") for k in range(40)]
    cache = TranslationCache(tmp_path, "key")
    assert len(cache.get(lines)) == 120
    with sqlite3.connect(cache.path) as database:
        assert database.execute("SELECT count(*) FROM translations").fetchone() == (120,)
