"""Label Studio's requests, as its documentation has them."""

from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import httpx
import pytest
import srsly

from spacy_spanner.corpus.conversion import read_docs
from spacy_spanner.jobs.serve.label_studio import Interface, own_results, read_interface
from spacy_spanner.jobs.serve.limits import Limits, RefusedError
from spacy_spanner.jobs.serve.starting import Serving

from ...helpers import NESTED, spans_of, trained
from .running import FAILS, annotator_of, client_of, guarded, wait_until

COURT, BOSTON, RAIN = (text for text, _ in NESTED[:3])
CONFIG = """
<View>
  <Header value="What is in this text?"/>
  <Labels name="entities" toName="article">
    <Label value="PER" background="red"/>
    <Label value="ORG"/>
    <Label value="GPE"/>
  </Labels>
  <Text name="article" value="$body" granularity="word"/>
</View>
"""
PROJECT = "12.1651234567"


def task(number: int, text: str) -> Dict[str, Any]:
    """A task as Label Studio serializes it."""
    return {
        "id": number,
        "data": {"body": text, "source": "news"},
        "meta": {},
        "created_at": "2024-05-20T16:29:12.201416Z",
        "updated_at": "2024-05-20T16:29:12.201442Z",
        "is_labeled": False,
        "overlap": 1,
        "project": 12,
        "annotations": [],
        "predictions": [],
    }


def predict_request(texts: List[str], config: Optional[str] = CONFIG) -> Dict[str, Any]:
    return {
        "tasks": [task(number, text) for number, text in enumerate(texts, start=1)],
        "model_version": "en_pipeline-0.0.0",
        "project": PROJECT,
        "label_config": config,
        "params": {"login": None, "password": None, "context": None},
    }


def region(text: str, start: int, end: int, label: str) -> Dict[str, Any]:
    return {
        "id": f"r{start}{label}",
        "from_name": "entities",
        "to_name": "article",
        "type": "labels",
        "origin": "manual",
        "value": {"start": start, "end": end, "text": text, "labels": [label]},
    }


def event(name: str, number: int, text: str, results: List[Any]) -> Dict[str, Any]:
    """A webhook's payload for the task with this number."""
    return {
        "action": name,
        "annotation": {
            "id": 100 + number,
            "task": number,
            "was_cancelled": False,
            "ground_truth": False,
            "lead_time": 3.5,
            "result": results,
        },
        "task": task(number, text),
        "project": {"id": 12, "title": "News", "label_config": CONFIG},
    }


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    annotator, _ = guarded(tmp_path_factory.mktemp("model"))
    serving = Serving(annotator.model, label_studio=True, limits=Limits(texts=5))
    with client_of(serving, annotator) as client:
        yield client


def test_health_and_setup(client: httpx.Client) -> None:
    health = client.get("/health").json()
    assert health["status"] == "UP"
    assert health["model_class"] == "spacy-spanner"
    body = {
        "project": PROJECT,
        "schema": CONFIG,
        "hostname": "http://localhost:8080",
        "access_token": "secret",
        "extra_params": None,
    }
    answer = client.post("/setup", json=body)
    assert answer.status_code == 200
    assert answer.json() == {"model_version": "en_pipeline-0.0.0"}


def test_predictions_have_the_names_of_the_interface(client: httpx.Client) -> None:
    text = f"😀 {COURT}"
    answer = client.post("/predict", json=predict_request([text, RAIN, ""]))
    assert answer.status_code == 200
    first, *others = answer.json()["results"]
    assert [one["result"] for one in others] == [[], []]
    assert "score" not in others[0]
    scores = [one["score"] for one in first["result"]]
    assert first["score"] == min(scores) > 0
    assert first["model_version"] == "en_pipeline-0.0.0"
    doc = trained("span_biaffine")(text)
    assert len(first["result"]) == len(doc.spans["ents"]) > 0
    units = text.encode("utf-16-le")
    for result, span in zip(first["result"], doc.spans["ents"]):
        value = result["value"]
        assert value["labels"] == [span.label_]
        shown = units[2 * value["start"] : 2 * value["end"]].decode("utf-16-le")
        assert shown == value["text"] == span.text
        assert (result["from_name"], result["to_name"]) == ("entities", "article")
        assert result["type"] == "labels"
    assert len({result["id"] for result in first["result"]}) == len(first["result"])


def test_labels_that_the_interface_lacks_are_left_out_with_a_warning(
    client: httpx.Client,
) -> None:
    config = CONFIG.replace('<Label value="GPE"/>', '<Label value="X" alias="Y"/>')
    with pytest.warns(UserWarning, match=r"SW210.*GPE"):
        answer = client.post("/predict", json=predict_request([COURT], config))
    labels = [r["value"]["labels"] for r in answer.json()["results"][0]["result"]]
    assert labels == [["ORG"]]


def test_a_task_that_fails_has_no_spans(client: httpx.Client) -> None:
    answer = client.post("/predict", json=predict_request([FAILS, COURT])).json()
    failed, other = answer["results"]
    assert failed["result"] == [] and len(other["result"]) == 3


def test_without_training_submissions_are_ignored(client: httpx.Client) -> None:
    body = event("ANNOTATION_CREATED", 1, COURT, [])
    answer = client.post("/webhook", json=body)
    assert answer.status_code == 200
    assert answer.json()["status"].startswith("ignored")


@pytest.mark.parametrize("config", ["no XML", "<View/>", "<View><Text name='a'/>"])
def test_unusable_interface(client: httpx.Client, config: str) -> None:
    for path, body in (
        ("/setup", {"project": PROJECT, "schema": config}),
        ("/predict", predict_request([COURT], config)),
    ):
        answer = client.post(path, json=body)
        assert answer.status_code == 422
        assert answer.json()["error"]["code"] == "SP220"


@pytest.mark.parametrize("tasks", [None, {}, [5], [{}], [{"data": {"text": "a"}}]])
def test_tasks_without_a_text(client: httpx.Client, tasks: Any) -> None:
    body = {**predict_request([]), "tasks": tasks}
    answer = client.post("/predict", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "SP217"


def test_too_many_tasks(client: httpx.Client) -> None:
    answer = client.post("/predict", json=predict_request(["a"] * 6))
    assert answer.status_code == 413


# -------------------------------------------------------------- interfaces


def test_interface() -> None:
    found = read_interface(CONFIG)
    assert found.tags == ("entities", "article", "labels")
    assert found.field == "body"
    assert found.labels == {"PER", "ORG", "GPE"}


def test_interface_with_other_tags() -> None:
    config = """<View><Choices name="c" toName="t"><Choice value="A"/></Choices>
    <View><HyperText name="t" value="$html"/></View>
    <HyperTextLabels name="l" toName="t" value="$labels"/></View>"""
    found = read_interface(config)
    assert found.tags == ("l", "t", "hypertextlabels")
    assert (found.field, found.labels) == ("html", frozenset())


def test_projects_without_interface_use_the_names_of_exports() -> None:
    assert read_interface(None) == read_interface("") == Interface()


BILLION = "<!DOCTYPE a [<!ENTITY a 'aaa'><!ENTITY b '&a;&a;'>]><View>&b;</View>"
URL = CONFIG.replace('value="$body"', 'value="$body" valueType="url"')


@pytest.mark.parametrize(
    "config", [5, BILLION, URL, CONFIG.replace("$", ""), "<a>" * 9]
)
def test_interfaces_that_cannot_be_used(config: Any) -> None:
    with pytest.raises(RefusedError, match="SP220"):
        read_interface(config)


# ---------------------------------------------------------------- training

NEW = "Quorl Bank hired Ana Ruiz."


def learning(folder: Path, **options: Any) -> Any:
    annotator = annotator_of(trained("span_biaffine"), folder / "model")
    serving = Serving(
        annotator.model, label_studio=True, output=str(folder / "out"), **options
    )
    return client_of(serving, annotator)


def predicted(client: httpx.Client, text: str) -> List[Any]:
    answer = client.post("/predict", json=predict_request([text])).json()
    (result,) = answer["results"]
    rows = [r["value"] for r in result["result"]]
    return [(r["start"], r["end"], r["labels"][0]) for r in rows]


def test_server_learns_from_submitted_tasks(tmp_path: Path) -> None:
    wanted = [(0, 10, "ORG"), (17, 25, "PER")]
    results = [region(NEW[s:e], s, e, label) for s, e, label in wanted]
    with learning(tmp_path, train_after=2, epochs=40) as client:
        assert predicted(client, NEW) != wanted
        created = event("ANNOTATION_CREATED", 1, NEW, results[:1])
        assert client.post("/webhook", json=created).json() == {"status": "ok"}
        state = client.get("/health").json()["training"]
        assert (state["tasks"], state["rounds"], state["is_training"]) == (1, 0, False)
        updated = event("ANNOTATION_UPDATED", 1, NEW, results)
        assert client.post("/webhook", json=updated).status_code == 201

        def rounds() -> int:
            return client.get("/health").json()["training"]["rounds"]

        wait_until(lambda: rounds() == 1, "the training")
        assert predicted(client, "It rained.") == []  # takes the new pipeline
        assert predicted(client, NEW) == wanted
        version = client.post("/setup", json={"schema": CONFIG}).json()
        assert version == {"model_version": "en_pipeline-0.0.0+1"}
        other = client.post("/webhook", json={"action": "TASKS_CREATED"})
        assert (other.status_code, other.json()) == (200, {"status": "Unknown event"})
        forced = client.post("/webhook", json={"action": "START_TRAINING", "id": 3})
        assert forced.status_code == 201
        wait_until(lambda: rounds() == 2, "the second training")
    import spacy

    nlp = spacy.load(tmp_path / "out" / "model-last")
    assert nlp.meta["version"] == "0.0.0+2"  # the next training counts on
    doc = nlp(NEW)
    assert [(s.start_char, s.end_char, s.label_) for s in doc.spans["ents"]] == wanted


def test_submitted_tasks_survive_restarts_and_can_be_converted(tmp_path: Path) -> None:
    results = [region("Boston", 13, 19, "GPE")]
    with learning(tmp_path, train_after=99) as client:
        for number, text in enumerate((BOSTON, COURT, RAIN), start=1):
            body = event("ANNOTATION_CREATED", number, text, results[: number == 1])
            assert client.post("/webhook", json=body).status_code == 201
        # Label Studio names deleted annotations in a list.
        deleted = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 102}]}
        assert client.post("/webhook", json=deleted).status_code == 201
    with learning(tmp_path, train_after=99) as client:
        assert client.get("/health").json()["training"]["tasks"] == 3
        skipped = event("ANNOTATION_CREATED", 4, "Skipped.", [])
        skipped["annotation"]["was_cancelled"] = True
        assert client.post("/webhook", json=skipped).status_code == 201
    docs = list(read_docs(tmp_path / "out" / "tasks", trained("span_biaffine")))
    annotated = {doc.text: spans_of(doc) for doc in docs if "ents" in doc.spans}
    assert annotated == {BOSTON: [(3, 4, "GPE")], RAIN: []}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"tasks"}


def test_choices_of_regions_are_kept() -> None:
    span = region("Boston", 13, 19, "GPE")
    answer = {**span, "from_name": "answer", "type": "choices"}
    answer["value"] = {"start": 13, "end": 19, "choices": ["reject"]}
    other = {**span, "from_name": "topics"}
    kept = own_results({"id": 1, "result": [span, answer, other]}, "entities")
    assert kept["result"] == [span, answer]


def test_a_training_that_fails_keeps_the_pipeline(tmp_path: Path) -> None:
    shown = pytest.warns(UserWarning, match="SW212")
    with learning(tmp_path, train_after=1) as client:
        before = predicted(client, COURT)
        (tmp_path / "model" / "config.cfg").unlink()
        with shown:
            body = event("ANNOTATION_CREATED", 1, RAIN, [])
            client.post("/webhook", json=body)
            wait_until(lambda: client.get("/health").json()["training"]["problem"])
        assert predicted(client, COURT) == before
        assert len(list((tmp_path / "out" / "tasks").iterdir())) == 1


def test_spans_that_do_not_fit_the_tokens_are_reported(tmp_path: Path) -> None:
    inside = region("osto", 14, 18, "GPE")
    body = event("ANNOTATION_CREATED", 1, BOSTON, [inside])
    shown = pytest.warns(UserWarning, match="SW211.*1 of 1.*osto")
    with learning(tmp_path, train_after=1, epochs=1) as client, shown:
        client.post("/webhook", json=body)
        wait_until(lambda: client.get("/health").json()["training"]["rounds"])


def test_broken_events(tmp_path: Path) -> None:
    whole = event("ANNOTATION_CREATED", 1, BOSTON, [])
    wrong: List[Any] = [None, 5, {}, {"id": "x", "data": {"body": "a"}}]
    with learning(tmp_path, train_after=1) as client:
        for part in ("annotation", "task"):
            for value in wrong:
                answer = client.post("/webhook", json={**whole, part: value})
                assert answer.status_code == 422
                assert answer.json()["error"]["code"] == "SP217"
        for value in (None, 5, [5], [{"id": "x"}], [{"id": []}]):
            deleted = {"action": "ANNOTATIONS_DELETED", "annotations": value}
            answer = client.post("/webhook", json=deleted)
            assert answer.json()["error"]["code"] == "SP217"
        assert client.get("/health").json()["training"]["tasks"] == 0


def test_other_events_need_no_usable_interface(tmp_path: Path) -> None:
    body = {"action": "PROJECT_UPDATED", "project": {"label_config": "<View/>"}}
    with learning(tmp_path, train_after=1) as client:
        answer = client.post("/webhook", json=body)
        assert (answer.status_code, answer.json()) == (200, {"status": "Unknown event"})


def test_older_versions_send_all_tasks_at_once(tmp_path: Path) -> None:
    done = {"id": 7, "was_cancelled": False, "result": []}
    tasks = [{**task(n, text), "annotations": [done]} for n, text in ((1, RAIN),)]
    body = {"annotations": tasks, "project": PROJECT, "label_config": CONFIG}
    with learning(tmp_path, train_after=9, epochs=1) as client:
        assert client.post("/train", json=body).status_code == 201
        wait_until(lambda: client.get("/health").json()["training"]["rounds"])
    (path,) = (tmp_path / "out" / "tasks").iterdir()
    assert srsly.read_json(path)["data"] == {"text": RAIN}
