"""The pages of the docs site: complete and in order. The gate builds the site."""

import re
from typing import Any

import chatrest
from chatrest._resources import COLLECTIONS
from tests.support.docs_site import GUIDE, navigation, pages, reference


def paths(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [path for each in (nav.values() if isinstance(nav, dict) else nav) for path in paths(each)]


def test_every_public_name_is_in_the_reference_once() -> None:
    names = [name for page in reference().values() for name in page]
    assert len(names) == len(set(names))
    assert {f"chatrest.{name}" for name in chatrest._HOME} <= set(names)
    kinds = {name.rpartition(".")[2].lower() for name in names}
    assert {name.replace("_", "") for name in COLLECTIONS} <= kinds
    modules = ("database", "emulator", "export", "importing", "otel", "pytest_plugin", "site", "webhooks")
    assert {f"chatrest.{name}" for name in modules} <= reference().keys()


def test_every_page_of_the_guide_is_in_the_order_once() -> None:
    listed = paths(navigation())
    assert len(listed) == len(set(listed))
    texts = {path for path in pages() if path.endswith(".md")}
    assert set(listed) == texts
    assert {path.relative_to(GUIDE).as_posix() for path in GUIDE.rglob("*.md")} - texts == {"README.md"}


def test_no_link_of_the_readme_leads_out_of_the_site() -> None:
    text = pages()["index.md"]
    assert isinstance(text, str)
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^):]+)\)", text)}
    assert links <= {*pages(), ""}
