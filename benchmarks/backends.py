"""Speed of the MiniLM encoder alone in several backends and precisions, in one run.

python benchmarks/backends.py DATA

Every backend encodes the same batches of word pieces, sorted by length, in turns: words
per second as the best of the rounds, and the cosine of the vectors to those of torch in
float32. A backend that is not installed is left out:
`pip install onnx onnxruntime onnxscript openvino torchao`.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import torch
import torch.nn.functional as F
import typer
from common import build_pipeline, read_corpus
from measuring import clock, write_json
from options import DATA, DATASET, OUTPUT
from plain_encoder import PlainEncoder, sorted_batches
from texts import choose_texts
from torch import Tensor, nn
from wasabi import msg, table

from spacy_spanner.encoders.fast.packed import PackedTransformer
from spacy_spanner.encoders.fast.processor import FLOAT32, PRECISIONS

Encode = Callable[[Tensor, Tensor], Tensor]
NAMES = ["input_ids", "attention_mask"]
HEADER = ("backend", "words/s", "to torch float32", "mean cosine", "lowest cosine")


class Batch(NamedTuple):
    """Sentences of similar length.

    ids, mask (Tensor): (sentence, piece)
    """

    ids: Tensor
    mask: Tensor


class Transformer(nn.Module):
    """A transformer that returns one tensor."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """RETURNS (Tensor): (sentence, piece, width)"""
        hidden: Tensor = self.model(input_ids, attention_mask).last_hidden_state
        return hidden


def make_batches(encoder: PlainEncoder, docs: List[Any]) -> List[Batch]:
    """RETURNS (List[Batch]): the word pieces of documents, sorted by length."""
    made = map(encoder.pieces, sorted_batches(docs))
    return [Batch(*(one[name] for name in NAMES)) for one in made]


# ---------------------------------------------------------------- backends


def ours(model: Any, precision: str) -> Encode:
    """RETURNS (Encode): what `Transformer.v1` predicts with."""
    packed = PackedTransformer(
        model.model, layers=1, first_position=0, precision=precision
    ).eval()
    return lambda ids, mask: packed(ids, mask.bool())


def torch_dynamic(model: nn.Module) -> Encode:
    """RETURNS (Encode): int8 by torch's dynamic quantization."""
    return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, torch.qint8)


def compiled_bfloat16(model: nn.Module) -> Encode:
    """RETURNS (Encode): bfloat16 by autocast, compiled."""
    run = torch.compile(model, dynamic=True)

    def encode(ids: Tensor, mask: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return run(ids, mask)

    return encode


def torchao(model: nn.Module) -> Encode:
    """RETURNS (Encode): torchao's int8 for weights and activations, compiled."""
    from copy import deepcopy

    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_

    copied = deepcopy(model)
    quantize_(copied, Int8DynamicActivationInt8WeightConfig())
    return torch.compile(copied, dynamic=True)


def export(model: nn.Module, folder: Path, example: Batch) -> Path:
    """RETURNS (Path): the encoder in the format of ONNX."""
    path = folder / "encoder.onnx"
    if not path.exists():
        axes = {name: {0: "sentence", 1: "piece"} for name in [*NAMES, "hidden"]}
        torch.onnx.export(
            model,
            tuple(example),
            str(path),
            input_names=NAMES,
            output_names=["hidden"],
            dynamic_axes=axes,
            dynamo=False,
        )
    return path


def onnx_runtime(
    model: nn.Module, folder: Path, example: Batch, *, int8: bool
) -> Encode:
    """RETURNS (Encode): ONNX Runtime; in int8 with a scale for each channel."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = export(model, folder, example)
    if int8:
        source, path = path, folder / "int8.onnx"
        quantize_dynamic(source, path, per_channel=True, weight_type=QuantType.QInt8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(path), options)

    def encode(ids: Tensor, mask: Tensor) -> Tensor:
        inputs = dict(zip(NAMES, (ids.numpy(), mask.numpy())))
        return torch.from_numpy(session.run(None, inputs)[0])

    return encode


def openvino(
    model: nn.Module, folder: Path, example: Batch, *, precision: str
) -> Encode:
    """RETURNS (Encode): OpenVINO in float32 ("f32") or bfloat16 ("bf16")."""
    import openvino

    settings = {
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
    }
    read = openvino.convert_model(str(export(model, folder, example)))
    compiled = openvino.compile_model(read, "CPU", settings)

    def encode(ids: Tensor, mask: Tensor) -> Tensor:
        return torch.from_numpy(compiled([ids.numpy(), mask.numpy()])[0])

    return encode


def make_backends(
    model: nn.Module, folder: Path, example: Batch
) -> Dict[str, Callable[[], Encode]]:
    """RETURNS (Dict[str, Callable[[], Encode]]): what makes each backend, by name."""
    exported = model, folder, example
    backends: Dict[str, Callable[[], Encode]] = {"torch float32": lambda: model}
    for precision in PRECISIONS[1:3]:
        backends[f"ours {precision}"] = partial(ours, model, precision)
    backends["torch bfloat16, compiled"] = partial(compiled_bfloat16, model)
    backends["torch dynamic int8"] = partial(torch_dynamic, model)
    backends["torchao int8, compiled"] = partial(torchao, model)
    for int8 in (False, True):
        name = f"ONNX Runtime {'int8' if int8 else FLOAT32}"
        backends[name] = partial(onnx_runtime, *exported, int8=int8)
    for precision in ("f32", "bf16"):
        backends[f"OpenVINO {precision}"] = partial(
            openvino, *exported, precision=precision
        )
    return backends


# ---------------------------------------------------------------- measuring


def encode_all(encode: Encode, batches: List[Batch]) -> List[Tensor]:
    """RETURNS (List[Tensor]): vectors of the real pieces of a batch. (piece, width)"""
    with torch.inference_mode():
        return [encode(*batch).float()[batch.mask.bool()] for batch in batches]


def start(
    makers: Dict[str, Callable[[], Encode]], batches: List[Batch]
) -> Dict[str, Encode]:
    """RETURNS (Dict[str, Encode]): the backends that work here, compiled and warm."""
    ready = {}
    for name, make in makers.items():
        try:
            encode = make()
            encode_all(encode, batches)
        except Exception as error:  # of any library, or of its compiler
            msg.warn(f"{name}: left out ({type(error).__name__}: {str(error)[:200]})")
        else:
            ready[name] = encode
    return ready


def measure(
    backends: Dict[str, Encode], batches: List[Batch], n_words: int, rounds: int
) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): speed and cosine of each backend."""
    vectors = {name: encode_all(run, batches) for name, run in backends.items()}
    first, *_ = vectors
    speeds: Dict[str, float] = {}
    for _ in range(rounds):
        for name, encode in backends.items():
            began = clock()
            encode_all(encode, batches)
            speed = n_words / (clock() - began)
            speeds[name] = max(speed, speeds.get(name, 0.0))
    rows = []
    for name, found in vectors.items():
        pairs = zip(torch.cat(vectors[first]).split(4096), torch.cat(found).split(4096))
        cosine = torch.cat([F.cosine_similarity(a, b, dim=-1) for a, b in pairs])
        row = {"backend": name, "words_per_second": speeds[name]}
        row.update(ratio=speeds[name] / speeds[first], cosine=float(cosine.mean()))
        rows.append({**row, "lowest_cosine": float(cosine.min())})
    return rows


def to_row(row: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    numbers = f"{row['words_per_second']:,.0f}", f"{row['ratio']:.2f}"
    return [
        row["backend"],
        *numbers,
        f"{row['cosine']:.4f}",
        f"{row['lowest_cosine']:.3f}",
    ]


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    words: int = typer.Option(8_000, help="Approximate number of words"),
    rounds: int = typer.Option(5, help="Number of rounds"),
    threads: int = typer.Option(1, help="Threads of each backend"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Measure every backend that is installed."""
    torch.set_num_threads(threads)
    plain = PlainEncoder()
    model = Transformer(plain.model).eval()  # exports restore the mode of the whole
    docs = read_corpus(dataset, data, build_pipeline("span_biaffine", "cnn")).test
    docs = choose_texts(docs, "sentences", words)
    batches = make_batches(plain, docs)
    with tempfile.TemporaryDirectory() as folder:
        makers = make_backends(model, Path(folder), batches[0])
        backends = start(makers, batches)
        rows = measure(backends, batches, sum(map(len, docs)), rounds)
    print(
        table(
            list(map(to_row, rows)), header=HEADER, divider=True, aligns=("l", *"rrrr")
        )
    )
    if output is not None:
        setup = {
            "dataset": dataset,
            "words": words,
            "rounds": rounds,
            "threads": threads,
        }
        write_json(output, rows, setup=setup)


if __name__ == "__main__":
    typer.run(main)
