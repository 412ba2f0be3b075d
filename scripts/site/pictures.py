"""Pictures in the colours of the page."""

import re

from links import DOCS

PICTURE = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)*images/([\w-]+))\.svg\)")
THEMES = {"only-light": "", "only-dark": "-dark"}


def both_themes(text: str) -> str:
    """RETURNS (str): Markdown in which a picture that also exists in dark is named
    twice; the style sheet of the theme shows one of them.
    """

    def twice(match: re.Match) -> str:
        alt, path, name = match.groups()
        if not (DOCS / "images" / f"{name}-dark.svg").is_file():
            return match[0]
        return "".join(
            f"![{alt}]({path}{ending}.svg#{theme})" for theme, ending in THEMES.items()
        )

    return PICTURE.sub(twice, text)
