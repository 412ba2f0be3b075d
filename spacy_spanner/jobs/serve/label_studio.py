"""Label Studio's side of the server: its labeling interfaces, tasks and results.

The protocol is that of its ML backends: `/health`, `/setup` when a project is
connected, `/predict` with tasks, and `/webhook` when annotations are submitted. Every
request brings the labeling interface of its project, so that a server can have several
projects and needs no memory of them.
"""

import logging
import warnings
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Set

from ...corpus.markup import Node, parse_xml
from ...corpus.tasks import CharSpan, Tags, label_studio_results
from ...errors import Errors, Warnings
from .batching import Answer
from .bodies import check_texts, wrong_field
from .limits import Limits, RefusedError
from .retraining import Retraining

LOG = logging.getLogger("uvicorn.error")
# Tags with labels, and the type of their results.
CONTROLS = {"Labels": "labels", "HyperTextLabels": "hypertextlabels"}
TEXTS = ("Text", "HyperText")
SUBMITTED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
DELETED = "ANNOTATIONS_DELETED"
START_TRAINING = "START_TRAINING"
# Answers to events that change nothing.
SKIPPED = "Unknown event"
NOT_TRAINING = "ignored: the server was started without --train-after"


class Interface(NamedTuple):
    """What the server needs of a labeling interface.

    tags (Tags): the tags that spans belong to.
    field (str): field of the tasks with the text.
    labels (FrozenSet[str]): its labels; empty if they come with the tasks.
    """

    tags: Tags = Tags()
    field: str = "text"
    labels: FrozenSet[str] = frozenset()


def read_interface(config: Any) -> Interface:
    """Find the labels for texts in a labeling interface.

    config (Any): the XML; a project without any uses the names of `spanner select`.
    RETURNS (Interface): of the first labels for a text.
    RAISES (RefusedError): SP220 if there are none, with status 422.
    """
    if config is None or config == "":
        return Interface()
    if not isinstance(config, str):
        raise _unusable("it is not XML")
    blocks = [config.encode("utf-8", "replace")]
    try:
        views = list(parse_xml(blocks, "the labeling interface", "View"))
    except ValueError as error:
        raise _unusable(str(error)) from None
    nodes = [node for view in views for node in _walk(view)]
    texts = {node.attrs.get("name"): node for node in nodes if node.tag in TEXTS}
    for node in nodes:
        text = texts.get(node.attrs.get("toName"))
        if node.tag in CONTROLS and text is not None and "name" in node.attrs:
            return _interface(node, text)
    raise _unusable("no Labels belong to a Text")


def _interface(control: Node, text: Node) -> Interface:
    value = text.attrs.get("value", "")
    if not value.startswith("$") or text.attrs.get("valueType") == "url":
        raise _unusable(f"the value of the text is {value!r}")
    inside = [node for node in _walk(control) if node.tag == "Label"]
    # Results have the alias of a label, if it has one.
    names = (node.attrs.get("alias") or node.attrs.get("value") for node in inside)
    tags = Tags(control.attrs["name"], text.attrs["name"], CONTROLS[control.tag])
    return Interface(tags, value[1:], frozenset(filter(None, names)))


def _walk(node: Node) -> List[Node]:
    inside = [found for c in node.children if isinstance(c, Node) for found in _walk(c)]
    return [node, *inside]


def _unusable(problem: str) -> RefusedError:
    return RefusedError(422, Errors.SP220.format(problem=problem))


def texts_of_tasks(
    body: Dict[str, Any], interface: Interface, limits: Limits
) -> List[str]:
    """RETURNS (List[str]): the text of each task of a request.

    RAISES (RefusedError): SP213 for too many tasks (413), SP217 for tasks without a
        text (422).
    """
    tasks = body.get("tasks")
    if not isinstance(tasks, list):
        raise wrong_field("'tasks'", "a list of tasks", tasks)
    texts = [text_of_task(task, interface) for task in tasks]
    check_texts(texts, limits, "tasks")
    return texts


def text_of_task(task: Any, interface: Interface) -> str:
    """RETURNS (str): the text of a task.

    RAISES (RefusedError): SP217, with status 422.
    """
    data = task.get("data") if isinstance(task, dict) else None
    text = data.get(interface.field) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise wrong_field(f"'data.{interface.field}' of a task", "a string", text)
    return text


class LabelStudio:
    """The backend of one or several projects.

    name (str): the pipeline and its version; see `retraining.name_of`.
    retraining (Optional[Retraining]): collects submitted tasks; None to ignore them.
    """

    def __init__(self, name: str, retraining: Optional[Retraining] = None) -> None:
        self.name = name
        self.retraining = retraining
        self._lacking: Set[str] = set()

    @property
    def version(self) -> str:
        """The version of the model, which is also that of its predictions."""
        return self.retraining.name if self.retraining else self.name

    def state(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): what `GET /health` tells."""
        state = {"model_class": "spacy-spanner", "model_version": self.version}
        if self.retraining is None:
            return state
        return {**state, "training": self.retraining.state()}

    def close(self) -> None:
        """Stop a training."""
        if self.retraining is not None:
            self.retraining.close()

    def result(
        self, text: str, answer: Answer, interface: Interface, version: str
    ) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): the prediction of a task. Its score is the lowest
        of its spans, so that the tasks with the most doubtful ones come first.
        """
        spans = [
            CharSpan(row["start"], row["end"], row["label"], row.get("score"))
            for row in answer.spans
        ]
        if interface.labels:
            self._warn({span.label for span in spans} - interface.labels)
            spans = [span for span in spans if span.label in interface.labels]
        result = label_studio_results(text, spans, interface.tags)
        scores = [span.score for span in spans if span.score is not None]
        found: Dict[str, Any] = {"model_version": version, "result": result}
        if scores:
            found["score"] = min(scores)
        if answer.problem:
            LOG.warning(answer.problem)
        return found

    def _warn(self, lacking: Set[str]) -> None:
        """Tell once about labels that the interface cannot show."""
        fresh = sorted(lacking - self._lacking)
        if fresh:
            self._lacking.update(fresh)
            warnings.warn(Warnings.SW210.format(labels=", ".join(fresh)))

    def submitted(self, body: Dict[str, Any]) -> str:
        """Take an event of a webhook, or all tasks of `POST /train`.

        RETURNS (str): "ok", or what was not done with it.
        RAISES (RefusedError): SP217 for an event without task or annotation, SP220 for
            an unusable interface, both with status 422.
        """
        if self.retraining is None:
            return NOT_TRAINING
        event, tasks = body.get("action"), body.get("annotations")
        if event in SUBMITTED:
            self._keep(body.get("task"), [body.get("annotation")], interface_of(body))
            self.retraining.begin_if_due()
        elif event == DELETED:
            self.retraining.tasks.remove(deleted_annotations(tasks))
            self.retraining.begin_if_due()
        elif event == START_TRAINING:
            self.retraining.begin()
        elif event is None and isinstance(tasks, list):
            interface = interface_of(body)
            for task in tasks:
                done = task.get("annotations") if isinstance(task, dict) else None
                self._keep(task, done, interface)
            self.retraining.begin()
        else:
            return SKIPPED
        return "ok"

    def _keep(self, task: Any, annotations: Any, interface: Interface) -> None:
        """Store a task with its annotations.

        RAISES (RefusedError): SP217, with status 422.
        """
        assert self.retraining is not None
        text = text_of_task(task, interface)
        if not isinstance(task.get("id"), int):
            raise wrong_field("'id' of a task", "an integer", task.get("id"))
        if not isinstance(annotations, list):
            raise wrong_field("'annotations' of a task", "a list", annotations)
        control = interface.tags.control
        kept = [own_results(one, control) for one in annotations]
        self.retraining.tasks.add(task["id"], text, kept)


def interface_of(body: Dict[str, Any]) -> Interface:
    """RETURNS (Interface): that of the project of a submission.

    RAISES (RefusedError): SP220, with status 422.
    """
    config, project = body.get("label_config"), body.get("project")
    if isinstance(project, dict):
        config = project.get("label_config", config)
    return read_interface(config)


def deleted_annotations(annotations: Any) -> Set[int]:
    """RETURNS (Set[int]): the ids of deleted annotations.

    RAISES (RefusedError): SP217, with status 422.
    """
    rows = annotations if isinstance(annotations, list) else [None]
    given = [one.get("id") if isinstance(one, dict) else None for one in rows]
    numbers = [number for number in given if isinstance(number, int)]
    if len(numbers) < len(given):
        raise wrong_field("'annotations'", "a list of annotations with ids", rows)
    return set(numbers)


def own_results(annotation: Any, control: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): an annotation with the results of one tag, and all
    choices: they may be about its regions.

    RAISES (RefusedError): SP217, with status 422.
    """
    results = annotation.get("result") if isinstance(annotation, dict) else None
    if not isinstance(results, list) or not isinstance(annotation.get("id"), int):
        raise wrong_field(
            "'annotation'", "an annotation with id and result", annotation
        )
    rows = [r for r in results if isinstance(r, dict)]
    own = [
        r for r in rows if r.get("from_name") == control or r.get("type") == "choices"
    ]
    cancelled = bool(annotation.get("was_cancelled"))
    return {"id": annotation["id"], "was_cancelled": cancelled, "result": own}
