"""Messages of the workflow for datasets with missing files."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_missing_files_are_named_once(tmp_path: Path) -> None:
    place = ROOT / "scripts" / "datasets.py"
    spec = importlib.util.spec_from_file_location("workflow_datasets", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.DATASETS["ace05"]._replace(folder=tmp_path).missing()
    lists = [f"splits/{split}.txt" for split in ("train", "dev", "test")]
    assert found == ["data", *lists]
