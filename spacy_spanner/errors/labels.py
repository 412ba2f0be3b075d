"""Messages about changing the labels of trained components, and rehearsal."""


class LabelErrors:
    """Errors in changing labels and in rehearsal."""

    SP250 = "'{component}' has no label {label!r} to remove. Its labels are: {labels}."
    SP251 = (
        "'{component}' cannot lose its last label {label!r}. Add another label first, "
        "or remove the component from the pipeline."
    )
    SP252 = (
        "The model of '{component}' cannot be adapted to other labels: the size of its "
        "tensor {tensor!r} does not grow evenly with the number of labels. Remove the "
        "component, add it again, and initialize it with all labels."
    )
    SP253 = (
        "'{component}' cannot rehearse: it has no copy of the model as it was. Call "
        "nlp.resume_training() before you go on training."
    )
    SP254 = (
        "'{component}' cannot rehearse with an encoder that other components share: "
        "the copy of the model would read vectors that change in training. Give it an "
        "own encoder first: nlp.replace_listeners({encoder!r}, '{component}', "
        "['model.tok2vec'])."
    )
    SP255 = (
        "doc.spans['{key}'] of the document that begins with '{text}' needs a "
        "probability from 0 to 1 for each of its {spans} spans. Set "
        "doc.spans['{key}'].attrs['scores'] to a list of as many numbers. Doc.to_json "
        "and Doc.from_docs lose it: store documents as .spacy files."
    )


class LabelWarnings:
    """Warnings about what annotation says of labels."""

    SW250 = (
        "'{component}': {count} spans are annotated both under '{key}' and under "
        "'{key}:not' (such as {example}). They are learned as entities. Correct the "
        "annotation."
    )
