"""Rebuild encoders and tokenizers that somebody else may have stored.

Both are described by JSON that names classes, files and repositories. Only classes of
transformers itself are used, only files that were stored with the encoder are read, and
nothing is built that has other weights than those that were stored.
"""

import json
import re
import threading
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, Iterator, Mapping, Optional

import torch
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from ..errors import Errors
from ..layers.stored_state import META, State, require_fitting

# For every call that loads something: never run code that comes with a model.
NO_FOREIGN_CODE: Dict[str, Any] = {"trust_remote_code": False}
# What fast tokenizers write. Others may be pickles or code.
TOKENIZER_FILE = re.compile(r"\w[\w.-]*\.(json|txt|model|jinja)", re.ASCII)
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
# Entries that name code.
NAMES_CODE = ("auto_map", "custom_pipelines")
# Attention of other names may be downloaded code.
ATTENTION = "attn_implementation"
KNOWN_ATTENTION = (None, "eager", "sdpa", "flash_attention_2", "flex_attention")
# Modules may make parameters that are not stored, such as those of a pooler.
SPARE_PARAMETERS = 64
SPARE_BYTES = 2**26


def read_tokenizer(files: Mapping[str, Any], name: str) -> Any:
    """RETURNS (Any): the tokenizer in stored files.

    name (str): the encoder, for the message.
    RAISES (ValueError): SP013 if it is not a fast one, SP151 if files are missing,
        SP152 for files that no fast tokenizer has.
    """
    from transformers import AutoTokenizer

    for file in files:
        if not isinstance(file, str) or not TOKENIZER_FILE.fullmatch(file):
            why = "it could be written outside of its folder, or run as code"
            what = f"a file {file!r} in its tokenizer"
            raise ValueError(Errors.SP152.format(what=what, why=why))
    if not {TOKENIZER, TOKENIZER_CONFIG} <= set(files):
        problem = f"{TOKENIZER} or {TOKENIZER_CONFIG} is missing"
        raise ValueError(Errors.SP151.format(problem=problem))
    config = without_code(json.loads(files[TOKENIZER_CONFIG]))
    # Paths of files that would be read in place of the stored ones.
    config = {k: v for k, v in config.items() if not k.endswith(("_file", "_files"))}
    if not _is_fast(config.get("tokenizer_class")):
        raise ValueError(Errors.SP013.format(name=name))
    with TemporaryDirectory() as folder:
        for file, content in files.items():
            (Path(folder) / file).write_bytes(content)
        text = json.dumps(config)
        (Path(folder) / TOKENIZER_CONFIG).write_text(text, encoding="utf8")
        options = {"use_fast": True, "local_files_only": True, **NO_FOREIGN_CODE}
        # A folder has no revision.
        return AutoTokenizer.from_pretrained(folder, **options)  # nosec B615


def _is_fast(name: Any) -> bool:
    """RETURNS (bool): whether the name of a tokenizer is that of a fast one. Slow ones
    read files of their own choice.
    """
    import transformers

    base = transformers.PreTrainedTokenizerFast
    names = (str(name), f"{name}Fast")
    found = (getattr(transformers, one, None) for one in names)
    return any(isinstance(one, type) and issubclass(one, base) for one in found)


def without_code(content: Any) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a description of a model or tokenizer, without what
    names code: the classes of transformers are used.

    RAISES (ValueError): SP151 if it is not a mapping.
    """
    if not isinstance(content, dict):
        raise ValueError(Errors.SP151.format(problem="the config is not a mapping"))
    return {
        name: without_code(value) if isinstance(value, dict) else value
        for name, value in content.items()
        if name not in NAMES_CODE
        and (ATTENTION not in name or value in KNOWN_ATTENTION)
    }


def read_config(text: str) -> Any:
    """RETURNS (PretrainedConfig): the configuration that `to_json_string` wrote.

    RAISES (ValueError): SP151 for a kind of model that transformers does not have.
    """
    from transformers import AutoConfig

    content = without_code(json.loads(text))
    model_type = content.pop("model_type", None)
    if not isinstance(model_type, str):
        raise ValueError(Errors.SP151.format(problem="the config has no model_type"))
    return in_full_precision(AutoConfig.for_model(model_type, **content))


def in_full_precision(config: Any) -> Any:
    """Make a configuration ask for float32, which Thinc and NumPy need.

    Transformers 5 keeps the precision of a checkpoint, as older versions do when they
    build a model from its configuration.

    config (PretrainedConfig): changed in place.
    RETURNS (PretrainedConfig): the configuration.
    """
    name = "dtype" if hasattr(config, "dtype") else "torch_dtype"  # before 4.56
    setattr(config, name, torch.float32)
    return config


def build_transformer_of(config: Any, state: State, n_bytes: int) -> Any:
    """Build a transformer, if it has the stored weights and no others.

    config (PretrainedConfig): its configuration.
    state (Dict[str, Tensor]): the stored weights of the transformer, by name.
    n_bytes (int): size of the file that contains them.
    RETURNS (PreTrainedModel): the transformer, with random weights.
    RAISES (ValueError): SP150 or SP151 if it would have other weights, or buffers that
        take more memory than they do.
    """
    from transformers import AutoModel

    with META, _at_most(len(state) + SPARE_PARAMETERS):
        planned = AutoModel.from_config(config, **NO_FOREIGN_CODE)
    planned = without_pooler(planned)
    buffers = sum(one.numel() * one.element_size() for one in planned.buffers())
    if buffers > n_bytes + SPARE_BYTES:
        problem = f"the config asks for buffers of {buffers:,} bytes"
        raise ValueError(Errors.SP151.format(problem=problem))
    require_fitting(state, planned, n_bytes)
    return AutoModel.from_config(config, **NO_FOREIGN_CODE)


def without_pooler(transformer: Any) -> Any:
    """RETURNS (Any): the transformer without the layer on top of [CLS]."""
    if getattr(transformer, "pooler", None) is not None:
        transformer.pooler = None
    return transformer


@contextmanager
def _at_most(limit: int) -> Iterator[None]:
    """Stop building a module with more parameters than a limit, before it is complete.

    RAISES (ValueError): SP151.
    """
    thread, made = threading.get_ident(), 0

    def count(module: nn.Module, name: str, parameter: Optional[nn.Parameter]) -> None:
        nonlocal made
        made += threading.get_ident() == thread
        if made > limit:
            problem = f"the config asks for more than the {limit:,} stored tensors"
            raise ValueError(Errors.SP151.format(problem=problem))

    hook = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()
