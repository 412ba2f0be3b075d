"""Train a pipeline with several processes; the first one evaluates and writes.

All run spaCy's own loop on the same batches and with the same scores, so they stop at
the same step.
"""

import random
import signal
import sys
import warnings
import zlib
from pathlib import Path
from types import FrameType
from typing import IO, Any, Dict, Optional, Tuple

import torch
from spacy.language import Language
from spacy.training.initialize import init_nlp
from spacy.training.loop import clean_output_dir
from spacy.util import fix_random_seed, load_config, logger
from thinc.api import set_gpu_allocator
from wasabi import Printer, msg

from ...errors import Errors
from ..run import training_loop
from ..run.checkpoint import storing_callbacks
from ..run.run_state import generators_of
from ..run.slots import slots_of
from ..spacy_commands import setup_gpu, show_validation_error
from .team import Team
from .updates import SharedUpdates, shared_updates


def work(
    config_path: Path,
    output: Optional[Path],
    overrides: Dict[str, Any],
    *,
    local_rank: int,
    gpu: bool,
) -> None:
    """Train with a config as one of the processes that torchrun has started.

    local_rank (int): number of this process on its machine.
    gpu (bool): whether to use the GPU with this number.
    RAISES (ValueError): SP130 without torchrun, SP131 without GPUs for all.
    """
    signal.signal(signal.SIGTERM, _end)
    use_gpu = local_rank if gpu else -1
    if gpu and local_rank >= torch.cuda.device_count():
        raise ValueError(
            Errors.SP131.format(rank=local_rank, gpus=torch.cuda.device_count())
        )
    setup_gpu(use_gpu, silent=True)
    team = Team()
    if team.rank:
        keep_quiet()
    with show_validation_error(config_path):
        config = load_config(config_path, overrides=overrides, interpolate=False)
    with show_validation_error(config_path, hint_fill=False):
        nlp = init_nlp(config, use_gpu=use_gpu)
    if output is not None and not team.rank:
        output.mkdir(parents=True, exist_ok=True)
    train_shared(nlp, team, output, use_gpu=use_gpu)
    if output is not None and not team.rank:
        msg.good("Saved pipeline to output directory", output / "model-last")
    team.leave()


def _end(number: int, frame: Optional[FrameType]) -> None:
    """Exit with an exception, so that incomplete folders are removed."""
    sys.exit(128 + number)


def train_shared(
    nlp: Language,
    team: Team,
    output: Optional[Path] = None,
    *,
    use_gpu: int = -1,
    stdout: IO = sys.stdout,
    stderr: IO = sys.stderr,
) -> int:
    """Train with the config of a pipeline; all processes must call this.

    nlp (Language): initialized; its weights become those of the first process.
    output (Optional[Path]): folder for model-last and model-best.
    stdout, stderr (IO): for the logger of the first process.
    RETURNS (int): number of trained steps.
    RAISES (ConnectionError): SP132 if another process has ended.
    """
    training = training_loop.training_settings(nlp)
    if use_gpu >= 0 and training["gpu_allocator"]:
        set_gpu_allocator(training["gpu_allocator"])
    for callback in storing_callbacks(training["before_update"]):
        callback.writes = team.rank == 0
    own = _part_random_numbers(nlp, team, training["seed"])
    team.take_first([slot.weights for slot in slots_of(nlp)])
    batches, evaluate = training_loop.data_of(nlp, training)
    parts = training["accumulate_gradient"]
    uncut = {**training, "accumulate_gradient": 1}  # `updates` divides the batches
    with shared_updates(nlp, team, parts=parts, own=own) as updates:
        scores = _scores_of_first(team, evaluate, updates)
        steps = training_loop.run_steps(nlp, uncut, _drawn_alike(batches), scores)
        told = ((info, is_best) for _, info, is_best in steps)
        if team.rank:
            return sum(1 for _ in told)
        clean_output_dir(output)
        _announce(nlp, training, team, stdout)
        outcome = training_loop.Outcome(nlp, training, output)
        return training_loop.save_steps(outcome, told, stdout=stdout, stderr=stderr)


def keep_quiet() -> None:
    """Show warnings and messages only in the first process."""
    warnings.simplefilter("ignore")
    logger.setLevel("ERROR")


def _announce(nlp: Language, training: Dict[str, Any], team: Team, stdout: IO) -> None:
    say = Printer(no_print=True)
    lines = [f"Processes: {team.size}", f"Pipeline: {nlp.pipe_names}"]
    if training["frozen_components"]:
        lines.append(f"Frozen components: {training['frozen_components']}")
    lines.append(f"Initial learn rate: {training['optimizer'].learn_rate}")
    stdout.write("".join(f"{say.info(line)}\n" for line in lines))


def _part_random_numbers(
    nlp: Language, team: Team, seed: Optional[int]
) -> random.Random:
    """Use the same seed for shuffling in all processes, and different seeds for dropout
    and samples; in the first process, the seed of a single process.

    RETURNS (random.Random): generator for the components of this process.
    """
    order, start = team.first((random.getstate(), random.getrandbits(31)))
    if seed is not None:
        start = seed
    if team.rank:
        fix_random_seed(start + team.rank)
        for _, rng in generators_of(nlp):
            bits: Any = rng.bit_generator
            bits.state = bits.jumped(team.rank).state
    own = random.Random(start + team.rank)
    random.setstate(order)
    return own


def _drawn_alike(batches: training_loop.Batches) -> training_loop.Batches:
    """Draw batches with random numbers that nothing else in a process uses."""
    order = random.getstate()
    while True:
        random.setstate(order)
        drawn = next(batches, None)
        order = random.getstate()
        if drawn is None:
            return
        yield drawn


def _scores_of_first(
    team: Team, evaluate: training_loop.Evaluate, updates: SharedUpdates
) -> training_loop.Evaluate:
    """RETURNS (Callable): evaluates in the first process, after adding up the losses
    and comparing the weights.
    """

    def evaluate_once() -> Tuple[float, training_loop.Info]:
        weights = _checksum(updates.nlp)
        everyone = team.gather((updates.losses, weights))
        for rank, (_, theirs) in enumerate(everyone):
            if theirs != everyone[0][1]:
                raise ValueError(Errors.SP133.format(rank=rank))
        for name in updates.losses:
            total = sum(losses.get(name, 0.0) for losses, _ in everyone)
            updates.losses[name] = total
        return team.first(evaluate() if team.rank == 0 else None)

    return evaluate_once


def _checksum(nlp: Language) -> int:
    """RETURNS (int): a checksum of all weights."""
    found = 0
    for slot in slots_of(nlp):
        weights = slot.weights.detach().cpu().contiguous()
        found = zlib.crc32(weights.reshape(-1).view(torch.uint8).numpy().data, found)
    return found
