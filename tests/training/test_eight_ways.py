"""Every tensor learns at the rate of its part, whichever way a pipeline is trained.

Adam's first step moves every weight that has a gradient by the learning rate.
"""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Set

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import registry
from thinc.api import Adam, Linear, Model, fix_random_seed

from spacy_spanner.training.optimizer import AdamW, make_adamw
from spacy_spanner.training.owners import owners_of, register_pipeline, tensor_keys

from ..helpers import NESTED, SMALL_ENCODER, make_examples, small_model
from ..runs import make_config, write_corpus
from .test_optimizer import weights

ENCODER_RATE, HEAD_RATE, OWN_RATE = 0.0001, 0.01, 0.3
CNN = {**SMALL_ENCODER, "@architectures": "spacy.HashEmbedCNN.v2"}
OWN = {"pattern": r"span_biaffine\.head\..*\.biaffine\.", "learn_rate": OWN_RATE}
SETTINGS = {
    "encoder": ENCODER_RATE,
    "head": HEAD_RATE,
    "weight_decay": 0.0,
    "eps": 1e-20,  # the smallest gradient makes a full step
    "groups": {"own": OWN},
}
TEXTCATS = {
    "ensemble": {"@architectures": "spacy.TextCatEnsemble.v2"},
    "reduce": {
        "@architectures": "spacy.TextCatReduce.v1",
        "exclusive_classes": True,
        "use_reduce_first": False,
        "use_reduce_last": False,
        "use_reduce_max": False,
        "use_reduce_mean": True,
    },
    "attention": {
        "@architectures": "spacy.TextCatParametricAttention.v1",
        "exclusive_classes": True,
    },
}

# Without the component that has it, an LSTM on an encoder may be anything.
BILSTM_PARTS = {"encoder", "unknown"}
Weights = Dict[str, torch.Tensor]
snapshots: List[Dict[str, Weights]] = []


@registry.callbacks("test.snapshot.v1")
def make_snapshot() -> Callable:
    return lambda nlp, info: snapshots.append(copied(nlp))


def transformer(folder: Path) -> Dict[str, Any]:
    return {"@architectures": "spacy_spanner.Transformer.v1", "name": str(folder)}


def listener(width: int) -> Dict[str, Any]:
    architecture = "spacy.Tok2VecListener.v1"
    return {"@architectures": architecture, "width": width, "upstream": "*"}


def add(nlp: Language, factory: str, encoder: Dict[str, Any], **model: Any) -> None:
    """Add a component of spaCy or of this package around an encoder."""
    if factory.startswith("span_"):
        nlp.add_pipe(factory, config={"model": small_model(factory, encoder)})
        return
    default = nlp.get_factory_meta(factory).default_config["model"]
    config: Dict[str, Any] = {"spans_key": "ents"} if factory == "spancat" else {}
    config["model"] = {**(model or default), "tok2vec": encoder}
    if "Ensemble" in config["model"]["@architectures"]:
        config["model"]["linear_model"] = default["linear_model"]
    nlp.add_pipe(factory, config=config)


def started(nlp: Language, **settings: Any) -> List[Example]:
    """Initialize, with our optimizer in the config."""
    block = {"@optimizers": "spacy_spanner.AdamW.v1", **SETTINGS, **settings}
    nlp.config["training"]["optimizer"] = block
    examples = annotated(nlp)
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    for _ in range(3):  # spaCy's layers begin with zeros, which let no gradient pass
        nlp.update(examples, sgd=Adam(0.001))
    return examples


def annotated(nlp: Language) -> List[Example]:
    """Make examples that teach every component something."""
    examples = make_examples(nlp, NESTED)
    for number, example in enumerate(examples):
        doc = example.reference
        for token in doc:
            token.tag_ = "LONG" if len(token) > 4 else "SHORT"
        doc.ents = [span for span in doc.spans["ents"] if len(span) == 1][:1]
        doc.cats = {"odd": float(number % 2), "even": float(number % 2 == 0)}
    return examples


def biaffine(encoder: Dict[str, Any] = CNN) -> Language:
    nlp = spacy.blank("en")
    add(nlp, "span_biaffine", encoder)
    return nlp


def copied(nlp: Language) -> Dict[str, Weights]:
    models = {name: getattr(pipe, "model", None) for name, pipe in nlp.pipeline}
    return {
        name: {str(k): w.detach().clone() for k, w in weights(model).items()}
        for name, model in models.items()
        if isinstance(model, Model)
    }


def encoder_keys(pipe: Any) -> Set[str]:
    """Name the tensors that stand in the encoder, from how the pipeline was built."""
    nodes = pipe.model.walk()
    found = [node.get_ref("tok2vec") for node in nodes if node.maybe_get_ref("tok2vec")]
    if pipe.name in ("tok2vec", "transformer"):
        found = [pipe.model]
    keys = (
        key for model in found for node in model.walk() for key in tensor_keys(node)
    )
    return {str(key) for key in keys}


def assert_rates(
    nlp: Language,
    before: Dict[str, Weights],
    after: Dict[str, Weights],
    parts: Iterable[str] = ("encoder", "head", "own"),
) -> None:
    """Compare how far every tensor has moved with the rate of its part."""
    rates = {"encoder": ENCODER_RATE, "head": HEAD_RATE, "own": OWN_RATE}
    seen = set()
    for name in before:
        inside = encoder_keys(nlp.get_pipe(name))
        for key, weight in before[name].items():
            part = "encoder" if key in inside else "head"
            if name == "span_biaffine" and "'biaffine." in key:
                part = "own"
            move = float((after[name][key] - weight).abs().max())
            if move:  # what has no gradient at all stays
                assert move == pytest.approx(rates[part], rel=0.02), (name, key)
                seen.add(part)
    assert seen == set(parts)


def assert_update_learns(
    nlp: Language, examples: List[Example], optimizer: Any, *parts: str
) -> None:
    before = copied(nlp)
    nlp.update(examples, sgd=optimizer)
    assert_rates(nlp, before, copied(nlp), parts or ("encoder", "head", "own"))


# --------------------------------------------------------------- who makes the step


def test_spacy_train(tmp_path: Path) -> None:
    text = f"""
    [training]
    max_steps = 1
    dropout = 0.0

    [training.before_update]
    @callbacks = "test.snapshot.v1"

    [training.optimizer]
    @optimizers = "spacy_spanner.AdamW.v1"
    encoder = {ENCODER_RATE}
    head = {HEAD_RATE}
    weight_decay = 0.0
    eps = 1e-20

    [training.optimizer.groups]

    [training.optimizer.groups.own]
    pattern = "span_biaffine\\\\.head\\\\..*\\\\.biaffine\\\\."
    learn_rate = {OWN_RATE}
    """
    lines = "\n".join(line.strip() for line in text.splitlines())
    config = make_config(write_corpus(tmp_path / "corpus.spacy"), lines)
    nlp = init_nlp(config)
    snapshots.clear()
    train(nlp)
    assert_rates(nlp, *snapshots[:2])


def test_update_with_the_optimizer_of_initialize() -> None:
    nlp = biaffine()
    examples = started(nlp)
    optimizer = nlp.initialize(lambda: examples)
    assert isinstance(optimizer, AdamW)
    assert_update_learns(nlp, examples, optimizer)


def test_update_with_the_optimizer_of_resume_training() -> None:
    nlp = biaffine()
    examples = started(nlp)
    assert_update_learns(nlp, examples, nlp.resume_training())


def test_update_with_an_optimizer_made_by_hand() -> None:
    nlp = biaffine()
    examples = started(nlp)
    assert_update_learns(nlp, examples, make_adamw(**SETTINGS))


def test_loop_of_ones_own() -> None:
    nlp = biaffine()
    examples, optimizer = started(nlp), make_adamw(**SETTINGS)
    before = copied(nlp)
    pipe: Any = nlp.get_pipe("span_biaffine")
    pipe.update(examples, sgd=optimizer)
    assert_rates(nlp, before, copied(nlp))


# ------------------------------------------------------------------ which pipeline


def test_pipeline_that_was_just_loaded(tmp_path: Path) -> None:
    nlp = biaffine()
    started(nlp)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert_update_learns(loaded, annotated(loaded), loaded.resume_training())


def test_loaded_pipeline_without_components_of_ours(
    tmp_path: Path, tiny_bert: Path
) -> None:
    nlp = spacy.blank("en")
    add(nlp, "ner", transformer(tiny_bert))
    started(nlp)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    examples, optimizer = annotated(loaded), loaded.resume_training()
    assert_update_learns(loaded, examples, optimizer, "encoder", "head")


def test_two_components_of_which_one_is_sourced() -> None:
    source = biaffine()
    started(source)
    nlp = spacy.blank("en")
    nlp.add_pipe("span_biaffine", source=source)
    add(nlp, "span_offset", CNN)
    nlp.config["training"]["optimizer"] = source.config["training"]["optimizer"]
    examples = annotated(nlp)
    nlp.get_pipe("span_offset").initialize(lambda: examples)
    assert_update_learns(nlp, examples, make_adamw(**SETTINGS))


def shared(kind: str, folder: Path) -> Language:
    nlp = spacy.blank("en")
    if kind == "spacy-transformers":
        pytest.importorskip("spacy_transformers")
        architecture = "spacy-transformers.TransformerModel.v3"
        model: Dict[str, Any] = {"@architectures": architecture, "name": str(folder)}
        nlp.add_pipe("transformer", config={"model": model})
        architecture = "spacy-transformers.TransformerListener.v1"
        pooling = {"@layers": "reduce_mean.v1"}
        reader = {"@architectures": architecture, "grad_factor": 1.0}
        listening = {**reader, "pooling": pooling, "upstream": "*"}
    else:
        model = CNN if kind == "HashEmbedCNN" else transformer(folder)
        nlp.add_pipe("tok2vec", config={"model": model})
        listening = listener(32 if kind == "HashEmbedCNN" else 16)
    for factory in ("span_biaffine", "ner", "spancat"):
        add(nlp, factory, listening)
    return nlp


@pytest.mark.parametrize("kind", ["HashEmbedCNN", "Transformer", "spacy-transformers"])
def test_shared_encoder(kind: str, tiny_bert: Path) -> None:
    nlp = shared(kind, tiny_bert)
    examples = started(nlp)
    assert_update_learns(nlp, examples, make_adamw(**SETTINGS))


def test_listener_that_was_replaced() -> None:
    nlp = shared("HashEmbedCNN", Path())
    examples, optimizer = started(nlp), make_adamw(**SETTINGS)
    nlp.update(examples, sgd=optimizer)
    nlp.replace_listeners("tok2vec", "spancat", ["model.tok2vec"])
    before = copied(nlp)
    nlp.update(examples, sgd=optimizer)
    pipe: Any = nlp.get_pipe("spancat")
    new, after = encoder_keys(pipe), copied(nlp)
    assert new
    for key in new:
        move = float((after["spancat"][key] - before["spancat"][key]).abs().max())
        assert move == pytest.approx(ENCODER_RATE, rel=0.02), key


@pytest.mark.parametrize("factory", ["ner", "spancat", "tagger"])
def test_component_of_spacy_around_our_transformer(
    factory: str, tiny_bert: Path
) -> None:
    nlp = spacy.blank("en")
    add(nlp, factory, transformer(tiny_bert))
    examples = started(nlp)
    optimizer = make_adamw(**SETTINGS)
    assert_update_learns(nlp, examples, optimizer, "encoder", "head")


@pytest.mark.parametrize("kind", TEXTCATS)
def test_textcat_around_our_transformer(kind: str, tiny_bert: Path) -> None:
    nlp = spacy.blank("en")
    encoder = transformer(tiny_bert)
    add(nlp, "textcat", encoder, **TEXTCATS[kind])
    examples = started(nlp)
    optimizer = make_adamw(**SETTINGS)
    assert_update_learns(nlp, examples, optimizer, "encoder", "head")


def test_textcat_without_an_encoder_is_head() -> None:
    nlp = spacy.blank("en")
    model = nlp.get_factory_meta("textcat").default_config["model"]["linear_model"]
    nlp.add_pipe("textcat", config={"model": model})
    examples = started(nlp)
    assert_update_learns(nlp, examples, make_adamw(**SETTINGS), "head")


def test_loop_over_components_of_spacy_knows_their_names(tiny_bert: Path) -> None:
    """This once trained the encoder at the rate of the head, or failed."""
    nlp = spacy.blank("en")
    add(nlp, "ner", transformer(tiny_bert))
    examples = started(nlp)
    own = {"pattern": r"^ner\.encoder\..*layer\.1\.", "learn_rate": OWN_RATE}
    optimizer = make_adamw(**{**SETTINGS, "groups": {"upper": own}})
    before = copied(nlp)["ner"]
    for _, pipe in nlp.pipeline:
        pipe.update(examples)
        pipe.finish_update(optimizer)
    moves = {
        key: float((weight - before[key]).abs().max())
        for key, weight in copied(nlp)["ner"].items()
    }
    upper = [move for key, move in moves.items() if "layer.1." in key and move]
    lower = [move for key, move in moves.items() if "layer.0." in key and move]
    assert len(upper) > 5 and len(lower) > 5
    assert all(move == pytest.approx(OWN_RATE, rel=0.02) for move in upper)
    assert all(move == pytest.approx(ENCODER_RATE, rel=0.02) for move in lower)


def test_projection_of_ner_may_have_a_group(tiny_bert: Path) -> None:
    """The pattern that docs/training.md gives."""
    nlp = spacy.blank("en")
    add(nlp, "ner", transformer(tiny_bert))
    examples = started(nlp)
    group = {"pattern": r"ner\.encoder\.linear\.", "learn_rate": OWN_RATE}
    pipe: Any = nlp.get_pipe("ner")
    linear = pipe.model.get_ref("tok2vec").layers[-1]
    before = linear.get_param("W").copy()
    nlp.update(examples, sgd=make_adamw(**{**SETTINGS, "groups": {"new": group}}))
    move = float(abs(linear.get_param("W") - before).max())
    assert move == pytest.approx(OWN_RATE, rel=0.02)


# ------------------------------------------------------------- what has no component


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        (CNN, {"encoder"}),
        ({"@architectures": "spacy_spanner.BiLSTM.v1", "tok2vec": CNN}, BILSTM_PARTS),
        ({**TEXTCATS["reduce"], "tok2vec": CNN}, {"encoder", "head"}),
        ({**TEXTCATS["attention"], "tok2vec": CNN}, {"encoder", "head"}),
    ],
    ids=lambda value: value.get("@architectures") if isinstance(value, dict) else "",
)
def test_parts_of_a_model_by_its_structure(
    settings: Dict[str, Any], parts: Set[str]
) -> None:
    model: Model = registry.resolve({"model": settings})["model"]
    model.initialize(X=[spacy.blank("en")("Some words")], Y=np.zeros((1, 2), "f"))
    assert {owner.part for owner in owners_of(model).values()} == parts


@pytest.mark.parametrize("kind", ["Transformer", "spacy-transformers"])
def test_transformer_is_encoder_by_its_structure(kind: str, tiny_bert: Path) -> None:
    nlp = shared(kind, tiny_bert)
    started(nlp)
    owners = owners_of(nlp.components[0][1].model)
    assert {owner.part for owner in owners.values()} == {"encoder"}


def net() -> Model:
    model: Model = Linear(2, 3).initialize()
    model.set_grad("W", model.get_param("W") * 0 + 1)
    return model


def test_tensor_that_cannot_be_placed_fails() -> None:
    model = net()
    before = model.get_param("W").copy()
    with pytest.raises(ValueError, match=r"SP022.*'linear\.unknown\.linear\.W'.*group"):
        model.finish_update(make_adamw())
    assert (model.get_param("W") == before).all()


def test_tensor_that_cannot_be_placed_may_have_a_group() -> None:
    model = net()
    before = model.get_param("W").copy()
    with pytest.raises(ValueError) as error:
        model.finish_update(make_adamw())
    pattern = str(error.value).split("pattern = '")[1].split("'")[0]
    group = {"pattern": pattern.replace("\\\\", "\\"), "learn_rate": OWN_RATE}
    model.finish_update(make_adamw(groups={"own": group}, weight_decay=0.0))
    moved = before - model.get_param("W")
    assert moved == pytest.approx(OWN_RATE, rel=0.02)


def test_registering_is_deprecated_and_does_nothing() -> None:
    nlp = biaffine()
    with pytest.warns(DeprecationWarning, match=r"SW007.*register_pipeline"):
        register_pipeline(nlp.pipeline)
