"""A headless browser for tests of pages."""

from pathlib import Path
from typing import Any, List

PHONE = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
DESKTOP = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}


class Browser:
    """Questions that tests ask a page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, screen: dict, *, dark: bool = False) -> None:
        """Load a page on a screen of that size."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        command = self.driver.execute_cdp_cmd
        command("Emulation.setDeviceMetricsOverride", screen)
        command("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get(page.as_uri())

    def run(self, script: str) -> Any:
        """RETURNS (Any): what a script returns."""
        return self.driver.execute_script(f"return {script}")

    def complaints(self) -> List[dict]:
        """RETURNS (List[dict]): what the console shows."""
        return self.driver.get_log("browser")
