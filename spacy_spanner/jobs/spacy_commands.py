"""The parts of spaCy's commands that other commands need, too."""

from ..internals import internal

UTIL = "spacy.cli._util"

import_code = internal(UTIL, "import_code")
parse_config_overrides = internal(UTIL, "parse_config_overrides")
setup_gpu = internal(UTIL, "setup_gpu")
show_validation_error = internal(UTIL, "show_validation_error")
