"""Messages about finding errors in annotation and choosing what to annotate."""


class ReviewErrors:
    """Errors in the review and the choice of documents."""

    SP180 = (
        "{docs} annotated documents cannot be divided into {folds} folds. Every fold "
        "needs a document: use fewer folds (--folds), or split the documents into "
        "sentences first (spanner convert --split-sentences)."
    )
    SP181 = (
        "The training of these folds failed: {names}. The cause is in {log}. Run the "
        "same command again to train only the folds that are missing."
    )
    SP182 = (
        "Cannot use {path} as reviewed annotation: {problem}. Use the export of the "
        "annotation tool with one version of each text. Nothing was written."
    )
    SP183 = (
        "Spans of {path} cannot be placed: {spans}. Correct them in the annotation "
        "tool; boundaries inside tokens can also be moved with --align contract or "
        "--align expand. Nothing was written."
    )
    SP184 = (
        "{unknown} of {reviewed} reviewed texts are not in the data: {texts}. Review "
        "the files that spanner find-errors wrote for this data, without changing "
        "texts. Nothing was written."
    )
    SP185 = (
        "The spans that {component!r} writes to '{key}' have no scores, or it has no "
        "threshold to lower. Use a pipeline whose component has both, such as those of "
        "this package, or spancat."
    )
    SP186 = (
        "Either --config (to train on folds of the data), --model (trained on other "
        "data) or --apply (a reviewed file) is needed, and only one of them; but there "
        "are {given}."
    )
    SP187 = (
        "There are no texts in {inputs}: every document is empty. For .txt files with "
        "one text per line, use --lines."
    )
    SP188 = (
        "There are no labels {unknown}. --weights takes labels of the pipeline: "
        "{labels}."
    )
    SP189 = (
        "Cannot read {part!r} as the weight of a label. Use --weights LABEL=NUMBER, "
        "with numbers of at least 0, separated by commas."
    )
    SP230 = (
        "{first} and {second} do not have the same texts: {problems}. Compare versions "
        "of the same texts, or use --common to leave out texts that a version lacks."
    )
    SP231 = (
        "Agreement needs at least two annotated versions of the same texts, but there "
        "is {found}. Name a file or folder for each version."
    )
    SP232 = (
        "No annotated text is in all of {names}, so there is nothing to compare. Texts "
        "must be the same to the character, and documents without annotation do not "
        "count."
    )


class ReviewWarnings:
    """Warnings in the review and the choice of documents."""

    SW180 = (
        "{docs} of {total} documents are not annotated under '{key}' and were left out."
    )
    SW181 = (
        "The predictions hardly agree with the annotation: the best F1, at any "
        "threshold, is {f}. The ranking is then little better than chance. "
        "{advice}"
    )
    SW182 = (
        "{number} scores in {file} are not between 0 and 1, such as {example}. They "
        "are kept, but --min-score, select and find-errors read scores as "
        "probabilities. Convert them before: divide percentages by 100, and apply "
        "the sigmoid to log-odds."
    )
    SW230 = "{lost} spans of {path} cannot be read, and count as missing: {examples}."
