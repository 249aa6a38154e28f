"""The page of the package: links of the README that work outside of the repository."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from package_page import BEGIN, END, FOLDERS, package_page  # noqa: E402

README = f"""# Robot

{BEGIN}
<img src="docs/movie.gif">
{END}

See [the docs](docs/index.md), [other](https://example.org/x) and [below](#below).
![Picture](docs/a.png)

    x[0](q)

`robot[1](q)` and

```python
f[0](y)
```
"""
RELATIVE = re.compile(r"\]\((?![a-z]+:|#)")


def test_without_an_address_links_are_their_text_and_own_parts_are_left_out():
    page = package_page(README, None, "1.2.3")
    assert "See the docs, [other](https://example.org/x) and [below](#below).\nPicture\n" in page
    assert "movie" not in page and "repository:" not in page
    assert page.endswith(FOLDERS)


def test_with_an_address_links_lead_to_the_tag_of_the_version():
    page = package_page(README, "https://forge.example/k", "1.2.3")
    assert "[the docs](https://forge.example/k/blob/v1.2.3/docs/index.md)" in page
    assert "![Picture](https://forge.example/k/raw/v1.2.3/docs/a.png)" in page
    assert 'src="https://forge.example/k/raw/v1.2.3/docs/movie.gif"' in page
    assert "[other](https://example.org/x) and [below](#below)" in page
    assert "repository:" not in page and FOLDERS not in page


def test_code_is_not_taken_for_links():
    for source in (None, "https://forge.example/k"):
        page = package_page(README, source, "1.2.3")
        for code in ("    x[0](q)\n", "`robot[1](q)`", "f[0](y)\n"):
            assert code in page


def test_the_readme_becomes_a_page_without_relative_links():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) and RELATIVE.search(text)
    for source in (None, "https://forge.example/k"):
        page = package_page(text, source, "1.2.3")
        assert not RELATIVE.search(page)
        assert not re.search(r'(?:src|srcset)="(?!https:)', page)
