"""Shared encoders and several components.

All steps of docs/guides/several_components.md. Run it in the root of the repository:

    python examples/several_components.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import spacy
from spacy.tokens import DocBin
from steps import merge, run

run("""
python -m spacy project run corpus
mkdir -p training/shared
""")


GROUPS = {"people": ["PER"], "places": ["GPE", "LOC", "FAC"]}

nlp = spacy.blank("en")
for split in ("train", "dev"):
    docs = list(DocBin().from_disk(f"corpus/demo/{split}.spacy").get_docs(nlp.vocab))
    for doc in docs:
        for key, labels in GROUPS.items():
            spans = [span for span in doc.spans["ents"] if span.label_ in labels]
            doc.spans[key] = spans
    DocBin(docs=docs).to_disk(f"training/shared/{split}.spacy")
    print(split, {key: sum(len(doc.spans[key]) for doc in docs) for key in GROUPS})

run("""
python -m spacy init config training/shared/config.cfg --pipeline tok2vec --force
""")

merge(
    "training/shared/config.cfg",
    """
[nlp]
pipeline = ["sentencizer", "tok2vec", "people", "places"]

[components.sentencizer]
factory = "sentencizer"

[components.tok2vec]
factory = "tok2vec"

[components.tok2vec.model]
@architectures = "spacy.HashEmbedCNN.v2"
width = 96
depth = 4
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true
pretrained_vectors = null

[components.people]
factory = "span_biaffine"
spans_key = "people"

[components.people.model]
@architectures = "spacy_spanner.Biaffine.v1"

[components.people.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = ${components.tok2vec.model.width}

[components.places]
factory = "span_locate_label"
spans_key = "places"

[components.places.model]
@architectures = "spacy_spanner.LocateLabel.v1"

[components.places.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = ${components.tok2vec.model.width}

[training]
max_steps = 300
eval_frequency = 100
annotating_components = ["sentencizer"]

[training.score_weights]
spans_people_f = 0.5
spans_places_f = 0.5
sents_f = null
""",
)

run("""
python -m spacy train training/shared/config.cfg --output training/shared --paths.train training/shared/train.spacy --paths.dev training/shared/dev.spacy
""")

nlp = spacy.load("training/shared/model-best")
doc = nlp("The mayor of Lyon met Ana Ruiz in Oslo.")
for key in GROUPS:
    print(key, [(span.text, span.label_) for span in doc.spans[key]])

run("""
python -m spacy spanner init-config training/shared/more.cfg --steps 300
""")

merge(
    "training/shared/more.cfg",
    """
[nlp]
pipeline = ["sentencizer", "tok2vec", "people", "places", "organisations"]

[components.tok2vec]
source = "training/shared/model-best"

[components.people]
source = "training/shared/model-best"

[components.places]
source = "training/shared/model-best"

[components.organisations]
factory = "span_biaffine"
spans_key = "organisations"

[training]
frozen_components = ["tok2vec", "people", "places"]
annotating_components = ["sentencizer"]

[training.score_weights]
spans_ents_f = null
spans_ents_p = null
spans_ents_r = null
spans_organisations_f = 1.0
""",
)

nlp = spacy.blank("en")
for split in ("train", "dev"):
    path = f"training/shared/{split}.spacy"
    docs = list(DocBin().from_disk(path).get_docs(nlp.vocab))
    for doc in docs:
        spans = [span for span in doc.spans["ents"] if span.label_ == "ORG"]
        doc.spans["organisations"] = spans
    DocBin(docs=docs).to_disk(path)

run("""
python -m spacy train training/shared/more.cfg --output training/shared/more --paths.train training/shared/train.spacy --paths.dev training/shared/dev.spacy
""")

nlp = spacy.load("training/shared/model-best")
ruler = nlp.add_pipe("span_ruler", first=True, config={"spans_key": "people"})
ruler.add_patterns([{"label": "PER", "pattern": "Madame Z"}])
nlp.get_pipe("people").cfg["overwrite"] = False
doc = nlp("Madame Z met the mayor of Lyon.")
print(("Madame Z", "PER") in [(span.text, span.label_) for span in doc.spans["people"]])
