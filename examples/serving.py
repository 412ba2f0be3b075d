"""Serve a pipeline with FastAPI.

All steps of docs/guides/serving.md. Run it in the root of the repository:

    python examples/serving.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import asyncio
import sys

import httpx
import spacy
from serve_fastapi import make_app, spans_of
from steps import run

# Left out: serves until it is stopped.

run("""
python -m spacy project run corpus
python -m spacy spanner init-config training/first.cfg --steps 300 --force
python -m spacy train training/first.cfg --output training/first --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""")

# Left out: a part of examples/serve_fastapi.py, which the last block runs.

# Left out: serves until it is stopped.

# Left out: needs the service.


sys.path.insert(0, "examples")


MODEL = "training/first/model-best"
nlp = spacy.load(MODEL)
texts = [f"The mayor of Lyon met Ana Ruiz on day {day}." for day in range(40)]
expected = [[spans_of(doc)] for doc in nlp.pipe(texts)]


async def ask(app, texts):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        requests = [client.post("/spans", json={"texts": [text]}) for text in texts]
        return [answer.json() for answer in await asyncio.gather(*requests)]


def without_scores(answers):
    return [[{**span, "score": 0} for span in spans] for (spans,) in answers]


found = asyncio.run(ask(make_app(MODEL), texts))
print(without_scores(found) == without_scores(expected), len(found), "answers")

pairs = zip((s for (a,) in found for s in a), (s for (a,) in expected for s in a))
print(all(abs(one["score"] - two["score"]) < 1e-3 for one, two in pairs))
