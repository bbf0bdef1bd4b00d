"""A site in a real browser, from `file://` and without a network: read, searched, printed and attacked."""

import asyncio
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from chatrest.site import Viewer, write_document, write_site
from chatrest.site.pages import TEMPLATES
from chatrest.site.search import ACCENTS, DENSE, LETTERS, folded, has_middle, terms

from .chats import LONG, NAMES, SEARCHES, grep, make_export, message, page_of, searched_records

pytest.importorskip("jinja2")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
PATIENCE = 30
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        BROWSER is None or DRIVER is None, reason="needs Chromium and its chromedriver on the PATH"
    ),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for all tests, with its network cut off."""
    webdriver = pytest.importorskip("selenium.webdriver")  # takes long to load
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run",
                     "disable-background-networking", "lang=en-US", "window-size=1200,900"):  # fmt: skip
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0,
        })  # fmt: skip
        driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """The browser; a test fails where anything was written to its console."""
    chromium.get_log("browser")
    yield chromium
    assert chromium.get_log("browser") == []


def open_page(browser: Any, site: Path, name: str = "index.html") -> None:
    browser.get((site / name).as_uri())


def all_of(browser: Any, css: str) -> list[Any]:
    return list(browser.find_elements("css selector", css))


def click(browser: Any, words: str) -> None:
    before = browser.current_url
    browser.find_element("link text", words).click()
    until(browser, lambda: browser.current_url != before)


def until(browser: Any, is_so: Callable[[], Any]) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    wait = WebDriverWait(browser, PATIENCE, poll_frequency=0.02)
    wait.until(lambda _: is_so())


def search(browser: Any, words: str, **filters: str) -> set[str]:
    """Search, and return the ids of the messages that the results lead to."""
    browser.execute_script(
        "const form = document.getElementById('search'); form.reset();"
        "for (const [name, value] of Object.entries(arguments[0]))"
        " for (const field of form.querySelectorAll(`[name=${name}]`))"
        "  if (field.type === 'checkbox') field.checked = value.split(' ').includes(field.value);"
        "  else field.value = value;"
        "document.getElementById('count').textContent = ''; form.requestSubmit();",
        {"q": words} | filters,
    )
    end = re.compile(r"[\d,]+ found(, times in .*|: .*)")
    until(browser, lambda: end.fullmatch(browser.find_element("id", "count").text))
    links = [link.get_attribute("href") for link in all_of(browser, "#results a")]
    assert len(links) == len(set(links))
    return {link.rpartition("#m")[2] for link in links}


def open_long(browser: Any, site: Path) -> None:
    """Open the end of the conversation between ann and bob, then its first page."""
    open_page(browser, site)
    browser.find_element("css selector", "[data-conversation=ann_user_bob]").click()
    until(browser, lambda: all_of(browser, f"[data-id='{LONG}']"))
    below = "return arguments[0].getBoundingClientRect().bottom <= innerHeight"
    until(browser, lambda: browser.execute_script(below, all_of(browser, f"[data-id='{LONG}']")[0]))
    all_of(browser, ".steps a[href='1.html']")[-1].click()
    until(browser, lambda: all_of(browser, "[data-id='1']"))


def test_the_end_of_a_long_conversation_is_opened_from_the_index(browser: Any, site: Path) -> None:
    open_long(browser, site)
    click(browser, "Later")
    click(browser, "Earlier")
    assert all_of(browser, "[data-id='1']")
    click(browser, "Days")
    click(browser, "Last")
    until(browser, lambda: all_of(browser, f"[data-id='{LONG}']"))


def test_the_column_is_filtered_and_leads_to_other_conversations(browser: Any, site: Path) -> None:
    open_long(browser, site)
    until(browser, lambda: len(all_of(browser, "#column li")) == 2)
    assert len(all_of(browser, "#column [aria-current]")) == 1
    all_of(browser, "#column input")[0].send_keys("MORE")
    until(browser, lambda: len(all_of(browser, "#column li")) == 1)
    all_of(browser, "#column li a")[0].click()
    until(browser, lambda: "The den & more" in browser.title)


def test_conversations_are_sorted_and_the_column_has_a_title(
    browser: Any, tmp_path: Path, sized: Callable[..., None]
) -> None:
    sort = "const sort = document.querySelector('select'); sort.value = arguments[0]; sort.onchange()"
    names = [f"u{number:03}" for number in range(310)]
    made = [message(n, "hello", name) for n, name in enumerate([*names, "u007"], 1)]
    made.append(message(400, "hello", receiver="den"))
    write_site(make_export(tmp_path / "out", made), tmp_path / "site")
    sized(1440, 900)
    open_page(browser, tmp_path / "site")
    browser.execute_script(sort, "Largest")
    until(browser, lambda: len(all_of(browser, "#talks li > a")) == 301)
    assert [each.text for each in all_of(browser, "#talks h2")] == ["One to one", "Groups"]
    assert [each.text for each in all_of(browser, "#talks .badge")[:2]] == ["2", "1"]
    browser.execute_script(sort, "Name")
    all_of(browser, "#talks li > button")[0].click()
    until(browser, lambda: len(all_of(browser, "#talks li > a")) == 311)
    titles = browser.execute_script(
        "return [...document.querySelectorAll('#talks section:first-child b')].map(each => each.textContent)"
    )
    assert titles == sorted(titles)
    all_of(browser, "#talks li > a")[0].click()
    until(browser, lambda: len(all_of(browser, "#column li > a")) == 301)
    assert all_of(browser, "#column small")[0].text == "the newest 300 of 311"
    assert "u000" in all_of(browser, "#column [aria-current]")[0].text, "the open one, too"


STOPS = """return [...document.querySelectorAll("a, button, input, select, summary, video, audio")]
    .filter((each) => each.tabIndex >= 0 && each.checkVisibility()).length"""


def test_a_page_has_few_tab_stops_and_arrows_go_through_its_messages(browser: Any, site: Path) -> None:
    for name in one_of_each(site):
        open_page(browser, site, name)
        until(browser, lambda: browser.execute_script(STOPS) <= 60)
    open_long(browser, site)
    browser.execute_script("document.querySelector('article a').focus()")
    for _ in range(2):
        browser.switch_to.active_element.send_keys("\ue015")
    focused = "return document.activeElement.closest('article').dataset.id"
    assert browser.execute_script(focused) == "3"
    assert browser.execute_script(STOPS) <= 60


@pytest.fixture
def sized(browser: Any) -> Iterator[Callable[[int, int], None]]:
    """The function that sets the size of the screen."""

    def resize(width: int, height: int) -> None:
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    yield resize
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_day_is_jumped_to(browser: Any, site: Path) -> None:
    open_long(browser, site)
    click(browser, "Days")
    click(browser, "Sat 3")
    near = "return Math.abs(document.getElementById(arguments[0]).getBoundingClientRect().top) < 200"
    assert browser.execute_script(near, "d2026-01-03")
    until(browser, lambda: all_of(browser, ".jump:not([hidden])"))
    before, [field] = browser.current_url, all_of(browser, ".jump input")
    field.send_keys("01042026")
    assert browser.current_url == before, "somebody may still change the day"
    field.send_keys("\ue007")
    until(browser, lambda: "d2026-01-04" in browser.current_url)
    until(browser, lambda: browser.execute_script(near, "d2026-01-04"))
    assert [each.text for each in all_of(browser, ".bar [aria-current]")] == ["Page 2 of 3"]


def test_days_and_times_are_in_one_zone_wherever_they_are_read(
    browser: Any, out: Path, tmp_path: Path, made: list[dict[str, Any]]
) -> None:
    write_site(out, tmp_path / "site", timezone="Asia/Kolkata")  # another one than the browser's
    open_page(browser, tmp_path / "site")
    browser.find_element("css selector", "[data-conversation=ann_user_bob]").click()
    until(browser, lambda: all_of(browser, f"[data-id='{LONG}']"))
    for shown in all_of(browser, "article time"):
        full = shown.get_attribute("title")
        day = shown.find_element("xpath", "ancestor::section/h2").text
        assert (day[:10], shown.text, full[-6:]) == (full[:10], full[11:16], "+05:30")
    assert {len(each.text) for each in all_of(browser, ".day h2")} == {len("2026-01-05 Mon")}
    assert "times in Asia/Kolkata" in all_of(browser, ".about .meta")[0].text
    shown = browser.find_element("css selector", f"[data-id='{LONG}'] time")
    assert shown.get_attribute("title") == "2026-01-05 09:30:00 +05:30"
    on_the_second = {each["id"] for each in made[:LONG] if 144 <= int(each["id"]) + 33 < 2 * 144}
    assert search(browser, "no", since="2026-01-02", until="2026-01-02") == on_the_second
    assert all_of(browser, "#results time")[0].text[:10] == "2026-01-02"


def test_a_search_is_part_of_the_address(browser: Any, site: Path, made: list[dict[str, Any]]) -> None:
    open_page(browser, site)
    ids = search(browser, "parcel", person="bob")
    assert ids
    assert browser.current_url.endswith("#q=parcel&person=bob")
    all_of(browser, "#results a")[0].click()
    until(browser, lambda: all_of(browser, ":target"))
    browser.back()
    until(browser, lambda: len(all_of(browser, "#results a")) == len(ids))
    assert browser.find_element("css selector", "input[type=search]").get_attribute("value") == "parcel"
    browser.refresh()
    until(browser, lambda: len(all_of(browser, "#results a")) == len(ids))
    browser.back()
    until(browser, lambda: not browser.find_element("id", "found").is_displayed())


WORDS = (
    "draft", "DRAFT?", "dra", "schöne Grüße", "встреча", "καλημέρα", "görüş", "सुबह", "سأرسل", "בוקר",
    "你了", "会", "確認して", "반갑습", "ตอนเช้า", "ค", "👍", "🎉🎉", "no12", "no1", "12:30", "c:\\temp",
    "nowhere", "riddle",
)  # fmt: skip


def test_a_search_finds_what_grep_finds(browser: Any, site: Path, made: list[dict[str, Any]]) -> None:
    open_page(browser, site)
    for words in WORDS:
        assert search(browser, words) == grep(made, words), words


def test_a_search_is_narrowed_by_person_conversation_and_time(
    browser: Any, site: Path, made: list[dict[str, Any]]
) -> None:
    open_page(browser, site)
    everything = grep(made, "draft")
    by_bob = {each["id"] for each in made if each["sender"] == "bob"}
    assert search(browser, "draft", person="bob") == everything & by_bob
    assert search(browser, "reply", conversation="more") == grep(made, "reply")
    assert search(browser, "reply", conversation="bob ann") == set()
    on_the_second = {each["id"] for each in made[:LONG] if 144 <= int(each["id"]) < 2 * 144}
    assert search(browser, "no", since="2026-01-02", until="2026-01-02") == on_the_second
    assert search(browser, '"the deleted"') == search(browser, "the deleted")
    assert search(browser, "deleted the") == grep(made, "the deleted")
    assert search(browser, '"deleted the"') == set()


def test_a_typed_text_is_searched_on_every_page(browser: Any, site: Path, made: list[dict[str, Any]]) -> None:
    open_page(browser, site)
    click(browser, "People")
    browser.find_element("css selector", "input[type=search]").send_keys("parcel")
    until(browser, lambda: len(all_of(browser, "#results a")) == len(grep(made, "parcel")))


def one_of_each(site: Path) -> list[str]:
    """Return a page of each kind; those with hostile texts come last, and are the ones that count."""
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    den = next(name for name in names if "threads" in name).rpartition("/")[0]
    names.sort(key=lambda name: name.startswith(den))
    return list({re.sub(r"\d+|\w{16}", "", name): name for name in names}.values())


def test_texts_that_attack_do_nothing(browser: Any, site: Path) -> None:
    for name in one_of_each(site):
        open_page(browser, site, name)
        assert "owned" not in browser.title
    open_page(browser, site)
    search(browser, "script")
    assert "owned" not in browser.title
    assert all_of(browser, "#results img, #results script") == []


def test_a_page_with_an_attack_does_not_run_it(chromium: Any, site: Path, tmp_path: Path) -> None:
    """The policy holds even where the templates would not."""
    shutil.copytree(site, tmp_path / "site")
    page = tmp_path / "site" / "people.html"
    text = page.read_text().replace(
        "<h1>", "<script>document.title = 'owned'</script><img src=x onerror=\"alert(1)\"><h1>"
    )
    page.write_text(text)
    open_page(chromium, tmp_path / "site", "people.html")
    assert "owned" not in chromium.title
    assert len(chromium.get_log("browser")) >= 2  # the violations of the policy


def test_right_to_left_names_do_not_turn_a_line(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NAMES, "noa", "\u05e0\u05d5\u05e2\u05d4")
    write_site(make_export(tmp_path / "out", [message(1, "Thanks!", "noa")]), tmp_path / "site")
    open_page(browser, tmp_path / "site")
    lefts = (
        "return [...document.querySelectorAll('.excerpt bdi')].map(each => each.getBoundingClientRect().left)"
    )
    who, text = browser.execute_script(lefts)
    assert who < text


def test_each_name_of_a_title_has_its_direction(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NAMES, "noa", "\u05e0\u05d5\u05e2\u05d4 Levi")
    monkeypatch.setitem(NAMES, "zed", "Zed 3")
    write_site(make_export(tmp_path / "out", [message(1, "Thanks!", "noa", "zed")]), tmp_path / "site")
    lefts = (
        "const node = document.querySelector(arguments[0]).firstChild, text = node.textContent;"
        "return ['Levi', '&', 'Zed', '3'].map(each => { const range = document.createRange();"
        " range.setStart(node, text.indexOf(each)); range.setEnd(node, text.indexOf(each) + 1);"
        " return range.getBoundingClientRect().left; })"
    )
    for name, element in (("index.html", ".list b"), (page_of(tmp_path / "site", "Thanks!"), ".bar h1")):
        open_page(browser, tmp_path / "site", name)
        levi, sign, zed, number = browser.execute_script(lefts, element)
        assert (levi < sign < zed < number) or (zed < number < sign < levi), name
    assert search(browser, "thanks", conversation="levi zed") == {"1"}


def test_long_names_fit_a_document(
    browser: Any, tmp_path: Path, sized: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NAMES, "long", "W" * 300)
    made = [message(1, "one", "long"), message(2, "two", receiver="den")]
    write_document(make_export(tmp_path / "out", made), tmp_path / "all.html")
    sized(390, 844)
    open_page(browser, tmp_path, "all.html")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert {each.is_displayed() for each in all_of(browser, "td")} == {True}


def test_a_page_has_landmarks_labels_and_fits_a_phone(
    browser: Any, site: Path, sized: Callable[..., None]
) -> None:
    sized(360, 740)
    for name in one_of_each(site):
        open_page(browser, site, name)
        wide, landmarks, unnamed, same = browser.execute_script(
            "const names = [...document.querySelectorAll('nav')].map(each => each.ariaLabel);"
            "return [document.documentElement.scrollWidth,"
            " ['main', 'nav', 'search', 'header'].filter(each => !document.querySelector(each)),"
            " [...document.querySelectorAll('input')].filter(each => !each.labels.length).length,"
            " names.length - new Set(names).size]"
        )
        assert (wide <= 360, landmarks, unnamed, same) == (True, [], 0, 0), name


def test_a_conversation_is_printed_without_the_frame(browser: Any, site: Path) -> None:
    open_long(browser, site)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not browser.find_element("css selector", ".top").is_displayed()
        assert not browser.find_element("css selector", ".steps").is_displayed()
        assert browser.find_element("css selector", "[data-id]").is_displayed()
        assert browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
        # What begins left of the page's edge has no first letters on paper.
        lefts = browser.execute_script(
            "return [...document.querySelectorAll('.message, .text, .who')]"
            ".map(each => each.getBoundingClientRect().left)"
        )
        assert min(lefts) >= 0
        zone = "The days, the header and the foot say it."
        assert all_of(browser, ".day h2")[0].text.endswith(" UTC"), zone
        assert "times in UTC" in all_of(browser, ".about")[0].text, zone
        assert "Times are in the zone UTC" in all_of(browser, ".bottom")[0].text, zone
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_everything_is_reached_by_keyboard(browser: Any, site: Path) -> None:
    open_page(browser, site)
    reached = []
    for _ in range(8):
        browser.switch_to.active_element.send_keys("\ue004")
        element = browser.switch_to.active_element
        reached.append((element.tag_name, element.get_attribute("name") or element.text))
    assert reached[:6] == [
        ("a", "Skip to the content"), ("a", "The archive"), ("a", "People"), ("input", "q"),
        ("button", "Search"), ("summary", "Filters"),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("searched") / "site"
    write_site(make_export(site.with_name("out"), searched_records()), site)
    return site


def test_the_best_results_are_first_with_all_marked_and_a_line_around_them(
    browser: Any, searched: Path
) -> None:
    for query, ids in SEARCHES.items():
        browser.get("about:blank")
        browser.get(f"{(searched / 'index.html').as_uri()}#{quote(query, safe='=&')}")
        until(browser, lambda: " found" in browser.find_element("id", "count").text)
        until(browser, lambda: "searching" not in browser.find_element("id", "count").text)
        links = [str(link.get_attribute("href")) for link in all_of(browser, "#results a")]
        assert [link.rpartition("#m")[2] for link in links] == ids.split(), query
    search(browser, "ausfall")
    assert [mark.text for mark in all_of(browser, "mark")] == ["ausfall", "AUSFALL"]
    assert [near.text for near in all_of(browser, ".near")] == [
        "Ann <b>: manana with no tilde", "Ann <b>: it was edited",
    ]  # fmt: skip
    assert search(browser, "it nowhere", **{"is": "file"}) == set()
    assert "0 found: nothing has “nowhere”. Try" in browser.find_element("id", "count").text


def test_keys_lead_to_the_search_and_through_its_results(browser: Any, searched: Path) -> None:
    open_page(browser, searched)
    search(browser, "manana")
    browser.execute_script("document.activeElement.blur()")
    for key, focused in (("/", "q"), ("\ue015", "2"), ("\ue015", "1"), ("\ue015", "13"), ("\ue013", "1")):
        browser.switch_to.active_element.send_keys(key)
        element = browser.switch_to.active_element
        assert focused in (
            element.get_attribute("name"),
            str(element.get_attribute("href")).rpartition("#m")[2],
        )
    browser.switch_to.active_element.send_keys("\ue007")
    until(browser, lambda: all_of(browser, "#m1:target"))


def in_script(browser: Any, site: Path, texts: list[Any], expression: str) -> list[Any]:
    """Return what an expression of the functions of `site.js` that read texts is for each of the texts."""
    open_page(browser, site)
    source = (TEMPLATES / "site.js").read_text()
    body = source[source.index("  // ── texts") : source.index("  // ── data ──")]
    dense = "".join(f"\\u{{{low:x}}}-\\u{{{high:x}}}" for low, high in DENSE)
    known = json.dumps({"dense": dense, "accents": ACCENTS, "letters": LETTERS})
    return list(
        browser.execute_script(f"{body} define({known}); return arguments[0].map({expression});", texts)
    )


GRADE = """([query, text]) =>
    [gradeOf(text, queryOf(query)), queryOf(query).chunks.flatMap((chunk) => [...termsOf(chunk)])]"""


def is_in(term: str, known: set[str], is_inside: bool) -> bool:
    """Say if the index leads from a term of a query to a text with these terms."""
    middles = [each for each in known if is_inside and has_middle(each)]
    return any(each.startswith(term) for each in known) or any(term in each for each in middles)


def test_script_and_index_fold_and_divide_alike(browser: Any, site: Path) -> None:
    """Every letter of the first planes is folded, divided and found as the index has it."""
    codes = (*range(0x20, 0x3100), *range(0x3100, 0xD800, 17), *range(0xF900, 0x1FBFF, 3))
    texts = [f"{letter}x{letter}" for letter in map(chr, codes) if letter.isprintable()]
    folds = in_script(browser, site, texts, "(text) => [fold(text), [...termsOf(fold(text))]]")
    different = [
        text
        for text, (fold, words) in zip(texts, folds, strict=True)
        if fold != folded(text) or not all(is_in(term, terms(fold), False) for term, _ in words)
    ]
    # Letters that are newer than this Python's tables are known to the browser alone.
    assert len(different) < len(texts) / 50, json.dumps(different[:50])
    assert [text for text in different if text.isascii()] == []
    assert terms(folded("Straße")) == {"strasse"}


def test_the_terms_of_a_query_are_in_each_text_that_it_matches(browser: Any, site: Path) -> None:
    """Pages that the index leaves out can never be a result."""
    dice = Random(1)
    letters = ["aAbB_1 é\u0301ßØæłİςσΣ국어,.-@好会今カ๐ก็นम\u200d👍🏽👩🇯🇵"] * 2
    texts = ["".join(dice.choices("".join(letters), k=dice.randrange(13))) for _ in range(6_000)]
    starts = [(text, dice.randrange(13)) for text in texts]
    pairs = [[text[at : at + dice.randrange(1, 7)], text] for text, at in starts]
    pairs += [["\u0301", "ß@\u0301"], ["1@", "1@\u0e47"], *([text, text] for text in texts[:1_000])]
    for (query, text), (grade, words) in zip(pairs, in_script(browser, site, pairs, GRADE), strict=True):
        known = terms(folded(text))
        assert grade == 3 or all(is_in(term, known, grade == 2 and inside) for term, inside in words), query
        assert query != text or grade == 0


def test_a_query_matches_other_accents_and_the_middle_of_words(browser: Any, site: Path) -> None:
    cases: list[tuple[str, str, int]] = [
        ("hel", "well, hello", 0), ("ell", "hello", 2), ("el", "hello", 3),
        ("WORLD hello", "Hello, world", 0),
        ('"hello world"', "hello  world", 0), ('"world hello"', "hello world", 3),
        ("llo wo", "hello world", 2), ('"llo wor"', "hello world", 2),
        ("foo@bar.co", "mail foo@bar.com", 0), ("bar.com", "foo@bar.com", 0),
        ("strasse", "Straße", 0), ("会", "今天开会吗", 0), ("开会", "今天开会吗", 0),
        ("今会", "今天开会吗", 3),
        ("é", "e\u0301a", 0), ("e", "éa", 1), ("manana", "mañana", 1), ("mañana", "manana", 1),
        ("anan", "mañana", 2), ("ครับ", "ขอบคุณมากนะครับ", 0), ("...", "wait ...", 0), ("", "anything", 0),
        ("テスト", "ﾃｽﾄです", 1), ("كتاب", "الكِتَابُ", 2), ("يوم", "يَوْمٌ", 1),
        ("parcel", "par\u200bcel", 1), ("İst", "istanbul", 1),
        ("zazolc", "Zażółć", 1), ("aero", "Ærø", 1), ("Ærø", "aero", 1), ("duc", "Đức", 1),
        ("국어", "한국어", 2), ("어", "한국어", 3), ("kapitan", "Gesellschaftskapitän", 2),
    ]  # fmt: skip
    grades = in_script(browser, site, [case[:2] for case in cases], GRADE)
    assert [(*case[:2], grade) for case, (grade, _) in zip(cases, grades, strict=True)] == cases


async def test_the_viewer_shows_and_searches_the_same_pages(chromium: Any, out: Path) -> None:
    limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}

    def read(address: str) -> None:
        chromium.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **limits})
        chromium.get(address)
        assert search(chromium, "needle")
        all_of(chromium, "#results a")[0].click()
        until(chromium, lambda: all_of(chromium, ":target"))
        until(chromium, lambda: all_of(chromium, "#column li"))
        assert chromium.get_log("browser") == []

    try:
        async with Viewer(out, title="Seen") as viewer:
            await asyncio.to_thread(read, viewer.url)
    finally:
        chromium.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **limits})
