"""Messages of the server, most of which its clients get."""


class ServingErrors:
    """Errors of requests, and of starting the server."""

    SP210 = "The body of the request is not JSON: {problem}."
    SP211 = (
        "The content type of the request is {found}. Send the body as application/json."
    )
    SP212 = (
        "The body of the request has more than {limit} bytes. Send fewer or shorter "
        "texts at once, or start the server with a larger --max-bytes."
    )
    SP213 = (
        "The request has {found} texts, but at most {limit} are allowed. Send "
        "fewer at once, or start the server with a larger --max-texts."
    )
    SP214 = (
        "The server is busy with {requests} requests, or is stopping. Try again "
        "after some seconds."
    )
    SP215 = (
        "There was no result within {seconds} seconds. Send fewer or shorter texts, "
        "or start the server with a larger --timeout."
    )
    SP216 = "The pipeline failed for this text: {problem}."
    SP217 = "In the request, {field} must be {expected}, but is {value}."
    SP218 = (
        "The threshold cannot be changed, because the component that writes {key!r} "
        "has none. Leave out 'threshold'."
    )
    SP219 = "There is no {method} {path} here. Try one of: {paths}."
    SP220 = (
        "The labeling interface cannot be used: {problem}. It needs a Labels tag for a "
        "Text tag whose value is a field of the task, such as $text."
    )
    SP221 = (
        "--train-after needs --label-studio, --output and one worker, because only the "
        "process that trains gets the new pipeline; but there is {problem}."
    )
    SP222 = "The server failed: {problem}. Its log says more."
    SP223 = (
        "The server cannot listen on {host}, port {port}: {problem}. Choose another "
        "--port or --host, or stop the process that uses it."
    )


class ServingWarnings:
    """Warnings of the server."""

    SW210 = (
        "The labeling interface lacks the labels {labels}, so their spans are not "
        "sent to it. Add them to the interface to see them."
    )
    SW211 = (
        "{lost} of {total} submitted spans teach nothing, because they do not fit the "
        "tokens of the pipeline: {examples}."
    )
    SW212 = "The training on submitted tasks failed: {problem}. All tasks are kept."
