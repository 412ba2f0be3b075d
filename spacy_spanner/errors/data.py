"""Messages about corpora and evaluation."""


class DataErrors:
    """Errors in reading and converting corpora, and in evaluation."""

    SP001 = "{source}, line {line}, column {column}: {problem}. Line: {text!r}"
    SP050 = (
        "{source}, line {line}: the text is not {encoding} ({problem}). Convert the "
        "file to UTF-8, or set its encoding with --encoding."
    )
    SP051 = (
        "{source}, line {line}: cannot detect whether the ends of entities are "
        "inclusive (the last token) or exclusive (the token after it). Set --ends "
        "inclusive or --ends exclusive."
    )
    SP052 = (
        "{source}: the ends of entities contradict each other: inclusive in line "
        "{line}, exclusive in line {other}. Correct the file, or set --ends inclusive "
        "or --ends exclusive; entities that do not fit are then listed as lost."
    )
    SP053 = (
        "{source}: cannot detect the format. Set it with --format to one of: {formats}."
    )
    SP054 = (
        "{lost} of {total} entities are lost, which is more than the tolerance "
        "{tolerance}. They are listed in {path}. Correct them, choose other options, "
        "or raise --tolerance."
    )
    SP055 = (
        "{source}: listed documents are missing: {names}. Correct the list, or add the "
        "documents to the folder."
    )
    SP056 = (
        "{source}, document {number}: the file cannot be read as documents stored by "
        "spaCy ({problem}). Write it with DocBin.to_disk."
    )
    SP057 = (
        "{source} needs the file {missing}, which does not exist. Put it into the same "
        "folder, or remove {source}."
    )
    SP058 = (
        "{source}: a folder of Hugging Face datasets needs the package datasets, which "
        "is not installed. Install it, or write the rows as JSON Lines with "
        "Dataset.to_json."
    )
    SP059 = (
        "The label {label!r} contains whitespace, which the format {format} does not "
        "allow. Rename the label."
    )
    SP060 = (
        "{source}, line {line}: the tags are numbers. List their names with "
        "--label-names, in the same order as in the features of the dataset."
    )
    SP061 = "No data found in {source}: {problem}. Check the path."
    SP062 = "The option --{name} must be {choices}, but is {value!r}."
    SP063 = (
        "{source}, document {number}: --characters cannot split a spaCy document into "
        "characters, because its annotation refers to its tokens. Convert the file to "
        ".jsonl first, and then the .jsonl file with --characters."
    )
    SP070 = (
        "{path} exists and is not empty. Choose another output, delete it, or replace "
        "it with --force."
    )
    SP071 = (
        "Cannot determine which span group to use: the pipeline has {pipeline}, and "
        "its components write these groups: {keys}. Select one with --spans-key."
    )
    SP072 = (
        "{path} {problem}. Use a .spacy file or a folder with such files, written by "
        "'spacy convert', 'spacy spanner convert' or DocBin.to_disk."
    )
    SP073 = (
        "{path} has no gold annotation: none of its documents has the span group "
        "doc.spans['{key}'] or entities in doc.ents. Existing span groups: {existing}. "
        "Select one with --spans-key."
    )
    SP074 = (
        "Figures are drawn with matplotlib, which is not installed. Install it with: "
        "{command}"
    )
    SP075 = (
        "The component '{component}' cannot be tuned: it has no threshold, or the "
        "spans that it writes to '{key}' have no scores. Tune a component of this "
        "package, or spancat."
    )
    SP076 = "Unknown model {model!r}. Choose one of: {existing}."
    SP077 = (
        "The config {path} has no span component of this package: its pipeline has "
        "{pipeline}. For other components, use 'spacy debug data'."
    )
    SP078 = (
        "Cannot read the {part} data of {path}: {error} Set --paths.{part} to a .spacy "
        "file or a folder with such files."
    )
    SP079 = (
        "Cannot determine which component to use (given: {name!r}). Components of this "
        "package in the pipeline: {present}. Select one with --component."
    )
    SP080 = (
        "The component '{component}' has no setting {setting!r}. Choose one of its "
        "settings: {settings}."
    )
    SP081 = (
        "{text!r} is not a setting with values. Write the values after an equals sign, "
        "for example: steps=1,5,10."
    )
    SP082 = (
        "Cannot compare the two pipelines, because their gold spans differ. The first "
        "uses the spans key '{first}', the second '{second}'. Set one for both with "
        "--spans-key."
    )
    SP083 = (
        "'{component}' has nothing to be evaluated on: none of the {docs} documents of "
        "the dev corpus has an entity in the span group doc.spans['{key}'] or in "
        "doc.ents. Existing span groups: {existing}. Set --paths.dev to annotated "
        "documents, or 'spans_key' of the component to the group with your entities."
    )
    SP084 = (
        "The tokenizer of the language {lang!r} cannot be loaded: {problem} Install "
        "what it needs, and run the command again."
    )
    SP085 = (
        "The paper of '{model}' has no recipe for the dataset {dataset!r}. It has "
        "recipes for: {existing}. Choose one of these, or the recipe 'tuned' for any "
        "data."
    )
    SP086 = (
        "{path} has no entity to tune on: its {docs} documents are annotated, but "
        "without spans in '{key}'. Tune on documents with entities."
    )
    SP087 = (
        "{source}: no document has the span group {key!r}. Existing span groups: "
        "{existing}. Choose one of these with --from-key, or leave it out to read "
        "entities in doc.ents."
    )
    SP088 = (
        "The config {config} has no pretrained encoder that {name!r} could replace; "
        "its encoders are: {existing}. Choose a config with a pretrained encoder, such "
        "as --vars.encoder minilm, or leave out --vars.encoder_name."
    )
    SP089 = (
        "{config} needs {what}, which a pipeline in paths.{name} provides, but "
        "{value!r} {problem}. Set --vars.{name} to a pipeline that has them: a folder, "
        "or the name of an installed package."
    )
    SP090 = (
        "{dataset} cannot be trained on {parts!r}. Choose --vars.train_parts train, or "
        "train+dev for both joined. Without it, the recipe decides."
    )
    SP091 = (
        "{dataset} cannot be trained on {parts}: there is no {path}. Convert the "
        "corpus with 'python -m spacy project run corpus', or choose other parts with "
        "--vars.train_parts."
    )
    SP093 = (
        "The model of '{component}' has no classes besides its labels, so there is "
        "nothing to count. Use 'analyze classes' for a span_offset component."
    )
    SP141 = (
        "The component '{component}' has no setting boundary_smoothing, which is "
        "varied by default. Choose another setting and its values, such as --vary "
        "components.{component}.threshold=0.3,0.5. Its settings are: {settings}."
    )
    SP142 = (
        "Cannot choose the format of {target}, because its suffix {suffix!r} is "
        "unknown. Use {suffixes}, a folder (a name without suffix, or with a slash at "
        "the end), or set the format with --to."
    )
    SP143 = (
        "Cannot write {path}: {problem}. Choose another output, or correct the cause: "
        "the path, its permissions or the free space."
    )
    SP144 = (
        "The output {output} and the input {source} contain one another: the input "
        "would be deleted, or the output read as a part of it. Choose another output, "
        "or delete what an earlier run has left there."
    )
    SP145 = "Cannot read {path}: {problem}. Check the path and its permissions."
    SP161 = (
        "'{component}' cannot be tuned: it predicted no span in '{key}' with a score "
        "of at least {floor} in {docs} documents. Train it longer, or check the data "
        "with 'spacy spanner debug-data'."
    )


class DataWarnings:
    """Warnings in evaluation."""

    SW070 = (
        "The thresholds were chosen on {dev}, so the scores there are higher than on "
        "unseen documents. Measure them on other documents with --test."
    )
    SW071 = (
        "[training] max_steps = {steps} is not a multiple of eval_frequency = "
        "{frequency}: the last evaluation is at step {last}, and what is learned after "
        "it cannot be in model-best. Change one of them, for example: "
        "--training.max_steps {better} --training.eval_frequency {suggestion}"
    )
    SW072 = (
        "'{component}': {count} of {total} gold spans {relation} another, but overlap "
        '= "{overlap}" keeps only one of two such spans. The others count as errors '
        "in evaluation. To predict all of them, set overlap = {better}."
    )
    SW073 = (
        "The encoder {encoder} was pretrained on English, but the language is {lang}: "
        "expect low scores. Use --encoder cnn, which needs no pretrained weights, or "
        "an encoder that was pretrained on your language, such as --encoder {better}"
    )
    SW080 = (
        "The paper of '{model}' has no recipe for the dataset {dataset!r}, so the "
        "model is left out. It has recipes for: {existing}."
    )
    SW151 = (
        "There are no figures, because matplotlib is not installed. Install it with: "
        "{command}"
    )
