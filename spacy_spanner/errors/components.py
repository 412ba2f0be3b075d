"""Messages about components, settings, encoders and training."""


class ComponentErrors:
    """Errors in the setup, training, loading and use of components."""

    SP002 = (
        "Setting '{name}' must be {expected}, but is {value!r}. Correct it in the "
        "config, or in nlp.add_pipe(..., config={{...}})."
    )
    SP003 = (
        "'{component}' has no annotation to learn from: none of the {examples} "
        "examples has the span group doc.spans['{key}'] or entities in doc.ents. "
        "Existing span groups: {existing}. Set 'spans_key' of the component to the "
        "group with your entities, or annotate doc.ents. To initialize without data, "
        "list the labels in [initialize.components.{component}.labels], or add them "
        "with add_label."
    )
    SP004 = (
        "'{component}' found no labels: the {examples} examples are annotated, but "
        "contain no entities (spans key '{key}'). Existing span groups: {existing}. "
        "Set 'spans_key' to the group with your entities, add examples with entities, "
        "or list the labels in [initialize.components.{component}.labels]."
    )
    SP005 = (
        "[training.score_weights] uses {missing}, which no component of the pipeline "
        "produces, so the best model cannot be selected. '{component}' with spans_key "
        "'{key}' produces: {produced}. Rename the weight, or set it to 0."
    )
    SP006 = (
        "'{component}': label_thresholds contains labels that the component does not "
        "have: {unknown}. Its labels are: {labels}. Remove the unknown labels, or "
        "correct their spelling."
    )
    SP007 = (
        "'{component}': weights and settings do not match: the weights were trained "
        "with {weights} labels, but the settings have {settings} ({labels}). Load both "
        "from the same pipeline, into a component that is not initialized."
    )
    SP008 = (
        "'{component}' was initialized with {saved} labels, but now gets {present}: "
        "{labels}. To keep what it has learned, call add_label or remove_label, and go "
        "on with nlp.resume_training() instead of nlp.initialize(). To start anew, "
        "remove the component, add it again, and initialize it with all labels."
    )
    SP009 = (
        "The token vectors for '{component}' have width {seen}, but its weights expect "
        "width {expected}. The encoder in 'model.tok2vec' (or the component that it "
        "listens to) is not the one that the component was trained with. Use that "
        "encoder, or train the component again."
    )
    SP010 = (
        "The training loss of '{component}' is not finite ({value}). Lower the "
        "learning rate in [training.optimizer], or check whether the encoder returns "
        "invalid vectors."
    )
    SP012 = (
        "The encoder {name!r} comes with the package {module}, which is not installed. "
        "Install it with: {command}"
    )
    SP013 = (
        "The encoder {name!r} has no fast tokenizer, which is required to split the "
        "tokens of a document into word pieces. Choose an encoder with a "
        "tokenizer.json."
    )
    SP014 = (
        "The encoder {name!r} needs the packages transformers and safetensors, which "
        "cannot be imported ({problem}). Install them with: {command}"
    )
    SP015 = (
        "The encoder {name!r} cannot be loaded: {problem} Use the name of a packaged "
        "model (minilm), the path to a Hugging Face model, or the name of a model on "
        "the Hugging Face Hub."
    )
    SP016 = (
        "The encoder {name!r} uses prompts, which are vectors of labels, but it is not "
        "part of a span component, so it does not know the labels. Put it into "
        "'model.tok2vec' of the component, or set prompts = 0."
    )
    SP017 = (
        "The encoder {name!r} reads {max_pieces} word pieces at a time, and {prompts} "
        "prompts leave no room for text. Use fewer prompts per label, or set "
        "prompts = 0."
    )
    SP018 = (
        "spacy_spanner.Features.v1 is configured to use static vectors (vectors_width "
        "= {width}), but the pipeline has none. Set 'vectors' in [initialize], or set "
        "vectors_width = 0."
    )
    SP019 = (
        "The encoder of '{component}' cannot be frozen with the optimizer {optimizer}, "
        "which would still update its layer '{layer}'. Set '@optimizers' in "
        "[training.optimizer] to spacy_spanner.AdamW.v1."
    )
    SP020 = (
        "spacy_spanner.Offset.v1 is configured to encode the labels together with the "
        "text (type_inputs = true), but the encoder {encoder!r} returns no vectors of "
        "labels. Use spacy_spanner.Transformer.v1 with prompts = 1 as 'tok2vec', or "
        "set type_inputs = false to use learned label embeddings only."
    )
    SP021 = (
        "spacy_spanner.AdamW.v1 was called for the tensor {tensor!r} outside of "
        "Model.finish_update, so it cannot determine which model the tensor belongs "
        "to. Do not call the optimizer directly: use nlp.update(examples, "
        "sgd=optimizer), or finish_update(optimizer) of a component or of its model."
    )
    SP022 = (
        "spacy_spanner.AdamW.v1 cannot determine whether the tensor {tensor!r} belongs "
        "to an encoder or to a head: its model has no reference 'tok2vec', and no "
        "component listens to it. Add a parameter group, such as [training.optimizer."
        "groups.own] with pattern = {pattern!r} and a learn_rate."
    )
    SP023 = (
        "spacy_spanner.AdamW.v1 cannot update the tensor {tensor!r} of the model "
        "{model!r}, because it is not a parameter of a Thinc layer or of a torch "
        "module. Set [training.optimizer] to another optimizer, such as Adam.v1."
    )
    SP030 = (
        "The settings {first} and {second} contradict each other: {why}. Change one of "
        "them."
    )
    SP064 = (
        "The installed {library} {version} has no {missing} ({problem}). spacy-spanner "
        "uses it although {library} does not document it. Install a version that the "
        "tests were run with: see constraints.txt and docs/compatibility.md."
    )
    SP101 = (
        "Cannot freeze the encoder of '{component}': the pipeline has no component of "
        "this name with an encoder. Components with an encoder: {components}. Correct "
        "'components' of spacy_spanner.freeze_encoder.v1."
    )
    SP102 = (
        "The callback {name!r} in [training.before_to_disk.callbacks] returned "
        "{kind!r} instead of the pipeline that is to be stored. Callbacks for "
        "before_to_disk take a pipeline and return it; others belong in before_update."
    )
    SP146 = (
        "'{component}' ran out of memory with {docs} documents of {tokens} tokens in "
        "total, in windows of up to {longest} tokens ({problem}). Lower one of these "
        "settings: 'max_cells' of the component, now {max_cells}; 'max_window' (a "
        "single window is never split further); the size of batches "
        "([training.batcher] in training, batch_size of nlp.pipe in prediction); "
        "'batch_pieces' of the encoder spacy_spanner.Transformer.v1, or set its "
        "gradient_checkpointing = true."
    )
    SP147 = (
        "The gradient norm of '{component}' is not finite ({norm}), although its loss "
        "is. The weights were not updated with this gradient. Lower the learning rates "
        "in [training.optimizer], or check whether the encoder returns invalid "
        "vectors. The best model so far is in model-best."
    )
    SP148 = (
        "The stored component {place} is damaged: its {part} {problem}. Copy the "
        "pipeline again from a place where it can be loaded, or use an earlier one."
    )
    SP149 = (
        "The stored weights of '{component}' are not finite, in {count} tensors, first "
        "in {first!r}. They were already invalid when the pipeline was stored. Use "
        "model-best of the training run, or train with a lower learning rate."
    )
    SP150 = (
        "The stored weights do not match the model in the config: {problem} Load them "
        "with the same [components] that they were stored with."
    )
    SP151 = (
        "The stored weights cannot be read: {problem}. They are damaged, or somebody "
        "has changed them. Copy the pipeline again from a place that you trust."
    )
    SP152 = (
        "The stored component has {what}, which spacy-spanner never stores: {why}. Do "
        "not use this pipeline, and tell the person you have it from."
    )
    SP160 = (
        "The tokenizer of {name!r} has no special tokens to mark the start and end of "
        "a text: it adds none to texts, and its special tokens are {special}. Set its "
        "bos_token and eos_token (or cls_token and sep_token), save the tokenizer, and "
        "use its folder as the name of the encoder."
    )
    SP170 = (
        "Member {member!r} of '{component}' is missing: nothing wrote the span group "
        "'{key}' before. 'members' takes names of components that run before "
        "'{component}', or of the groups that they write. There are: {existing}."
    )
    SP171 = (
        "Member {member!r} runs after '{component}', which therefore cannot read its "
        "spans. Move '{component}' to the end of [nlp] pipeline."
    )
    SP172 = (
        "'{component}' cannot join spans without scores: member {member!r} writes none "
        "to '{key}'. Use components that do, such as those of this package, or spancat."
    )
    SP173 = (
        "Setting '{name}' has {values} numbers for {members} members. Give one for "
        "each of 'members', in their order, or an empty list; `spanner tune` fits them."
    )
    SP174 = (
        "'{component}' and its member {member!r} write the same span group, '{key}'. "
        "Give the member a spans_key of its own; spacy_spanner.copy_spans.v1 copies "
        "the gold spans there for training."
    )


class ComponentWarnings:
    """Warnings in the setup, training and loading of components."""

    SW001 = (
        "'{component}' cannot learn {count} of {total} gold spans {where}: {reasons}. "
        "They count as errors in evaluation."
    )
    SW002 = (
        "'{component}': {count} of {total} examples have neither doc.spans['{key}'] "
        "nor entities in doc.ents. They are treated as not annotated and are not used "
        "for training. To mark a document without entities, add an empty span group."
    )
    SW003 = (
        "'{component}': gold spans with labels that the component does not have are "
        "ignored: {labels}. To learn them, call add_label of the component with each, "
        "and go on training."
    )
    SW004 = (
        "The encoder is configured to embed {attr}, but no document of the sample has "
        "it, so all tokens get the same embedding. Add the component that sets {attr} "
        "before the encoder, and list it in [training] annotating_components."
    )
    SW006 = (
        "The patterns of these parameter groups match no tensor: {groups}. A pattern "
        "is searched in names of the form component.part.layer.tensor, such as "
        "span_biaffine.head.span_biaffine.biaffine.weight."
    )
    SW007 = "{name} is deprecated and will be removed in the next release. {instead}"
    SW008 = (
        "'{component}': these settings of the config are not used, because the stored "
        "component has others in its cfg, which may have been tuned: {ignored}. To use "
        "those of the config, set them in nlp.get_pipe('{component}').cfg after "
        "loading. To keep the stored ones without this warning, store the pipeline "
        "again."
    )
    SW009 = (
        "'{component}' deletes the spans that earlier components ({earlier}) have "
        "written to doc.spans['{key}']. To keep them, set overwrite = false for "
        "'{component}', or give it a spans_key of its own."
    )
    SW010 = (
        "layer_decay = {value} changes no learning rate: no encoder in training has "
        "numbered layers, as transformers have. Leave it out, or train an encoder such "
        "as spacy_spanner.Transformer.v1."
    )
    SW014 = (
        "'{component}' found more than {limit} candidate spans in a window and kept "
        "the best {limit} (setting 'max_candidates'). Trained models rarely report so "
        "many: train longer, or raise the threshold, now {threshold}. To keep more, "
        "which takes more memory and time, raise max_candidates; null sets no limit."
    )
    SW040 = (
        "Some windows contain more entities than the {spans} spans that are denoised "
        "at a time, so no sampling step can find all of them. Increase 'spans' of the "
        "component, and 'train_spans' to learn faster from these texts."
    )
    SW060 = (
        "spaCy {version} stores span groups in a format that spacy-spanner does not "
        "know, so spaCy packs them itself. The files are correct, but it takes longer."
    )
    SW061 = (
        "'{component}': its threshold stays {threshold}, because the dev data have "
        "only {gold} gold spans in doc.spans['{key}'], and a threshold that is chosen "
        "on fewer than {least} is often worse than the default. Annotate more dev "
        "data, lower 'min_gold' of spacy_spanner.auto_threshold.v1, or set a number as "
        "threshold."
    )
    SW062 = (
        "'{component}' has threshold = \"auto\", but nothing chooses a threshold: "
        "[training.before_to_disk] has no spacy_spanner.auto_threshold.v1. The "
        "pipeline is stored with {threshold}. Add this callback "
        "(spacy_spanner.callbacks.v1 joins several), or set a number as threshold."
    )
    SW063 = (
        "Choosing thresholds on the dev data failed ({error}), so the pipeline is "
        "stored with those that it had: {thresholds}. Choose them afterwards with "
        "`spanner tune`."
    )
    SW085 = (
        "'{component}': the settings {first} and {second} contradict each other: "
        "{why}. Change one of them; training goes on as they are."
    )
    SW146 = (
        "The settings of the component {place} are not those that were stored with its "
        "weights. If you have edited them, store the pipeline again; otherwise the "
        "file is damaged."
    )
    SW170 = (
        "Member {member!r} of '{component}' has threshold = {threshold} and overlap = "
        "{overlap!r}. Spans that it leaves out count as score 0 in the average. Set "
        'its threshold to 0.05 or lower, and its overlap to "any".'
    )
