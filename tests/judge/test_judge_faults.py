"""Servers that are slow, fail, or answer nonsense: no answer is lost or requested twice, and each fault gives a line."""

import gzip
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import traceback
import zlib
from email.utils import formatdate
from pathlib import Path

import pytest
from judge_server import Fault, completion, data_of, judgement, score_of, serving
from selection import some

from ctx_metrics import InputError, Judge, ModelError
from ctx_metrics.engine.memory import LoadedModels
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.judge import asking
from ctx_metrics.notices import collected
from ctx_metrics.scale.corpora import InBlocks
from ctx_metrics.scale.kept import ResultCache

SOURCES = [f"Satz Nummer {i} ." for i in range(12)]
HYPOTHESES = [f"Sentence {i} ." for i in range(12)]
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(asking, "FIRST_WAIT", 0.001)


@pytest.fixture
def judge(server, tmp_path):
    def make(**given) -> Judge:
        own = {"url": server.url, "model": "toy", "samples": 1, "store": str(tmp_path), "concurrency": 4}
        return Judge([], **{"sources": SOURCES, "engine": EngineOptions(quiet=True), **own, **given})

    return make


def scored(metric: Judge) -> tuple[float, list[float], list[str]]:
    """The score, the segments' scores and the notices."""
    with collected() as notices:
        score = metric.corpus_score(HYPOTHESES, None).score
        segments = [each.score for each in metric.segment_scores(HYPOTHESES, None)]
    return score, segments, [str(each) for each in notices]


def once(fault, number: int):
    """A fault as one answer, and none at all before and after it."""
    return lambda n, request: fault if n == number else judgement(score_of(request))


STRANGE = "something other than a chat completion"
FAULTS: list[tuple[object, str]] = [
    (Fault(429, headers={"Retry-After": "0.05"}), "got status 429"),
    (Fault(503, {"error": {"message": "busy"}}), "got status 503"),
    (Fault(seconds=1.5), "timed out"),
    (Fault(body='{"choices"', promised=99), "found no server, or lost it"),
    (Fault(body=b"\xff<html>"), f"got {STRANGE}"),
    (Fault(body={"choices": []}), f"got {STRANGE}"),
    (Fault(body=completion(None)), "without any text"),
    ("I would say 90.", "without a JSON object with a score"),
    (Fault(body=completion('{"errors": [{"te', "length")), "that was cut off"),
    (judgement(1000), "with a score outside 0 to 100"),
    (judgement("high"), "with a score that is not a number"),
]


def test_faults_are_mended_and_each_kind_is_said_once(server, judge, tmp_path):
    """Every text but the first gets another fault before its answer."""
    clean = scored(judge(store=str(tmp_path / "clean")))[:2]
    left = dict(zip(HYPOTHESES[1:], FAULTS, strict=True))
    server.requests.clear()
    server.answer = lambda _, request: left.pop(data_of(request)["translation"], [judgement(score_of(request))])[0]
    LoadedModels.clear_all()
    score, segments, notices = scored(judge(timeout=1.0))
    assert (score, segments) == clean and len(server.requests) == 2 * len(SOURCES) - 1
    places: dict[str, list[int]] = {}
    for number, (_, words) in enumerate(FAULTS, 2):
        places.setdefault(words, []).append(number)
    assert len(notices) == len(places) == 10
    for words, own in places.items():
        [line] = [each for each in notices if f" {words}" in each]
        assert re.search(r"\(segments? (.*)\)$", line)[1] == ", ".join(map(str, own))
        assert ("was sent again" in line) == (own[0] <= 7)


@pytest.mark.full
def test_a_server_is_waited_for_as_long_as_it_says(server, judge):
    """By all workers, whether it says so in seconds or by a date."""
    for number, header in enumerate((lambda: "0.6", lambda: formatdate(time.time() + 2, usegmt=True))):
        server.times = []
        server.requests.clear()
        server.answer = lambda n, request: Fault(429, headers={"Retry-After": header()}) if n == 1 else judgement(50)
        scored(judge(store=f"{judge().settings.store}/{number}"))
        assert server.times[1] - server.times[0] >= 0.55
        LoadedModels.clear_all()


@pytest.mark.full
def test_all_workers_wait(server, judge):
    server.seconds = 0.05
    server.answer = once(Fault(429, headers={"Retry-After": "0.7"}), 3)
    scored(judge(concurrency=2))
    gaps = [after - before for before, after in zip(server.times, server.times[1:])]
    assert max(gaps) > 0.5 and sum(gap > 0.5 for gap in gaps) == 1


def test_concurrency_is_bounded(server, judge):
    server.seconds = 0.05
    scored(judge(concurrency=3))
    assert server.most == 3


@pytest.mark.full
def test_nothing_is_requested_twice(server, judge):
    first = scored(judge(samples=3))
    assert len(server.requests) == 36
    assert scored(judge(samples=3)) == first and len(server.requests) == 36
    scored(judge(samples=4))
    assert len(server.requests) == 48  # one more for each
    scored(judge(samples=4, temperature=0.5))
    assert len(server.requests) == 96


@pytest.mark.full
def test_runs_at_the_same_time_request_nothing_twice(server, tmp_path):
    """Three processes with one folder; each has all answers in the end."""
    server.seconds = 0.05
    code = "import sys, json; from ctx_metrics import Judge; own = json.loads(sys.argv[1]); "
    code += "print(Judge([], sources=own['sources'], **own['more']).corpus_score(own['hypotheses'], None).score)"
    more = {"url": server.url, "model": "toy", "samples": 1, "store": str(tmp_path / "store"), "concurrency": 4}
    own = json.dumps({"sources": SOURCES, "hypotheses": HYPOTHESES, "more": more})
    runs = [subprocess.Popen([sys.executable, "-c", code, own], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    scores = {run.communicate(timeout=100)[0] for run in runs}
    assert len(scores) == 1 and scores != {""} and len(server.requests) == 12


@pytest.mark.parametrize("packed", [True, False])
def test_an_endless_answer_is_not_read_whole(server, judge, packed, monkeypatch):
    monkeypatch.setattr("ctx_metrics.judge.server.MOST_BYTES", 2**20)
    body = b" " * (2**20 + 1)
    fault = Fault(body=gzip.compress(body), headers={"Content-Encoding": "gzip"}) if packed else Fault(body=body)
    server.answer = once(fault, 5)
    assert "judge: 1 segment had a request that got an answer of more than 1 MiB and was sent again" in str(
        scored(judge())[2]
    )


def test_a_packed_answer_is_read(server, judge):
    server.answer = lambda n, request: Fault(
        body=gzip.compress(json.dumps(completion(judgement(40))).encode()), headers={"Content-Encoding": "gzip"}
    )
    assert scored(judge())[0] == pytest.approx(40)


def test_unreadable_answers_are_kept_too(server, judge):
    server.answer = lambda n, request: "no" if "Sentence 3 " in data_of(request)["translation"] else judgement(40)
    before = scored(judge())
    assert len(server.requests) == 11 + asking.TRIES
    assert before[0] == pytest.approx(40) and before[1][3] != before[1][3]  # NaN
    assert before[2] == [
        "judge: 1 segment got an answer without a JSON object with a score, which does not count (segment 4)",
        "judge: 1 segment has no readable answer and is left out (segment 4)",
    ]
    after = scored(judge())
    assert len(server.requests) == 11 + asking.TRIES and after[2] == before[2]


@pytest.mark.full
def test_one_readable_sample_is_enough(server, judge):
    """A segment's other samples are left out, and it is counted."""
    seen: set[str] = set()

    def answer(number, request):
        text = data_of(request)["translation"]
        first = text not in seen
        seen.add(text)
        return judgement(80) if first else "no"

    server.answer = answer
    score, _, notices = scored(judge(samples=2, concurrency=1))
    assert score == pytest.approx(80) and any(
        each.startswith("judge: 12 segments have fewer than 2 readable answers (segments 1,") for each in notices
    )


def test_a_text_that_the_server_refuses_is_left_out(server, judge):
    """As where it is longer than the model reads."""
    long = Fault(400, {"error": {"message": "maximum context length is 512 tokens"}})
    server.answer = lambda n, request: long if "Sentence 7 " in data_of(request)["translation"] else judgement(40)
    score, segments, notices = scored(judge())
    assert score == pytest.approx(40) and segments[7] != segments[7] and len(server.requests) == 12
    assert notices == [
        "judge: 1 segment had a request that got status 400 and was given up (maximum context length is 512 tokens): segment 8",
        "judge: 1 segment has no readable answer and is left out (segment 8)",
    ]
    LoadedModels.clear_all()  # a run that resumes has nothing else to ask about
    assert scored(judge())[2] == notices and len(server.requests) == 13


def test_a_server_that_takes_few_requests_gets_them_all(server, judge):
    """However often a request is too many, as long as others are answered."""

    def answer(number, request):
        return judgement(50) if number % 5 == 0 else Fault(429)

    server.answer = answer
    score, _, notices = scored(judge(concurrency=6))
    assert score == pytest.approx(50) and not any("given up" in each for each in notices)
    assert len(server.requests) == 12 * 5


def test_results_with_a_failed_request_are_not_kept(server, judge, tmp_path):
    """The next run sends it again, and then the result is kept."""
    broken = server.answer
    server.answer = lambda n, request: Fault(500) if "Sentence 7 " in data_of(request)["translation"] else judgement(40)
    found = []
    for _ in range(3):
        metric = judge(concurrency=2)
        metric.in_blocks = InBlocks(kept=ResultCache(str(tmp_path / "kept")))
        found.append((scored(metric)[1][7], len(server.requests)))
        server.answer = broken
        LoadedModels.clear_all()
    (lost, _), (answered, sent), (kept, after) = found
    assert lost != lost and answered == answered == kept and after == sent


@pytest.mark.parametrize(
    "fault, words",
    [
        (
            Fault(401, {"error": {"message": f"Incorrect API key: {KEY}"}}),
            "got status 401: Incorrect API key: \\*\\*\\*",
        ),
        (Fault(404, {"error": {"message": "no model toy"}}), "got status 404: no model toy .does the URL lack /v1"),
        (Fault(307, headers={"Location": "http://127.0.0.1:9/v1"}), "got status 307"),
        (Fault(429, {"error": {"message": "pay", "code": "insufficient_quota"}}), "got status 429: pay$"),
        (Fault(429, headers={"Retry-After": "7200"}), "it asks to wait 7,200 seconds"),
        (Fault(401, {"error": {"message": "\x1b[31mred\n" + "x" * 999}}), "got status 401: .31mred x{190}"),
        (Fault(body="<html>"), "got something other than a chat completion: does the URL lack /v1"),
        (Fault(401), "the key is in the environment variable OPENAI_API_KEY; key_env=... names another"),
    ],
)
def test_a_server_that_takes_no_request_gets_one(server, judge, fault, words, monkeypatch):
    """The first request goes alone."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.answer = lambda *_: fault
    with pytest.raises(ModelError, match=words) as raised:
        scored(judge())
    assert len(server.requests) == 1
    assert KEY not in str(raised.value) and str(raised.value).isprintable()


@pytest.mark.parametrize(
    "fault, words",
    [
        (Fault(400, {"error": {"message": "no response_format"}}), "400: no response_format .change format=[.]{3}.$"),
        (Fault(422, {"detail": [{"msg": "no"}]}), "got status 422: "),
    ],
)
def test_a_server_that_refuses_three_texts_gets_no_more(server, judge, fault, words):
    server.answer = lambda *_: fault
    with pytest.raises(ModelError, match=words):
        scored(judge(samples=2))
    assert len({data_of(request)["translation"] for request in server.requests}) == len(server.requests) == 3


def test_a_first_text_that_is_refused_stops_nothing(server, judge):
    """The shortest goes first, and a filter may refuse it."""
    server.answer = lambda n, request: Fault(400) if "Sentence 0 " in data_of(request)["translation"] else judgement(40)
    score, segments, notices = scored(judge())
    assert score == pytest.approx(40) and segments[0] != segments[0] and len(server.requests) == 12
    assert data_of(server.requests[0])["translation"] == "Sentence 0 ."
    assert "judge: 1 segment has no readable answer and is left out (segment 1)" in notices


def test_a_key_that_was_not_there_is_said(server, judge, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server.answer = lambda *_: Fault(401)
    with pytest.raises(
        ModelError, match="no key was sent, because it is not in the environment variable OPENAI_API_KEY"
    ):
        scored(judge())


@pytest.mark.full
def test_a_provider_s_error_in_an_answer_is_shown(server, judge):
    """Some gateways answer with status 200 and an error."""
    server.answer = lambda *_: Fault(body={"error": {"message": "upstream is down", "code": 502}})
    with pytest.raises(ModelError, match="got something other than a chat completion: upstream is down, 8 times"):
        scored(judge())


@pytest.mark.full
def test_a_server_that_is_waited_for_is_named(server, judge, capsys):
    """Before its first answer, because minutes may pass; a server that works says nothing of this kind."""
    server.answer = once(Fault(503), 1)
    scored(judge(concurrency=1, engine=EngineOptions()))
    line = f"ctx-metrics: judge: a request to {server.host} got status 503; it is sent up to 8 times\n"
    assert capsys.readouterr().err.count(line) == 1
    LoadedModels.clear_all()
    server.answer = once(Fault(503), 20)
    scored(judge(concurrency=1, temperature=0.5, engine=EngineOptions()))
    assert "it is sent up to" not in capsys.readouterr().err


def test_no_proxy_for_a_server_on_this_machine(server, judge, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    scored(judge())
    assert len(server.requests) == 12


@pytest.mark.full
def test_a_server_that_always_fails_stops_the_run(server, judge):
    server.answer = lambda *_: Fault(500)
    with pytest.raises(ModelError, match="got status 500, 8 times; the answers so far are kept in .*, and the same"):
        scored(judge(concurrency=1, samples=2))
    assert len(server.requests) == asking.SENDS * 3  # for one sample of each of three texts


def test_a_text_that_always_fails_does_not_stop_a_run_that_resumes(server, judge):
    """With nothing else to ask about."""
    server.answer = lambda n, request: Fault(500) if "Sentence 7 " in data_of(request)["translation"] else judgement(40)
    before = scored(judge(samples=2))
    LoadedModels.clear_all()
    after = scored(judge(samples=2))
    assert after[0] == before[0] == pytest.approx(40) and after[1][7] != after[1][7] and after[2] == before[2]
    assert ["was sent again (segment 8)" in each for each in after[2]] == [True, False, False]
    assert "got status 500 and was given up (segment 8)" in after[2][1]
    server.answer = lambda *_: judgement(40)
    assert scored(judge(samples=2))[2] == []


def test_no_server(judge):
    with pytest.raises(ModelError, match="to 127.0.0.1:9 found no server, or lost it: .*refused.*, 8 times"):
        scored(judge(url="http://127.0.0.1:9/v1"))


def test_a_cap_that_is_too_small_stops_before_the_first(server, judge):
    with pytest.raises(InputError, match="300 are allowed"):
        scored(judge(max_requests=300, samples=1000))
    with pytest.raises(InputError, match="12 requests are needed, but at most 11 are allowed; nothing more was sent"):
        scored(judge(max_requests=11))
    assert server.requests == []
    scored(judge(max_requests=12))
    assert len(server.requests) == 12


def test_a_cap_counts_what_is_sent_again(server, judge):
    server.answer = lambda n, request: Fault(500) if n % 2 else judgement(50)
    with pytest.raises(InputError, match="14 requests were sent, which is all that max_requests allows"):
        scored(judge(max_requests=14))
    assert len(server.requests) == 14
    LoadedModels.clear_all()
    server.answer = lambda *_: judgement(50)
    assert scored(judge(max_requests=14))[0] == pytest.approx(50)
    assert len(server.requests) == 14 + 12 - 7


@pytest.mark.full
def test_answers_of_other_models_are_named(server, judge):
    """As where a name on the server has changed its meaning since an earlier run."""
    server.model = "toy-2025"
    server.answer = once(Fault(401), 7)
    with pytest.raises(ModelError):
        scored(judge(concurrency=1))
    server.model, server.answer = "toy-2026", lambda n, request: judgement(50)
    LoadedModels.clear_all()
    _, _, notices = scored(judge())
    assert notices == [f"judge: the answers are those of toy-2025 on {server.host}, toy-2026 on {server.host}"]
    with serving() as other:
        _, _, notices = scored(judge(url=other.url))
    assert other.requests == [] and "toy-2025 on" in notices[0]


def test_damaged_answers_are_requested_again(server, judge, tmp_path):
    before = scored(judge())
    [one, *_] = sorted(tmp_path.glob("*/*.json.z"))
    one.write_bytes(one.read_bytes()[:-3])
    score, segments, notices = scored(judge())
    assert (score, segments) == before[:2] and len(server.requests) == 13
    assert notices[0].startswith("--judge-store ") and notices[0].endswith("is ignored, because it is damaged")


def test_a_store_of_others_is_refused(judge, tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(InputError, match="--judge-store .*: other users may write there"):
        scored(judge())


HANGS_UP = """
import os, signal, sys
from ctx_metrics.judge import asking, server
from ctx_metrics.cli import main

asking.FIRST_WAIT = 0.001
def hang_up(self, messages):
    read, write = os.pipe()
    os.close(read)
    try:
        os.write(write, b"x")
    except BrokenPipeError:
        raise server.RequestFailure("found no server, or lost it", again=True, lost=True) from None

server.Server.answer = hang_up
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.full
def test_a_server_that_hangs_up_does_not_end_the_command(tmp_path):
    """The command lets SIGPIPE end it, for `| head`."""
    (tmp_path / "text").write_text("A cat.\n")
    command = ["score", "-s", "text", "-t", "text", "-m", "judge", "--judge-url", "http://localhost:9/v1", "-q"]
    command += ["--judge-model", "toy", "--judge-store", "store"]
    done = subprocess.run([sys.executable, "-c", HANGS_UP, *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "found no server, or lost it, 8 times" in done.stderr


RUN = """
import signal, sys
from ctx_metrics import Judge
from ctx_metrics.engine_options import EngineOptions
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in its background with Ctrl-C ignored
url, store, *rest = sys.argv[1:]
lines = lambda name: [f"{name} {i} ." for i in range(12)]
metric = Judge([], sources=lines("Satz Nummer"), url=url, model="toy", samples=2, store=store, concurrency=3)
print(metric.corpus_score(lines("Sentence"), None).score)
"""


@pytest.mark.full
@pytest.mark.parametrize("how", some([signal.SIGKILL, signal.SIGINT], [signal.SIGKILL]))
def test_a_killed_run_resumes(server, tmp_path, how):
    """To the same scores, without a repeated request."""
    given = iter(range(10, 100))
    answers: dict[str, str] = {}

    def answer(number, request):
        text = judgement(next(given))
        answers.setdefault(json.dumps(request), text)
        return text

    server.answer, server.seconds = answer, 0.3
    whole = [sys.executable, "-c", RUN, server.url, str(tmp_path / "store")]
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    run = subprocess.Popen(whole, stderr=subprocess.PIPE, env=env)
    while len(server.requests) < 10:
        time.sleep(0.01)
    run.send_signal(how)
    start = time.monotonic()
    run.communicate()
    assert time.monotonic() - start < 60 and run.returncode != 0
    time.sleep(0.9)  # the server has answered what it had got
    kept, sent = len(list(Path(tmp_path, "store").glob("*/*.json.z"))), len(server.requests)
    assert 4 <= kept <= sent < 24
    first = subprocess.run(whole, capture_output=True, text=True, env=env, check=True)
    assert len(server.requests) == sent + 24 - kept  # all that was not kept, and no more
    assert f"({kept} answers are kept)" in first.stderr
    again = subprocess.run(whole, capture_output=True, text=True, env=env, check=True)
    assert again.stdout == first.stdout and again.stderr == ""
    assert len(server.requests) == sent + 24 - kept


def test_the_key_goes_to_the_server_alone(server, judge, tmp_path, monkeypatch, capfd):
    """A server repeats it in answers and errors; it is in no file, message, cache or traceback."""
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    echo = Fault(500, {"error": {"message": f"Bearer {KEY}"}})
    server.answer = lambda n, request: echo if n == 3 else f"Bearer {KEY} {judgement(50)}"
    metric = judge(key_env="MY_KEY")
    scored(metric)
    assert set(server.keys) == {f"Bearer {KEY}"}
    server.answer = lambda *_: Fault(401, {"error": {"message": f"not {KEY}"}})
    with pytest.raises(ModelError) as raised:
        scored(judge(key_env="MY_KEY", temperature=0.1))
    told = "".join(traceback.TracebackException.from_exception(raised.value, capture_locals=False).format())
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    answers = b"".join(zlib.decompress(path.read_bytes().split(b"\n", 1)[1]) for path in tmp_path.rglob("*.json.z"))
    assert b"***" in answers and b"errors" in answers
    shown = "".join(capfd.readouterr())
    for where in (told, repr(metric), str(metric.get_signature()), shown):
        assert KEY not in where
    for where in (written, answers, pickle.dumps(metric)):
        assert KEY.encode() not in where


@pytest.mark.parametrize(
    "name, key, said",
    [
        ("OPENAI_API_KEY", "sk-\u00e4", "OPENAI_API_KEY holds no key"),
        ("OPENAI_API_KEY", "two words", "OPENAI_API_KEY holds no key"),
        ("NO_SUCH_KEY", None, "the environment variable NO_SUCH_KEY is not set"),
    ],
)
def test_a_key_that_is_none_is_neither_sent_nor_shown(server, judge, monkeypatch, name, key, said):
    if key:
        monkeypatch.setenv(name, key)
    with pytest.raises(InputError, match=said) as raised:
        scored(judge(key_env=name))
    assert key is None or key not in str(raised.value)
    assert server.requests == []


def test_a_key_that_travels_in_the_open_is_said(judge, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(asking, "SENDS", 1)
    with collected() as notices, pytest.raises(ModelError):
        judge(url="http://judge.invalid/v1").corpus_score(HYPOTHESES, None)
    assert any("go to judge.invalid unencrypted (http)" in str(each) for each in notices)


def test_without_the_client(server, judge, monkeypatch):
    """What is kept needs no client; anything else says how to get it."""
    before = scored(judge())
    LoadedModels.clear_all()
    monkeypatch.setitem(sys.modules, "openai", None)
    assert scored(judge()) == before
    with pytest.raises(
        ModelError, match="the package openai is needed to ask a server: pip install 'ctx-metrics.judge.'"
    ):
        scored(judge(temperature=0.2))


@pytest.mark.full
def test_no_answer_at_all(server, judge):
    server.answer = lambda *_: "no"
    words = "none of .*'s answers about the first 3 texts can be read; the last was one without a JSON object"
    with pytest.raises(
        ModelError, match=f"{words} with a score .format=... has the server force JSON in other ways.; "
    ):
        scored(judge(concurrency=1, samples=2))
    assert len(server.requests) == asking.TRIES * 5  # two texts and a half
    LoadedModels.clear_all()
    server.answer = lambda *_: Fault(body=completion('{"errors": [{"te', "length"))
    with pytest.raises(ModelError, match="the last was one that was cut off .max_tokens=... allows longer answers.; "):
        scored(judge(temperature=0))


@pytest.mark.parametrize("rest", [[], [""]])
def test_no_answer_about_a_few_texts(server, judge, rest):
    """A score of the empty texts alone would be no score of the system."""
    server.answer = lambda *_: "no"
    metric = judge(sources=SOURCES[: 2 + len(rest)])
    with pytest.raises(InputError, match="judge: no segment can be scored; .*2 segments have no readable answer"):
        metric.corpus_score(["Sentence 1 .", "Sentence 2 .", *rest], None)
