"""Pretrained encoders and tokenizers that somebody has changed, and the folders that
encoders are loaded from.
"""

import json
import pickle
import shutil
import struct
from pathlib import Path
from typing import Any, Callable, Dict

import numpy as np
import pytest
import srsly
import torch

from spacy_spanner.encoders.transformer import build_transformer, get_shim

from ..helpers import doc_of
from .helpers import Count, Payload, harmless, refused

transformers = pytest.importorskip("transformers")

CODE = "from pathlib import Path\nPath({marker!r}).touch()\nclass Own: pass\n"
WORDS = ["Leon", "County"]
Message = Dict[str, Any]
Change = Callable[[Message], Any]


@pytest.fixture(scope="module")
def stored(tiny_bert: Path) -> bytes:
    model = build_transformer(str(tiny_bert))
    model.initialize()
    return get_shim(model).to_bytes()


def load(message: Message) -> Any:
    shim = get_shim(build_transformer("no/such-model"))
    return shim.from_bytes(srsly.msgpack_dumps(message))


def unpacked(stored: bytes) -> Message:
    message: Any = srsly.msgpack_loads(stored)
    return message


# ------------------------------------------------------------ names of its files


NAMES = ["../planted.json", "../../planted.json", "a/../../planted.json", "..", "."]
NAMES += ["a/planted.json", "", "planted", "planted.py", "planted.pkl", "planted.bin"]
NAMES += [
    "a\\planted.json",
    "planted.json\0",
    "planted.json\n",
    ".planted.json",
    "~.txt",
]


def test_files_of_tokenizers_stay_in_their_folder(
    stored: bytes, tmp_path: Path, tried: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in [*NAMES, str(tmp_path / "planted.json"), 7]:
        tried("manipulated encoders")
        message = unpacked(stored)
        message["tokenizer"][name] = b"planted"
        with harmless(tmp_path), refused("SP152"):
            load(message)


def test_tokenizers_read_no_files_outside_of_their_folder(
    stored: bytes, tiny_bert: Path, tmp_path: Path, tried: Count
) -> None:
    """The other tokenizer, outside of the folder, would split all texts differently."""
    other = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    other.add_tokens(["Leon"])
    other.save_pretrained(tmp_path)
    expected = load(unpacked(stored)).tokenizer("Leon County").input_ids
    assert other("Leon County").input_ids != expected
    for key in ("tokenizer_file", "vocab_file", "merges_file", "fast_tokenizer_files"):
        tried("manipulated encoders")
        message = unpacked(stored)
        outside = str(tmp_path / "tokenizer.json")
        value = [f"../{outside}"] if key.endswith("s") else outside
        change_tokenizer(message, {key: value})
        with harmless(tmp_path):
            assert load(message).tokenizer("Leon County").input_ids == expected


def change_tokenizer(message: Message, changes: Dict[str, Any]) -> None:
    files = message["tokenizer"]
    config = {**json.loads(files["tokenizer_config.json"]), **changes}
    files["tokenizer_config.json"] = json.dumps(config).encode("utf8")


# --------------------------------------------------------------------------- code


def test_code_that_configs_name_never_runs(
    stored: bytes, tmp_path: Path, tried: Count
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    text = CODE.format(marker=str(tmp_path / "marker"))
    (code / "own.py").write_text(text, encoding="utf8")
    for target in ("own.Own", f"{code}--own.Own", "someone/evil--own.Own"):
        tried("manipulated encoders", 3)
        autos = ("AutoConfig", "AutoModel", "AutoTokenizer")
        own = {**dict.fromkeys(autos, target), "AutoTokenizer": [target, target]}
        for changed in ({"auto_map": own}, {"auto_map": target}):
            message = unpacked(stored)
            change_tokenizer(message, {**changed, "trust_remote_code": True})
            config = {**json.loads(message["config"]), **changed}
            message["config"] = json.dumps({**config, "trust_remote_code": True})
            with harmless(tmp_path):
                assert load(message).tokenizer is not None


CONFIGS: Dict[str, Change] = {
    "a model of its own": lambda c: c.update(
        model_type="own", auto_map={"AutoModel": "own.Own"}
    ),
    "no kind": lambda c: c.pop("model_type"),
    "a kind of another type": lambda c: c.update(model_type=["bert"]),
    "more layers": lambda c: c.update(num_hidden_layers=10**9),
    "a layer more": lambda c: c.update(num_hidden_layers=3),
    "wide": lambda c: c.update(hidden_size=10**6, num_attention_heads=1),
    "negative": lambda c: c.update(hidden_size=-2),
    "a large vocabulary": lambda c: c.update(vocab_size=10**9),
    "positions": lambda c: c.update(max_position_embeddings=10**9),
    "text for a number": lambda c: c.update(hidden_size="os.system"),
    "another kind": lambda c: c.update(model_type="gpt2"),
}


@pytest.mark.parametrize("form", list(CONFIGS))
def test_configs_of_models_that_were_not_stored(
    form: str, stored: bytes, tmp_path: Path, tried: Count
) -> None:
    tried("manipulated encoders")
    message = unpacked(stored)
    config = json.loads(message["config"])
    CONFIGS[form](config)
    message["config"] = json.dumps(config)
    with harmless(tmp_path), pytest.raises((ValueError, TypeError, RuntimeError)):
        load(message)


def test_attention_from_the_hub_is_not_downloaded(
    stored: bytes, tmp_path: Path, tried: Count
) -> None:
    tried("manipulated encoders")
    message = unpacked(stored)
    config = json.loads(message["config"])
    config["attn_implementation"] = "someone/evil:attention"
    config["_attn_implementation_internal"] = {"": "someone/evil:attention"}
    config["text_config"] = {"attn_implementation": "someone/evil:attention"}
    message["config"] = json.dumps(config)
    with harmless(tmp_path):
        assert load(message).tokenizer is not None


TOKENIZERS = ["TransfoXLTokenizer", "BertJapaneseTokenizer", "Own", "", None, 7, "os"]
TOKENIZERS += ["AutoTokenizer", "BertModel", "XLMTokenizer", ["BertTokenizer"]]


def test_tokenizers_of_other_classes(
    stored: bytes, tmp_path: Path, tried: Count
) -> None:
    (tmp_path / "vocab.pkl").write_bytes(pickle.dumps(Payload(tmp_path / "marker")))
    for kind in TOKENIZERS:
        tried("manipulated encoders")
        message = unpacked(stored)
        outside = str(tmp_path / "vocab.pkl")
        changes = {"tokenizer_class": kind, "pretrained_vocab_file": outside}
        change_tokenizer(message, changes)
        with harmless(tmp_path), refused("SP013"):
            load(message)


# ------------------------------------------------------------------------- weights


def safetensors(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode("utf8")
    return struct.pack("<Q", len(text)) + text + data


def tensor(**changes: Any) -> Dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


WEIGHTS = {
    "a huge header": struct.pack("<Q", 2**63) + b"{}",
    "a header of a gigabyte": struct.pack("<Q", 2**30) + b"{}",
    "a header behind the end": struct.pack("<Q", 100) + b"{}",
    "no header": b"",
    "a pickle": pickle.dumps([1, 2]),
    "a deep header": safetensors(b'{"a":' * 100_000),
    "a header of a list": safetensors([]),
    "huge sizes": safetensors({"a": tensor(shape=[2**62, 2**62])}, bytes(8)),
    "sizes without data": safetensors({"a": tensor(shape=[10**9])}, bytes(8)),
    "offsets behind the end": safetensors(
        {"a": tensor(data_offsets=[0, 2**40], shape=[2**38])}, bytes(8)
    ),
    "overlapping offsets": safetensors({"a": tensor(), "b": tensor()}, bytes(8)),
    "offsets backwards": safetensors({"a": tensor(data_offsets=[8, 0])}, bytes(8)),
    "negative offsets": safetensors({"a": tensor(data_offsets=[-8, 0])}, bytes(8)),
    "an unknown type": safetensors({"a": tensor(dtype="X99")}, bytes(8)),
    "an object": safetensors({"a": tensor(dtype="O")}, bytes(8)),
    "other weights": safetensors({"a": tensor()}, bytes(8)),
    "no weights": safetensors({}),
}


@pytest.mark.parametrize("form", list(WEIGHTS))
def test_weights_of_encoders_that_are_not_what_they_claim(
    form: str, stored: bytes, tmp_path: Path, tried: Count
) -> None:
    tried("manipulated encoders")
    message = {**unpacked(stored), "weights": WEIGHTS[form]}
    with harmless(tmp_path), pytest.raises(Exception) as seen:
        load(message)
    named = type(seen.value).__name__ == "SafetensorError"
    assert named or str(seen.value).startswith(("[SP150]", "[SP151]"))


def test_weights_of_encoders_with_another_type_or_cut_off(
    stored: bytes, tmp_path: Path, tried: Count
) -> None:
    from safetensors.torch import load as load_tensors
    from safetensors.torch import save

    message = unpacked(stored)
    weights = message["weights"]
    for size in np.linspace(0, len(weights) - 1, 20).astype(int):
        tried("manipulated encoders")
        with (
            harmless(tmp_path),
            pytest.raises(Exception, match=r"SP15|[Hh]eader|[Mm]eta"),
        ):
            load({**message, "weights": weights[:size]})
    tried("manipulated encoders")
    halves = {name: value.half() for name, value in load_tensors(weights).items()}
    shim = load({**message, "weights": save(halves)})
    assert {value.dtype for value in shim.module.state_dict().values()} == {
        torch.float32
    }


MESSAGES: Dict[str, Change] = {
    **{f"no {name}": lambda m, n=name: m.pop(n) for name in ("weights", "prompts")},
    **{f"no {name}": lambda m, n=name: m.pop(n) for name in ("config", "tokenizer")},
    "prompts of text": lambda m: m.update(prompts="1"),
    "many prompts": lambda m: m.update(prompts=10**9),
    "a config of bytes": lambda m: m.update(config=b"{}"),
    "a config that is no mapping": lambda m: m.update(config="[]"),
    "a deep config": lambda m: m.update(config='{"a":' * 100_000),
    "files in a list": lambda m: m.update(tokenizer=[b"x"]),
    "files of text": lambda m: m["tokenizer"].update({"tokenizer.json": "{}"}),
    "no tokenizer.json": lambda m: m["tokenizer"].pop("tokenizer.json"),
    "no config": lambda m: m["tokenizer"].pop("tokenizer_config.json"),
    "an odd tokenizer": lambda m: m["tokenizer"].update({"tokenizer.json": b"{}"}),
    "a deep tokenizer": lambda m: m["tokenizer"].update(
        {"tokenizer.json": b'{"a":' * 100_000}
    ),
    "a tokenizer of bytes": lambda m: m["tokenizer"].update(
        {"tokenizer.json": b"\xff" * 100}
    ),
    "an origin of text": lambda m: m.update(origin="x"),
    "an origin with more": lambda m: m["origin"].update(more=1),
}


@pytest.mark.parametrize("form", list(MESSAGES))
def test_encoders_that_were_not_stored_like_that(
    form: str, stored: bytes, tmp_path: Path, tried: Count
) -> None:
    tried("manipulated encoders")
    message = unpacked(stored)
    MESSAGES[form](message)
    with harmless(tmp_path), pytest.raises(Exception) as seen:
        load(message)
    assert str(seen.value)
    assert not isinstance(seen.value, (MemoryError, OSError))


# ------------------------------------------------------------ folders of encoders


def test_folders_of_encoders_run_no_code(
    tiny_bert: Path, tmp_path: Path, tried: Count
) -> None:
    marker = tmp_path / "marker"
    folder = shutil.copytree(tiny_bert, tmp_path / "encoder")
    (folder / "own.py").write_text(CODE.format(marker=str(marker)), encoding="utf8")
    config = json.loads((folder / "config.json").read_text(encoding="utf8"))
    for name, value in {"AutoModel": "own.Own", "AutoConfig": "own.Own"}.items():
        tried("manipulated encoders")
        changed = {**config, "auto_map": {name: value}, "model_type": "own"}
        (folder / "config.json").write_text(json.dumps(changed), encoding="utf8")
        with harmless(tmp_path), refused("SP015"):
            build_transformer(str(folder)).initialize()


def test_pickles_in_place_of_weights_run_no_code(
    tiny_bert: Path, tmp_path: Path, tried: Count
) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "encoder")
    (folder / "model.safetensors").unlink()
    payload = Payload(tmp_path / "marker")
    for write in (
        torch.save,
        lambda value, path: path.write_bytes(pickle.dumps(value)),
    ):
        tried("manipulated encoders")
        write({"weight": payload}, folder / "pytorch_model.bin")
        with harmless(tmp_path), refused("SP015"):
            build_transformer(str(folder)).initialize()


def test_encoders_that_were_not_changed_load(stored: bytes, tmp_path: Path) -> None:
    with harmless(tmp_path):
        model = build_transformer("no/such-model")
        get_shim(model).from_bytes(stored)
    model.set_dim("nO", get_shim(model).width)
    assert model.predict([doc_of(WORDS)])[0].any()
