"""`POST /spans`: answers, limits and errors."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

import httpx
import pytest

from spacy_spanner.jobs.annotate.annotator import SpanAnnotator
from spacy_spanner.jobs.serve.batching import Batcher
from spacy_spanner.jobs.serve.limits import Limits
from spacy_spanner.jobs.serve.starting import Serving

from ...evaluation.test_predicting import ruler
from ...helpers import NESTED, scored_spans, trained
from .running import (
    FAILS,
    SECONDS,
    Guard,
    annotator_of,
    client_of,
    guarded,
    spans_in,
    wait_until,
)

COURT, BOSTON, RAIN = (text for text, _ in NESTED[:3])
LIMITS = Limits(body=100_000, texts=20, seconds=5, requests=8, batch=4)


class Running(NamedTuple):
    """A server for all tests of this file."""

    client: httpx.Client
    annotator: SpanAnnotator
    guard: Guard

    def post(self, body: Any, path: str = "/spans") -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        return self.client.post(path, content=json.dumps(body), headers=headers)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    annotator, guard = guarded(tmp_path_factory.mktemp("model"))
    serving = Serving(annotator.model, limits=LIMITS)
    with client_of(serving, annotator) as client:
        yield Running(client, annotator, guard)


def expected(text: str) -> List[Dict[str, Any]]:
    doc = trained("span_biaffine")(text)
    return [
        {
            "start": doc[start].idx,
            "end": doc[start:end].end_char,
            "label": label,
            "text": doc[start:end].text,
            "score": pytest.approx(score, abs=1e-5),
            "token_start": start,
            "token_end": end - 1,
        }
        for start, end, label, score in scored_spans(doc)
    ]


def error_of(answer: httpx.Response, status: int) -> str:
    """Check that an answer is an error in clean JSON, and return its code."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert not answer.json()["error"]["message"].startswith("[")
    return answer.json()["error"]["code"]


# ----------------------------------------------------------------- answers


def test_one_text(running: Running) -> None:
    answer = running.post({"text": COURT})
    assert answer.status_code == 200
    assert answer.json() == {"spans": expected(COURT)}
    assert len(answer.json()["spans"]) == 3


def test_several_texts_in_their_order(running: Running) -> None:
    texts = [COURT, "", RAIN, BOSTON] * 3
    answer = running.post({"texts": texts}).json()
    assert answer == {"documents": [{"spans": expected(text)} for text in texts]}


def test_no_texts(running: Running) -> None:
    assert running.post({"texts": []}).json() == {"documents": []}


def test_threshold_holds_for_its_request_only(running: Running) -> None:
    def count(threshold: Any) -> int:
        body = {"text": COURT, "threshold": threshold}
        return len(running.post(body).json()["spans"])

    before = dict(running.annotator.nlp.get_pipe("span_biaffine").cfg)
    assert count(None) == 3
    assert count(0.0) > 3
    assert count(1) == 0
    assert running.annotator.nlp.get_pipe("span_biaffine").cfg == before


def test_concurrent_clients_get_their_own_answers(running: Running) -> None:
    texts = [COURT, BOSTON, RAIN]
    wanted = {text: expected(text) for text in texts}

    def ask(number: int) -> None:
        text = texts[number % 3]
        threshold = [None, 0.5][number % 2]
        answer = running.post({"texts": [text, text], "threshold": threshold})
        assert answer.json() == {"documents": [{"spans": wanted[text]}] * 2}

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(36)))


def test_waiting_requests_are_one_batch(running: Running) -> None:
    guard = running.guard
    guard.may_go.clear()
    guard.begun.clear()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(running.post, {"text": "First."})
        assert guard.begun.wait(SECONDS)
        later = [pool.submit(running.post, {"text": f"Later {n}."}) for n in range(3)]
        health = lambda: running.client.get("/health").json()  # noqa: E731
        wait_until(lambda: health()["waiting_texts"] == 3)
        guard.may_go.set()
        assert all(one.result().status_code == 200 for one in [first, *later])
    assert sorted(guard.batches[-1]) == ["Later 0.", "Later 1.", "Later 2."]


def test_thresholds_of_waiting_requests_are_kept_apart(running: Running) -> None:
    def count(threshold: Any) -> int:
        body = {"text": COURT, "threshold": threshold}
        return len(running.post(body).json()["spans"])

    guard, thresholds = running.guard, [None, 1, 0.0] * 2
    wanted = [count(threshold) for threshold in thresholds]
    assert len({*wanted}) == 3
    guard.may_go.clear()
    guard.begun.clear()
    with ThreadPoolExecutor(7) as pool:
        first = pool.submit(running.post, {"text": "First."})
        assert guard.begun.wait(SECONDS)
        asked = [pool.submit(count, threshold) for threshold in thresholds]
        health = lambda: running.client.get("/health").json()  # noqa: E731
        wait_until(lambda: health()["waiting_texts"] == 6)
        guard.may_go.set()
        assert [one.result() for one in asked] == wanted
        assert first.result().status_code == 200


def test_health(running: Running) -> None:
    for path in ("/health", "/"):
        answer = running.client.get(path)
        assert answer.status_code == 200
        assert answer.json() == {"status": "UP", "requests": 0, "waiting_texts": 0}


def test_description_names_the_body(running: Running) -> None:
    paths = running.client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/", "/health", "/spans"}
    assert "threshold" in str(paths["/spans"]["post"]["requestBody"])


# --------------------------------------------------------------- documents


def test_a_text_that_fails_leaves_the_others(running: Running) -> None:
    texts = [COURT, FAILS, BOSTON]
    answer = running.post({"texts": texts})
    assert answer.status_code == 200
    first, failed, last = answer.json()["documents"]
    assert (first, last) == ({"spans": expected(COURT)}, {"spans": expected(BOSTON)})
    assert failed["error"]["code"] == "SP216"
    assert "this text is cursed" in failed["error"]["message"]


def test_a_text_that_fails_leaves_other_requests(running: Running) -> None:
    with ThreadPoolExecutor(6) as pool:
        bodies = [{"text": FAILS if n % 3 == 0 else BOSTON} for n in range(12)]
        answers = list(pool.map(running.post, bodies))
    for body, answer in zip(bodies, answers):
        if body["text"] == FAILS:
            assert error_of(answer, 500) == "SP216"
        else:
            assert answer.json() == {"spans": expected(BOSTON)}


# ------------------------------------------------------------------ bodies


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b'"text"', b"\xff\xfe", b"[" * 50_000, b"9" * 5_000]
)
def test_invalid_json(running: Running, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = running.client.post("/spans", content=body, headers=headers)
    assert error_of(answer, 400) == "SP210"


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", ""])
def test_wrong_content_type(running: Running, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    answer = running.client.post("/spans", content=b'{"text": "a"}', headers=headers)
    assert error_of(answer, 415) == "SP211"


def test_content_type_with_charset(running: Running) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    body = b'{"text": "It rained."}'
    answer = running.client.post("/spans", content=body, headers=headers)
    assert answer.json() == {"spans": expected("It rained.")}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "a", "texts": ["a"]},
        {"text": 5},
        {"text": None},
        {"texts": "a"},
        {"texts": ["a", 5]},
        {"text": "\ud800"},
        {"text": "a", "threshold": "0.5"},
        {"text": "a", "threshold": True},
        {"text": "a", "threshold": 1.5},
        {"text": "a", "threshold": -0.1},
        {"text": "a", "threshold": float("nan")},
        {"text": "a", "treshold": 0.5},
    ],
)
def test_wrong_fields(running: Running, body: Any) -> None:
    assert error_of(running.post(body), 422) == "SP217"


@pytest.mark.parametrize("n_bytes", [LIMITS.body, 10_000_000])
def test_large_body(running: Running, n_bytes: int) -> None:
    answer = running.post({"text": "x" * n_bytes})
    assert error_of(answer, 413) == "SP212"
    assert running.post({"text": RAIN}).status_code == 200


def test_large_body_of_unknown_length(running: Running) -> None:
    parts = (b" " * 10_000 for _ in range(20))
    headers = {"Content-Type": "application/json"}
    answer = running.client.post("/spans", content=parts, headers=headers)
    assert error_of(answer, 413) == "SP212"


def test_many_texts(running: Running) -> None:
    assert error_of(running.post({"texts": ["a"] * 21}), 413) == "SP213"
    assert running.post({"texts": ["a"] * 20}).status_code == 200


def test_unknown_addresses(running: Running) -> None:
    assert error_of(running.post({"text": "a"}, "/span"), 404) == "SP219"
    assert error_of(running.client.get("/spans"), 405) == "SP219"
    assert error_of(running.post({"tasks": []}, "/predict"), 404) == "SP219"


def test_failures_of_the_server(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(Batcher, "submit", fail)
        answer = running.post({"text": "a"})
    assert error_of(answer, 500) == "SP222"
    assert "a bug" in answer.json()["error"]["message"]
    with monkeypatch.context() as patch:
        patch.setattr(SpanAnnotator, "annotate", fail)
        assert error_of(running.post({"text": "a"}), 500) == "SP222"
    assert running.post({"text": "a"}).status_code == 200


# -------------------------------------------------------------- load, time


def test_too_many_requests(running: Running) -> None:
    guard = running.guard
    guard.may_go.clear()
    with ThreadPoolExecutor(LIMITS.requests) as pool:
        asked = [pool.submit(running.post, {"text": "a"}) for _ in range(8)]
        health = lambda: running.client.get("/health").json()  # noqa: E731
        wait_until(lambda: health()["requests"] == LIMITS.requests)
        answer = running.post({"text": "a"})
        assert error_of(answer, 503) == "SP214"
        assert answer.headers["Retry-After"] == "1"
        guard.may_go.set()
        assert all(one.result().status_code == 200 for one in asked)
    assert running.post({"text": "a"}).status_code == 200


def test_client_that_leaves_withdraws_its_texts(running: Running) -> None:
    guard, n_before = running.guard, len(running.guard.batches)
    guard.may_go.clear()
    guard.begun.clear()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(running.post, {"text": "It works."})
        assert guard.begun.wait(SECONDS)
        with pytest.raises(httpx.ReadTimeout):
            body = {"texts": ["Nobody reads this."] * 3}
            running.client.post("/spans", json=body, timeout=0.2)
        wait_until(lambda: running.client.get("/health").json()["requests"] == 1)
        guard.may_go.set()
        assert first.result().status_code == 200
    running.post({"text": "It works."})
    assert {t for b in guard.batches[n_before:] for t in b} == {"It works."}


def test_client_that_leaves_in_the_middle_of_its_body(running: Running) -> None:
    address = running.client.base_url
    with socket.create_connection((address.host, address.port)) as connection:
        head = "POST /spans HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: 500\r\n\r\n{{".encode())
        wait_until(lambda: running.client.get("/health").json()["requests"] == 1)
    wait_until(lambda: running.client.get("/health").json()["requests"] == 0)
    assert running.post({"text": RAIN}).status_code == 200


def test_answers_that_take_too_long(tmp_path: Path) -> None:
    annotator, guard = guarded(tmp_path)
    serving = Serving(annotator.model, limits=Limits(seconds=0.2))
    with client_of(serving, annotator) as client:
        guard.may_go.clear()
        answer = client.post("/spans", json={"text": "a"})
        assert error_of(answer, 504) == "SP215"
        address = client.base_url
        with socket.create_connection((address.host, address.port)) as connection:
            head = "POST /spans HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
            connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
            connection.settimeout(SECONDS)
            assert b" 408 " in connection.recv(1_000).splitlines()[0]
        guard.may_go.set()
        assert client.post("/spans", json={"text": "a"}).status_code == 200


def test_stopping_answers_what_was_accepted(tmp_path: Path) -> None:
    annotator, guard = guarded(tmp_path)
    serving = Serving(annotator.model)
    with ThreadPoolExecutor(1) as pool:
        with client_of(serving, annotator) as client:
            url = str(client.base_url)
            guard.may_go.clear()
            asked = pool.submit(httpx.post, f"{url}/spans", json={"text": COURT})
            assert guard.begun.wait(SECONDS)
            release = threading.Timer(0.3, guard.may_go.set)
            release.start()
        assert asked.result().json() == {"spans": expected(COURT)}
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/health")


def test_pipelines_without_scores_or_groups(tmp_path: Path) -> None:
    annotator = annotator_of(ruler("ents"), tmp_path)
    with client_of(Serving(annotator.model), annotator) as client:
        answer = client.post("/spans", json={"text": "In Boston."})
        assert all(row["score"] is None for row in answer.json()["spans"])
        assert spans_in(answer.json()["spans"])
        answer = client.post("/spans", json={"text": "a", "threshold": 0.5})
        assert error_of(answer, 422) == "SP218"


def test_words_of_requests_are_freed(running: Running) -> None:
    strings = running.annotator.nlp.vocab.strings
    running.post({"text": COURT})
    before = len(strings)
    for number in range(20):
        running.post({"text": f"Xqz{number} met Yvw{number} in {time.time()}."})
    assert len(strings) == before
