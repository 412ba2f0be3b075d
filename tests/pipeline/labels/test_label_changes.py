"""Labels are added to and removed from components that are trained already."""

from pathlib import Path
from typing import Any, List, Tuple

import pytest
import spacy
import torch
from spacy.language import Language
from thinc.api import Adam

from spacy_spanner.pipeline.rehearsal import DRAWS, lesson_of
from spacy_spanner.pipeline.state import MadeSettings
from spacy_spanner.training.frozen import gradients
from spacy_spanner.training.optimizer import make_adamw

from ...helpers import (
    NESTED,
    SMALL_ENCODER,
    annotate,
    blank_pipeline,
    copy_of,
    make_examples,
    train,
)

Found = List[Tuple[int, int, str, float]]
FEW_UPDATES = 3
# A tensor with a row for each label, and how many rows precede them.
LABEL_ROWS = {
    "span_biaffine": ("biaffine.weight", 1),
    "span_locate_label": ("class_mlp.output.weight", 1),
    "span_offset": ("type_embedding.weight", 0),
    "span_diffusion": ("classifier.output.2.weight", 1),
}


@pytest.fixture
def begun(factory: str) -> Language:
    """A pipeline that has learned a little, and writes whatever has any score."""
    nlp = blank_pipeline(factory, threshold=0.001, overlap="any")
    train(nlp, make_examples(nlp, NESTED), updates=FEW_UPDATES)
    return nlp


def pipe_of(nlp: Language) -> Any:
    """RETURNS (Any): the only component."""
    return nlp.pipeline[0][1]


def found(nlp: Language) -> Found:
    """RETURNS (Found): what a pipeline predicts in all texts, with exact scores."""
    rows: Found = []
    for text, _ in NESTED:
        doc = nlp(text)
        group = doc.spans["ents"]
        scores = group.attrs["scores"]
        rows += [(s.start, s.end, s.label_, x) for s, x in zip(group, scores)]
    return rows


def rows_of(nlp: Language, label: str) -> List[float]:
    """RETURNS (List[float]): weights of a label."""
    pipe = pipe_of(nlp)
    name, n_shared = LABEL_ROWS[nlp.pipe_names[0]]
    state = pipe.model.get_ref("output_layer").shims[0].module.state_dict()
    assert (
        len(state[name]) == pipe.model.get_ref("output_layer").get_dim("nO") + n_shared
    )
    return state[name][n_shared + pipe.head_label_ids[label]].flatten().tolist()


def test_a_new_label_changes_no_prediction(begun: Language, tmp_path: Path) -> None:
    before = found(begun)
    assert {label for _, _, label, _ in before} > {"GPE"}
    assert pipe_of(begun).add_label("NEW") == 1
    assert pipe_of(begun).add_label("NEW") == 0
    assert found(begun) == before
    begun.to_disk(tmp_path)
    for other in (spacy.load(tmp_path), copy_of(begun)):
        assert pipe_of(other).labels == ("GPE", "ORG", "PER", "NEW")
        assert found(other) == before


@pytest.mark.parametrize("make", [make_adamw, lambda: Adam(0.001)])
def test_training_goes_on_with_the_same_optimizer(begun: Language, make: Any) -> None:
    examples = make_examples(begun, NESTED)
    optimizer = make()
    begun.update(examples, sgd=optimizer)
    pipe_of(begun).add_label("NEW")
    before = rows_of(begun, "ORG")
    more = make_examples(begun, [*NESTED, ("Rain in Kazan.", [(2, 3, "NEW")])])
    pipe_of(begun).update(more)  # adapts the model, and changes no weight
    after = rows_of(begun, "ORG")
    assert after == before
    begun.update(more, sgd=optimizer)
    assert rows_of(begun, "ORG") != after
    assert "NEW" in {label for _, _, label, _ in found(begun)}


def test_the_optimizer_forgets_tensors_that_were_replaced(begun: Language) -> None:
    examples, optimizer = make_examples(begun, NESTED), make_adamw()
    begun.update(examples, sgd=optimizer)
    n_states = len(optimizer.states)
    pipe_of(begun).add_label("NEW")
    begun.update(examples, sgd=optimizer)
    learned = {one.key for one in gradients(pipe_of(begun).model)}
    assert optimizer.states.keys() == optimizer.nr_update.keys() == learned
    assert len(learned) == n_states


def test_a_removed_label_is_predicted_no_more(begun: Language) -> None:
    kept = [row for row in found(begun) if row[2] != "ORG"]
    pipe = pipe_of(begun)
    pipe.cfg["label_thresholds"] = {"ORG": 0.9, "PER": 0.001}
    pipe.remove_label("ORG")
    assert pipe.labels == ("GPE", "PER")
    assert pipe.cfg["label_thresholds"] == {"PER": 0.001}
    assert found(begun) == found(copy_of(begun)) == kept
    before = rows_of(begun, "PER")
    with pytest.warns(UserWarning, match=r"SW003.*ORG"):
        pipe.update(make_examples(begun, NESTED))
    assert rows_of(begun, "PER") == before
    assert {label for _, _, label, _ in found(begun)} == {"GPE", "PER"}


def test_a_label_that_comes_back_is_known(begun: Language) -> None:
    before = found(begun)
    pipe_of(begun).remove_label("PER")
    pipe_of(begun).add_label("PER")
    assert found(begun) == before
    assert "head_labels" not in pipe_of(begun).cfg


def test_one_label_replaces_another(begun: Language) -> None:
    pipe = pipe_of(begun)
    pipe.remove_label("GPE")
    pipe.add_label("NEW")
    before = rows_of(begun, "PER")
    pipe.update(make_examples(begun, [("Rain in Kazan.", [(2, 3, "NEW")])]))
    assert pipe.labels == ("ORG", "PER", "NEW")
    assert rows_of(begun, "PER") == before


def test_a_component_with_new_labels_refuses_one_with_more(begun: Language) -> None:
    other = copy_of(begun)
    pipe_of(other).add_label("NEW")
    pipe_of(other).update(make_examples(other, NESTED))  # adapts the model
    pipe_of(begun).add_label("NEW")
    with pytest.raises(ValueError, match=r"SP007.*with 3 labels.*have 4"):
        pipe_of(begun).from_bytes(pipe_of(other).to_bytes())


def test_a_new_start_knows_the_labels_of_the_component(begun: Language) -> None:
    pipe = pipe_of(begun)
    pipe.remove_label("GPE")
    pipe.add_label("NEW")
    begun.initialize()
    assert pipe.labels == ("ORG", "PER", "NEW")
    assert list(pipe.head_label_ids) == ["ORG", "PER", "NEW"]


def test_two_processes_draw_the_same_weights(begun: Language) -> None:
    pipe_of(begun).add_label("NEW")
    other = copy_of(begun)
    for one in (begun, other):
        pipe_of(one).update(make_examples(one, NESTED))
    assert rows_of(begun, "NEW") == rows_of(other, "NEW")


def test_labels_that_cannot_be_removed(begun: Language) -> None:
    pipe = pipe_of(begun)
    with pytest.raises(ValueError, match=r"SP250.*'LOC'.*GPE, ORG, PER"):
        pipe.remove_label("LOC")
    pipe.remove_label("ORG")
    pipe.remove_label("PER")
    with pytest.raises(ValueError, match=r"SP251.*'GPE'"):
        pipe.remove_label("GPE")


def test_rehearsal_learns_what_the_model_was(begun: Language) -> None:
    pipe = pipe_of(begun)
    begun.resume_training()
    examples = make_examples(begun, NESTED)
    pipe.add_label("NEW")
    optimizer = Adam(0.001)
    losses = pipe.rehearse(examples, sgd=optimizer)
    assert losses[pipe.name] > 0
    before = rows_of(begun, "ORG")
    begun.rehearse(examples)  # spaCy's way, which updates after all components
    assert rows_of(begun, "ORG") != before


@pytest.mark.parametrize("make", [make_adamw, lambda: Adam(0.001)])
def test_a_pipeline_rehearses_all_components(begun: Language, make: Any) -> None:
    (factory,) = begun.pipe_names
    begun.add_pipe(factory, name="other", source=copy_of(begun))
    pipes: Any = [pipe for _, pipe in begun.pipeline]
    optimizer = make()
    begun.resume_training()
    pipes[1].add_label("NEW")
    examples = make_examples(begun, [*NESTED, ("Rain in Kazan.", [(2, 3, "NEW")])])
    before = [weights_of(pipe) for pipe in pipes]
    losses: Any = {}
    begun.rehearse(examples, sgd=optimizer, losses=losses)
    assert losses[factory] > 0 and losses["other"] > 0
    assert [len(pipe.labels) for pipe in pipes] == [3, 4]
    for pipe, weights in zip(pipes, before):
        after = weights_of(pipe)
        assert any(
            after[name].shape != weights[name].shape
            or not torch.equal(after[name], weights[name])
            for name in weights
        )


def weights_of(pipe: Any) -> Any:
    """RETURNS: a copy of all weights of a head, by name."""
    state = pipe.model.get_ref("output_layer").shims[0].module.state_dict()
    return {name: tensor.clone() for name, tensor in state.items()}


def test_one_of_several_components_gets_a_label(begun: Language) -> None:
    (factory,) = begun.pipe_names
    source = copy_of(begun)
    pipe_of(source).cfg["spans_key"] = "more"
    begun.add_pipe(factory, name="other", source=source)
    other: Any = begun.get_pipe("other")
    before = found(begun)
    other.add_label("NEW")
    examples = make_examples(begun, NESTED)
    for example in filter(lambda example: len(example.reference), examples):
        annotate(example.reference, [(0, 1, "NEW")], "more")
    optimizer = Adam(0.01)
    for _ in range(20):
        begun.update(examples, sgd=optimizer, exclude=[factory])
    assert found(begun) == before
    for nlp in (begun, copy_of(begun)):
        pipes: Any = [pipe for _, pipe in nlp.pipeline]
        assert list(pipes[0].head_label_ids) == ["GPE", "ORG", "PER"]
        assert list(pipes[1].head_label_ids) == ["GPE", "ORG", "PER", "NEW"]
        doc = nlp(NESTED[0][0])
        assert "NEW" in {span.label_ for span in doc.spans["more"]}
    begun.update(examples, sgd=Adam(0.001))
    assert found(begun) != before


def test_rehearsal_draws_several_times(begun: Language) -> None:
    pipe = pipe_of(begun)
    begun.resume_training()
    pipe.add_label("NEW")
    examples = make_examples(begun, [("Ada met Bob in Rome.", [(1, 2, "NEW")])])
    examples += make_examples(begun, NESTED[:1])
    examples[1].reference.spans.clear()
    made = MadeSettings(pipe.settings, pipe.codec)
    docs = [example.predicted for example in examples]
    scored = [spans.n_spans for spans in pipe.teacher.find_spans(docs, made)]
    work, gold = lesson_of(pipe, examples)
    n_windows = len(docs) * DRAWS
    assert work.plan.n_windows == gold.n_windows == len(gold.spans) == n_windows
    new = pipe.label_ids["NEW"]
    for number, spans in enumerate(gold.spans):
        rows = [row[:3] for row in spans.rows() if row.label == new]
        annotated = number % len(docs) == 0
        assert rows == [(1, 2, new)] * annotated
        assert spans.n_spans <= scored[number % len(docs)] + annotated
        assert gold.marks[number].incomplete.n_spans == (not annotated)


def test_rehearsal_needs_the_earlier_model(begun: Language) -> None:
    with pytest.raises(ValueError, match=r"SP253"):
        pipe_of(begun).rehearse(make_examples(begun, NESTED))


def test_rehearsal_needs_an_own_encoder(factory: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": SMALL_ENCODER})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 32}
    nlp.add_pipe(factory, config={"model": {"tok2vec": listener}})
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    nlp.resume_training()
    with pytest.raises(ValueError, match=r"SP254.*replace_listeners"):
        nlp.get_pipe(factory).rehearse(examples)


def test_prompts_of_labels_go_with_them(tiny_bert: Path) -> None:
    nlp = spacy.blank("en")
    encoder = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(tiny_bert),
        "prompts": 2,
    }
    settings = {"threshold": 0.001, "overlap": "any"}
    model = {"tok2vec": encoder, "type_inputs": True}
    nlp.add_pipe("span_offset", config={"model": model, **settings})
    train(nlp, make_examples(nlp, NESTED), updates=1)
    pipe = pipe_of(nlp)
    before, shim = found(nlp), pipe.model.get_ref("tok2vec").shims[0]
    prompts = shim.module.prompts.detach().clone()
    pipe.add_label("NEW")
    assert found(nlp) == before
    pipe.remove_label("GPE")
    pipe.update(make_examples(nlp, [("Rain in Kazan.", [(2, 3, "NEW")])]))
    assert shim.n_prompts == len(shim.module.prompts) == 6
    assert torch.equal(shim.module.prompts[:4], prompts[2:])
    assert found(copy_of(nlp)) == found(nlp)
