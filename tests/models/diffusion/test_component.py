"""The component `span_diffusion`: what it promises about noise, steps and learning."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_spanner.corpus.formats.brackets import (
    BracketedSentence,
    read_documents,
)
from spacy_spanner.models.diffusion import targets

from ...helpers import (
    NESTED,
    assert_same_predictions,
    blank_pipeline,
    make_examples,
    scored_spans,
    spans_of,
    texts,
    train,
    trained,
    trained_copy,
)

FACTORY = "span_diffusion"
DEMO = Path(__file__).parents[3] / "assets" / "demo" / "en"
SENTENCES = [text for text in texts(NESTED) if text]
# Of different lengths, so that batches are padded.
TEXTS = [" ".join(SENTENCES[: 1 + i % 3]) for i in range(31)] + [SENTENCES[1]]

PREDICT = """
import json, sys, spacy
nlp = spacy.load(sys.argv[1])
docs = nlp.pipe(json.loads(sys.argv[2]))
found = [[[s.start, s.end, s.label_] for s in doc.spans["ents"]] for doc in docs]
print(json.dumps(found))
"""


@pytest.fixture
def nlp() -> Language:
    return trained(FACTORY)


def test_doc_is_the_same_alone_in_a_batch_and_in_other_orders(nlp: Language) -> None:
    alone = [nlp(text) for text in TEXTS]
    assert any(spans_of(doc) for doc in alone)
    assert_same_predictions(nlp.pipe(TEXTS, batch_size=32), alone)
    assert_same_predictions(nlp.pipe(TEXTS[::-1], batch_size=32), alone[::-1])
    assert_same_predictions(nlp.pipe(TEXTS, batch_size=5), alone)


@pytest.mark.slow
def test_doc_is_the_same_before_and_after_saving_and_in_another_process(
    nlp: Language, tmp_path: Path
) -> None:
    expected = [spans_of(doc) for doc in nlp.pipe(TEXTS[:5])]
    nlp.to_disk(tmp_path)
    assert_same_predictions(spacy.load(tmp_path).pipe(TEXTS[:5]), nlp.pipe(TEXTS[:5]))
    command = [sys.executable, "-c", PREDICT, str(tmp_path), json.dumps(TEXTS[:5])]
    found = json.loads(subprocess.check_output(command, text=True))
    assert [[tuple(span) for span in spans] for spans in found] == expected


def test_doc_is_the_same_with_other_global_seeds(nlp: Language) -> None:
    fix_random_seed(1)
    first = nlp(SENTENCES[0])
    fix_random_seed(2)
    assert_same_predictions([nlp(SENTENCES[0])], [first])


def settings_of(nlp: Language) -> Dict[str, Any]:
    return nlp.get_pipe(FACTORY).cfg


@pytest.mark.parametrize("steps", [1, 2, 10])
def test_steps_may_be_changed_after_training(steps: int) -> None:
    nlp = trained_copy(FACTORY)
    expected = spans_of(nlp(SENTENCES[0]))
    settings_of(nlp)["steps"] = steps
    assert spans_of(nlp(SENTENCES[0])) == expected


def test_spans_may_be_changed_after_training() -> None:
    nlp = trained_copy(FACTORY)
    expected = spans_of(nlp(SENTENCES[0]))
    settings_of(nlp)["spans"] = 200
    assert spans_of(nlp(SENTENCES[0])) == expected
    settings_of(nlp).update(spans=1, steps=1)
    assert len(spans_of(nlp(SENTENCES[0]))) <= 1


def test_steps_and_spans_are_saved(tmp_path: Path) -> None:
    nlp = trained_copy(FACTORY)
    settings_of(nlp).update(steps=3, spans=17)
    nlp.to_disk(tmp_path)
    loaded = settings_of(spacy.load(tmp_path))
    assert (loaded["steps"], loaded["spans"]) == (3, 17)


@pytest.mark.parametrize("steps", [1, 5, 10])
def test_encoder_runs_once_for_any_number_of_steps(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = trained_copy(FACTORY)
    settings_of(nlp)["steps"] = steps
    model = nlp.get_pipe(FACTORY).model
    calls: Dict[str, List] = {"encoder": [], "memory": [], "denoiser": []}
    encoder, head = model.get_ref("tok2vec"), model.get_ref("output_layer")
    module = head.shims[0].module

    def count(name: str, function: Any) -> Any:
        return lambda *args, **kwargs: (
            calls[name].append(1) or function(*args, **kwargs)
        )

    monkeypatch.setattr(encoder, "_func", count("encoder", encoder._func))
    monkeypatch.setattr(module, "encode", count("memory", module.encode))
    monkeypatch.setattr(module, "forward", count("denoiser", module.forward))
    nlp(SENTENCES[0])
    assert {name: len(seen) for name, seen in calls.items()} == {
        "encoder": 1,
        "memory": 1,
        "denoiser": steps,
    }


def test_windows_without_entities_are_learned(nlp: Language) -> None:
    assert scored_spans(nlp("It rained all day.")) == []


def test_more_entities_than_train_spans_are_all_learned() -> None:
    nlp = blank_pipeline(FACTORY, train_spans=4)
    text = "Ana met Bo and Cy near Dax when Eve saw Finn again."
    gold = [(index, index + 1, "PER") for index in range(0, 12, 2)]
    train(nlp, make_examples(nlp, [(text, gold)]), updates=300)
    assert set(gold) <= set(spans_of(nlp(text)))


def test_fewer_spans_than_entities_are_warned_of() -> None:
    targets._warn_once.cache_clear()
    nlp = blank_pipeline(FACTORY, spans=2)
    with pytest.warns(UserWarning, match="SW040"):
        train(nlp, make_examples(nlp, NESTED), updates=1)


def demo_sentences(number: int) -> List[BracketedSentence]:
    with (DEMO / "train_cities.txt").open(encoding="utf8") as lines:
        sentences = [one for document in read_documents(lines) for one in document]
    return sentences[:number]


@pytest.mark.slow
def test_training_learns_demo_sentences_by_heart_in_bounded_steps() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(FACTORY)
    examples = []
    for sentence in demo_sentences(20):
        reference = nlp.make_doc(sentence.text)
        spans = [reference.char_span(*span) for span in sentence.spans]
        reference.spans["ents"] = [span for span in spans if span is not None]
        examples.append(Example(nlp.make_doc(sentence.text), reference))
    train(nlp, examples, updates=150)
    assert nlp.evaluate(examples)["spans_ents_f"] == 1.0
