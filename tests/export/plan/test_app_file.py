"""The file of apps: how it is read, and the errors of wrong ones."""

from pathlib import Path

import pytest

from chatrest import RequestInvalidError
from chatrest.export import Plan
from chatrest.export.plan.app_file import read_app, read_apps
from tests.support.cases import loop_over

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


@loop_over(
    ("old", "new", "expected"),
    [
        ('"eu"', '"mars"', "apps.toml, app 1: region = 'mars': expected us, eu or in"),
        ('id = "game"', 'id = "../x"', "app 2: app_id = '../x': expected one DNS label"),
        ('id = "game"', 'id = "SHOP"', "app 2: id = 'SHOP' is also that of .*app 1"),
        ('id = "game"', "id = 7", r"apps.toml: Expected `str`, got `int` - at `\$.app\[1\].id`"),
        ('id = "game"\n', "", r"missing required field `id` - at `\$.app\[1\]`"),
        ('"SHOP_KEY"', f'"{KEY}"', r"matching regex .* - at `\$.app\[0\].key_env`"),
        ("key_env =", "api_key =", "unknown field `api_key` .*expected tables .* key_env"),
        ("since = 2026-01-01", "since = 'soon'", "app 1: since = 'soon'"),
        ("format =", "formats =", "app 1: plan.formats is not known: expected users, pairs"),
        ("format =", "query =", "app 1: plan.query is not known"),
        ('users = ["alice"]', "users = 7", "app 1: users = 7"),
        ("[[app]]", "[[apps]]", "unknown field `apps`"),
        ("[[app]]\nid", "[[app]\nid", r"apps.toml: .*\(at line 3, column 6\): expected TOML"),
        ('base_url = "https', 'base_url = "http', "app 2: base_url = 'http:.*': expected https"),
        ('id = "', 'name = "x"\nid = "', "app 2: name = 'x' is also that of .*app 1"),
        ('key_env = "SHOP_KEY"', "", "missing required field `key_env`.*expected tables .* with id and"),
        ('id = "shop"', f'id = "shop"\nkey = "{KEY}"', "unknown field `key`"),
        ('id = "shop"', 'id = "shop"\nname = ""', "length >= 1 .*name"),
        ('"SHOP_KEY"', "5", "Expected `str.*key"),
    ],
)
def test_the_error_of_a_wrong_file_names_the_place_and_the_expected_values(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in TWO
    with pytest.raises(RequestInvalidError, match=expected) as caught:
        read_apps(written(tmp_path, TWO.replace(old, new)), ENV)
    assert KEY not in str(caught.value)


def test_all_missing_variables_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match=r"the environment lacks SHOP_KEY, GAME_KEY$"):
        read_apps(written(tmp_path, TWO), {})
    with pytest.raises(RequestInvalidError, match="app 1: app shop: no address"):
        read_apps(written(tmp_path, TWO), ENV | {"CHATREST_SERVICE_DOMAIN": ""})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "missing required field `app`"),
        (b"app = 7", "Expected `array`"),
        (b"\xff", "byte 0 is not UTF-8"),
    ],
)
def test_a_file_without_apps(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "apps.toml"
    path.write_bytes(content)
    with pytest.raises(RequestInvalidError, match=expected):
        read_apps(path, ENV)


SHOP = '[[app]]\nname = "Shop"\nid = "2087shop"\nservice_domain = "chat.example.com"\n'


def test_one_app_is_found_by_its_name_or_id_and_no_other_key_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, f"{TWO}\n{SHOP}key_env = 'NOT_THERE'\n")
    assert read_app(path, "game", {"GAME_KEY": "g"}).app.api_key == "g"
    with pytest.raises(RequestInvalidError, match=r"app 3: the environment lacks NOT_THERE"):
        read_app(path, "2087shop", {})
    with pytest.raises(RequestInvalidError, match="app 2: the environment lacks GAME_KEY"):
        read_app(path, "game", {})
    with pytest.raises(RequestInvalidError, match=r"no app is called 'gam': expected one such as game$"):
        read_app(path, "gam", ENV)
