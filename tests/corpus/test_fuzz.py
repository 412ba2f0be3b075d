"""Any bytes in: documents, or a coded error with the line; never a traceback."""

from pathlib import Path
from typing import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_spanner.corpus.formats.catalogue import FORMATS, detect_format

from ..generated import cases
from .damage import FILES, KEPT, damaged, kept_cases, read_any
from .util import write_file


@pytest.mark.parametrize("format", FORMATS)
@settings(
    max_examples=cases(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_bytes_give_documents_or_a_coded_error(
    tmp_path: Path, format: str, data: st.DataObject
) -> None:
    read_any(tmp_path, format, data.draw(damaged(format)))


@pytest.mark.parametrize("format", FORMATS)
def test_kept_cases_give_what_they_gave(
    tmp_path: Path, format: str, tried: Callable[[str], None]
) -> None:
    found = [case for case in kept_cases() if case.format == format]
    assert found
    for n, case in enumerate(found):
        tried("kept cases")
        assert read_any(tmp_path / str(n), format, case.data) == case.gives, case


def test_kept_cases_are_told_apart_by_what_they_give() -> None:
    lines = KEPT.read_text(encoding="utf8").splitlines()
    assert lines == sorted({case.line() for case in kept_cases()})


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_have_a_format_or_a_coded_error(
    tmp_path: Path, data: st.DataObject
) -> None:
    format = data.draw(st.sampled_from(sorted(FILES)))
    path = write_file(tmp_path, "data", data.draw(damaged(format)))
    try:
        assert detect_format(path) in FORMATS
    except ValueError as error:
        assert str(error).startswith(("[SP050]", "[SP053]", "[SP061]"))
