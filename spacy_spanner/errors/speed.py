"""Messages about the precision of prediction, and its choice."""


class SpeedErrors:
    """Errors of `set_precision` and `optimize`."""

    SP240 = (
        "The precision of this pipeline ({pipeline}) cannot be changed: it has no "
        "encoder of the architecture spacy_spanner.Transformer.v1. Use one in "
        "'model.tok2vec' of a component, or in a shared 'tok2vec' component. A "
        "'transformer' of spacy-transformers predicts in the precision of its own "
        "setting mixed_precision, which has no effect on a CPU."
    )
    SP241 = (
        "{path} has no entity to measure F1 with: its {docs} documents are annotated, "
        "but without spans in '{key}'. Use documents with entities that the pipeline "
        "was not trained on."
    )


class SpeedWarnings:
    """Warnings about the precision of prediction."""

    SW241 = (
        "This machine has no fast instructions for precision = '{precision}' (device "
        "{device}; needed: {missing}), so the encoder predicts in float32. Use "
        "precision = 'auto' to choose what the machine is fast in, or set "
        "emulate_precision = true to use '{precision}' on a CPU nevertheless, which "
        "may be much slower."
    )
    SW242 = (
        "The encoder {name!r} is not used in {precision}: its vectors differ from "
        "those in float32 (mean cosine {cosine}, required: {least}). It predicts "
        "in float32. Its weights may be too large for this precision."
    )
