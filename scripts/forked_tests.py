"""Run tests in forks of one session of pytest, where everything is imported already."""

import gc
import os
import resource
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

import pytest
from hypothesis import Phase, settings
from mutants import Mutant, mutate

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = ("-q", "-m", "not slow", "--hypothesis-profile=mutation", "-p", "no:randomly")
OPTIONS += ("-p", "no:cacheprovider")
MEMORY = 12 << 30
# A busy machine may need this many times the processor time.
PATIENCE = 30
PASSED, FAILED, BROKEN = 0, 1, 70


class Session:
    """A plugin of pytest that does other work than to run the tests that were found.

    work (Callable[[Session], None]): done with the tests found and nothing run.
    folder (Path): the folder for what tests print, and the name of a failed test.
    """

    def __init__(self, work: Callable[["Session"], None], folder: Path):
        self.work = work
        self.log, self.failed = folder / "log.txt", folder / "failed.txt"
        self.items: Dict[str, pytest.Item] = {}

    def start(self, tests: List[str]) -> int:
        """RETURNS (int): the exit code of pytest."""
        # It is enough that a test fails: to find its smallest case takes minutes.
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "mutation", derandomize=True, phases=phases, deadline=None
        )
        os.chdir(ROOT)
        return int(pytest.main([*OPTIONS, *tests], plugins=[self]))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the work in place of the tests."""
        self.items = {item.nodeid: item for item in session.items}
        self.work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End this process with the first failure."""
        if report.failed:
            self.failed.write_text(report.nodeid, encoding="utf8")
            os._exit(FAILED)

    def run(self, names: List[str]) -> None:
        """Run these tests."""
        items = [self.items[name] for name in names]
        for item, following in zip(items, [*items[1:], None]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def in_a_fork(self, work: Callable[[], None], seconds: int) -> int:
        """Do some work in a process of its own.

        seconds (int): the processor time that it may take.
        RETURNS (int): its exit code, negative if a signal stopped it.
        """
        self.failed.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._be_the_child(work, seconds)
        latest = time.monotonic() + PATIENCE * seconds
        done, status = 0, 0
        while not done:
            time.sleep(0.01)
            done, status = os.waitpid(child, os.WNOHANG)
            if time.monotonic() > latest:
                os.killpg(child, 9)
        return os.waitstatus_to_exitcode(status)

    def _be_the_child(self, work: Callable[[], None], seconds: int) -> None:
        code = BROKEN
        try:
            os.setsid()
            output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(output, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            work()
            code = PASSED
        finally:
            sys.stdout.flush()
            os._exit(code)


class Recorder:
    """Notes which lines of some files each test reaches.

    tests (Dict[str, Dict]): lines by file, and seconds, of each test.
    """

    def __init__(self, files: List[str]):
        self.names = {str(ROOT / file): file for file in files}
        self.lines: Dict[str, Set[int]] = defaultdict(set)
        self.tests: Dict[str, Dict] = {}

    def run(self, session: Session) -> None:
        """Run all tests, one by one."""
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        for name in session.items:
            self.lines.clear()
            start = time.process_time()
            session.run([name])
            seconds = round(time.process_time() - start, 3)
            lines = {file: sorted(lines) for file, lines in self.lines.items()}
            self.tests[name] = {"lines": lines, "seconds": seconds}
        sys.settrace(None)

    def trace(self, frame: Any, event: str, arg: Any) -> Optional[Callable]:
        """Note a line, and follow only the functions of these files."""
        file = self.names.get(frame.f_code.co_filename)
        if file is None:
            return None
        self.lines[file].add(frame.f_lineno)
        return self.trace


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """YIELDS (CodeType): the code of a module and of all its functions."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from codes_in(value)


def change_functions(mutant: Mutant) -> None:
    """Give the functions of this process the code of a mutant."""
    path = str(ROOT / mutant.file)
    source = Path(path).read_text(encoding="utf8")
    changed = compile(mutate(source, mutant.number)[0], path, "exec")
    codes = {(code.co_name, code.co_firstlineno): code for code in codes_in(changed)}
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename == path:
            old = function.__code__
            function.__code__ = codes[old.co_name, old.co_firstlineno]
