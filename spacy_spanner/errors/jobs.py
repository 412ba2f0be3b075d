"""Messages about checkpoints, annotation, parallel training and sweeps."""


class JobErrors:
    """Errors in long-running jobs."""

    SP110 = (
        "Checkpoints cannot store the state of the optimizer {optimizer}. Set "
        "'@optimizers' in [training.optimizer] to {wanted}, Adam.v1, RAdam.v1 or "
        "SGD.v1, or remove spacy_spanner.checkpoint.v1 from [training.before_update]."
    )
    SP111 = (
        "{folder} already contains a checkpoint, of step {step}. To resume this run, "
        "use: python -m spacy spanner resume {folder} --output ... To start a new run, "
        "remove the folder or choose another one."
    )
    SP112 = (
        "There is no checkpoint in {folder}. Use the folder set as 'path' of "
        "spacy_spanner.checkpoint.v1 in [training.before_update]. The first checkpoint "
        "is written after the first evaluation."
    )
    SP113 = (
        "The checkpoint does not match its pipeline: {count} tensors exist in only one "
        "of them, the first is {tensor!r}. Resume with the same code and package "
        "versions, and without overriding [components]."
    )
    SP114 = (
        "The batches of the first {step} steps cannot be repeated in the same order: "
        "the state of Python's random number generator differs. Either [training] seed "
        "({seed}), the batcher or the readers differ from those of the run, or other "
        "code used the same generator, such as a callback. In the first case, restore "
        "these settings. In the second case, the run cannot be resumed: start a new "
        "one with a seed, and use separate generators in other code."
    )
    SP115 = (
        "The data of {corpus} (now at {path}) differs from what the run was trained "
        "on, or is missing. Restore it, or set its new location with --paths.train ... "
        "or --{corpus} ..."
    )
    SP116 = (
        "The checkpoint {folder} has format {found}, but this version of spacy-spanner "
        "reads format {known}. Resume with the version that wrote it."
    )
    SP117 = (
        "The checkpoint was written after the evaluation at step {step}, but with "
        "[training] eval_frequency = {frequency} there is no evaluation at this step. "
        "Keep the original value, or choose one that divides {step}."
    )
    SP118 = (
        "The run cannot be stored: the training loop has no optimizer, such as "
        "{wanted}, in a variable or in an attribute of its object. Keep the optimizer "
        "in a variable of the function that calls nlp.update."
    )
    SP120 = (
        "{source}: no files to annotate. Use files that end in one of {suffixes}, or "
        "folders or globs with such files; .txt and .jsonl may be compressed (.gz)."
    )
    SP121 = (
        "{place} has no text in the field '{field}'. Existing fields: {existing}. Set "
        "the field with the text with --text-field (text_field)."
    )
    SP122 = (
        "{place} has no id in the field '{field}'. Existing fields: {existing}. Set "
        "the field with the id with --id-field, or omit this option to use the file "
        "name and the number of the document as id."
    )
    SP123 = (
        "{what} needs the package {package}, which is not installed. Install it with: "
        "{command}"
    )
    SP124 = (
        "{folder} contains the results of a different run: {differences}. Choose "
        "another output, or replace the results with --force."
    )
    SP125 = (
        "Another process is writing to {folder}. Wait until it has finished, or choose "
        "another output."
    )
    SP126 = (
        "A worker died {times} times during startup (exit code {code}). Probably out "
        "of memory. Use fewer workers (--n-process), or a smaller pipeline."
    )
    SP127 = (
        "A worker cannot continue: {problem} {done} of {total} parts are finished. Fix "
        "the problem, and run the same command again to continue."
    )
    SP128 = "Cannot use GPU {gpu}: {problem}. To use the CPU, omit --num-gpus."
    SP129 = (
        "{failed} of {total} documents failed, which is more than the tolerance "
        "{tolerance}. Their ids and the reasons are in {path}; all other documents are "
        "annotated. To accept these failures, raise --tolerance."
    )
    SP130 = (
        "This command must be started by torchrun, which connects the processes (the "
        "environment variable {variable} is not set). Use: torchrun --nproc-per-node N "
        "-m spacy_spanner.jobs.parallel train ..., or: python -m spacy spanner "
        "train-parallel --n-proc N ..."
    )
    SP131 = (
        "There is no GPU for process {rank}: this machine has {gpus} that torch can "
        "use. Start at most one process per GPU, or omit --gpu."
    )
    SP132 = (
        "Process {rank} cannot continue, because another training process has ended or "
        "cannot be reached ({problem}). The output of that process shows the cause. "
        "The last complete pipelines remain in the output folder."
    )
    SP133 = (
        "The weights of process {rank} differ from those of process 0. A component "
        "changes its weights outside of finish_update. Train this pipeline with a "
        "single process, with spacy train."
    )
    SP134 = (
        "Process {rank} of {n_proc} ended {how}, so the other processes were stopped. "
        "Complete pipelines: {left}. The output above shows the cause; a process that "
        "ended by SIGKILL is probably out of memory."
    )
    SP135 = (
        "Cannot read {path} as settings to search: {problem}. Use YAML or JSON with "
        "'grid', 'random' or 'points'; see configs/sweeps for examples."
    )
    SP136 = (
        "{config} has no settings {settings}. Write names as in the config, with dots. "
        "Existing settings in the same block: {existing}."
    )
    SP137 = (
        "In a sweep, {name} must be {expected}, but is {value!r}. See configs/sweeps "
        "for examples."
    )
    SP138 = (
        "There is no best setting, because none was trained with all its seeds: "
        "{failed} of {trials} trials failed, {stopped} were stopped early. See the "
        "logs in {folder}. Start the sweep again to train what is missing."
    )
    SP139 = (
        "The pipeline {folder} is needed to score the chosen settings, but was not "
        "kept, because other settings were better by another metric. Remove the folder "
        "{trial}, and start the sweep again to repeat the trial."
    )
    SP190 = (
        "{folder} has a student with other settings: {settings}. Restore them to go on "
        "with it, or choose another --output, or train anew with --force."
    )
    SP191 = (
        "The student {config} has no component of this package that learns spans. Its "
        "pipeline: {pipeline}. Add one, such as span_biaffine."
    )
    SP192 = (
        "{folder} would be overwritten by the student, but it has another pipeline, or "
        "the teacher {teacher}. Choose another --output."
    )
    SP193 = (
        "The teacher has found nothing in {documents} texts ({words} words), so there "
        "is nothing to learn from them. Check --texts, and --lines for files with a "
        "text in each line."
    )


class JobWarnings:
    """Warnings in long-running jobs."""

    SW110 = (
        "The best model of the run so far, of step {step} with score {score}, is not "
        "in {folder}, but only in the output folder of the original run. If training "
        "finds no better one, copy model-best from there."
    )
    SW120 = (
        "The process died {times} times while processing only this document. Probably "
        "the pipeline needs more memory for it than there is, or a compiled component "
        "crashes."
    )
    SW130 = (
        "{failed} of {trials} trials failed: {names}. Each has a log.txt in its folder "
        "in {folder}. Start the sweep again to repeat them."
    )
    SW141 = (
        "The output has its own fields {names}, so those of the input are not kept. "
        "Rename them in the input to keep them; --id-field uses a field as the id."
    )
    SW190 = (
        "The components {names} learn from the texts that they have no spans: they "
        "cannot learn from a teacher. Leave them out of the student, or list them in "
        "[training] frozen_components."
    )
