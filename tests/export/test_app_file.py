"""The file of apps: what is read of it, and what a wrong one is told."""

from pathlib import Path

import pytest

from chatrest import RequestInvalidError
from chatrest.export import Plan
from chatrest.export.app_file import read_apps

KEY = "k3y-0f-th3-sh0p"
ENV = {"SHOP_KEY": KEY, "GAME_KEY": "k3y-0f-th3-g4me", "CHATREST_SERVICE_DOMAIN": "chat.example.com"}
TWO = """
# all of our apps
[[app]]
id = "shop"
region = "eu"
key_env = "SHOP_KEY"

[app.plan]
users = ["alice"]
pairs = [["alice", "bob"]]
since = 2026-01-01
format = "parquet"

[[app]]
id = "game"
key_env = "GAME_KEY"
base_url = "https://game.example.com/v3"
"""


def written(folder: Path, text: str) -> Path:
    """Return a file with a text."""
    path = folder / "apps.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_app_has_an_address_a_key_of_the_environment_and_a_plan(tmp_path: Path) -> None:
    shop, game = read_apps(written(tmp_path, TWO), ENV)
    assert shop.app.chat_url == "https://shop.api-eu.chat.example.com/v3"
    assert shop.app.api_key == KEY
    assert shop.plan == Plan(users=["alice"], pairs=[("alice", "bob")], since="2026-01-01", format="parquet")
    assert game.app.chat_url == "https://game.example.com/v3"
    assert (game.app.region, game.plan, game.key_env) == ("us", None, "GAME_KEY")
    assert KEY not in repr(shop)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"eu"', '"mars"', "apps.toml, line 3, app 1: region = 'mars': allowed are us, eu, in"),
        ('id = "game"', 'id = "../x"', "line 14, app 2: app_id: allowed is one DNS label"),
        ('id = "game"', 'id = "SHOP"', "line 14, app 2: id = 'SHOP' is also that of .*line 3, app 1"),
        ('id = "game"', "id = 7", "line 14, app 2: id = .*: allowed is a text"),
        ('id = "game"\n', "", "line 14, app 2: id is missing"),
        ('"SHOP_KEY"', f'"{KEY}"', "line 3, app 1: key_env: allowed is the name of an environment variable"),
        ("key_env =", "api_key =", "line 3, app 1: api_key is not known: .*a key is never in the file"),
        ("since = 2026-01-01", "since = 'soon'", "line 3, app 1: since = 'soon'"),
        ("format =", "formats =", "line 3, app 1: plan.formats is not known: allowed are users, pairs"),
        ("format =", "query =", "line 3, app 1: plan.query is not known"),
        ('users = ["alice"]', "users = 7", "line 3, app 1: users = 7"),
        ("[[app]]", "[[apps]]", "apps.toml: apps is not known"),
        ("[[app]]\nid", "[[app]\nid", r"apps.toml: .*\(at line 3, column 6\): allowed is TOML"),
        ('base_url = "https', 'base_url = "http', "line 14, app 2: base_url: allowed is https"),
    ],
)
def test_a_wrong_file_is_told_where_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in TWO
    with pytest.raises(RequestInvalidError, match=expected) as caught:
        read_apps(written(tmp_path, TWO.replace(old, new)), ENV)
    assert KEY not in str(caught.value)


def test_all_missing_variables_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match=r"the environment lacks SHOP_KEY, GAME_KEY$"):
        read_apps(written(tmp_path, TWO), {})
    with pytest.raises(RequestInvalidError, match="line 3, app 1: app shop: no address"):
        read_apps(written(tmp_path, TWO), ENV | {"CHATREST_SERVICE_DOMAIN": ""})


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"", "has no app"), (b"app = 7", "has no app"), (b"\xff", "byte 0 is not UTF-8")],
)
def test_a_file_without_apps(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "apps.toml"
    path.write_bytes(content)
    with pytest.raises(RequestInvalidError, match=expected):
        read_apps(path, ENV)
