// What reading has of a script: one tab stop for a list, the column and the list of conversations,
// the facts of the site below each page, and a date to jump to.
// Data are scripts that call `chatrest` with what they hold, as file:// forbids fetch.
"use strict";
const { root, zone } = document.documentElement.dataset;
const all = (css, of = document) => [...of.querySelectorAll(css)];
// An element with members, or with the name of a class.
const make = (tag, members, ...inner) => {
  const given = typeof members === "string" ? { className: members } : members;
  const made = Object.assign(document.createElement(tag), given);
  made.append(...inner);
  return made;
};
let received;
window.chatrest = (data) => { received = data; };
const load = (path) => new Promise((resolve, reject) => {
  const script = make("script", {
    src: root + path,
    onload: () => { script.remove(); resolve(received); },
    onerror: () => reject(new Error(`${path} is not there`)),
  });
  document.head.append(script);
});
const kept = {};
const once = (path) => kept[path] ??= load(path);
const count = (number) => number.toLocaleString("en");

// ── tab stops ──
// One for a list of messages or rows, in which arrows go up and down.
const ITEM = "article, .list > li, .calendar > li, h2 + .people > li, .record, tbody > tr, #results li:has(> a)";
const stops = (item) => all("a, summary, button, video, audio", item);
const set = (item, tabIndex) => stops(item).forEach((each) => Object.assign(each, { tabIndex }));
const rove = (list) => {
  const items = all(ITEM, list);
  if (items.flatMap(stops).length < 24) return;
  items.forEach((item) => set(item, -1));
  set(list.now = items.find((item) => item.matches(":target")) ?? items[0], 0);
};
all("#column, #results, main").forEach((list) => {
  rove(list);
  const observer = new MutationObserver(() => rove(list));
  if (list.id === "results") observer.observe(list, { childList: true, subtree: true });
  list.addEventListener("focusin", ({ target }) => {
    const item = target.closest(ITEM);
    if (!item || !list.now) return;
    set(list.now, -1);
    set(list.now = item, 0);
  });
  list.onkeydown = (event) => {
    const items = all(ITEM, list), at = items.indexOf(event.target.closest(ITEM));
    const to = items[at + { ArrowDown: 1, ArrowUp: -1 }[event.key]];
    if (at < 0 || !to) return;
    event.preventDefault();
    stops(to)[0]?.focus();
  };
});

// ── conversations ──
// Of each: name, title, initials, colour, pages, last day, messages, is a group, by whom its last words are.
const SHOWN = 300;
const open = location.pathname.split("/").at(-2);
const rowOf = ([name, title, initials, colour, pages, day, messages, , by, words]) => make("li", "", make("a", {
  href: `${root}c/${name}/${pages}.html#end`,
  ariaCurrent: name === open ? "page" : null,
}, make("span", { className: `face c${colour}`, ariaHidden: true }, initials), make("b", "", title),
make("time", "", day), make("span", "excerpt", make("bdi", "", by), by && ": ", make("bdi", "", words)),
make("span", { className: "badge", title: "messages" }, count(messages))));
const plain = (text) => text.normalize("NFKD").replace(/[\p{M}\u2066-\u2069]/gu, "").toLowerCase();
const control = (parent, sorts, lists) => {
  const filter = make("input", { type: "search", placeholder: "Filter by name" });
  const sort = make("select", { ariaLabel: "Sort" }, ...sorts.map((name) => make("option", "", name)));
  const note = make("small", "");
  let limit = SHOWN;
  const more = () => { limit += SHOWN; show(); };
  const show = async () => {
    const [rows, total] = await once("conversations.js");
    const words = plain(filter.value), by = sort.selectedIndex;
    const found = rows.filter((row) => plain(row[1]).includes(words));
    if (by > 0) found.sort((one, other) => (by === 1 ? other[6] - one[6] : one[1].localeCompare(other[1])));
    const shown = lists();
    const newest = shown.length < 2 && found.length > limit ? limit : rows.length;
    note.textContent = newest < total ? `the newest ${count(newest)} of ${count(total)}` : "";
    shown.forEach((list, group) => {
      const own = found.filter((row) => shown.length < 2 || row[7] === group);
      list.replaceChildren(...own.filter((row, at) => at < limit || row[0] === open).map(rowOf));
      if (own.length <= limit) return;
      list.append(make("li", "", make("button", { onclick: more }, `${count(own.length - limit)} more`)));
    });
    rove(parent);
  };
  filter.oninput = sort.onchange = show;
  all(".controls", parent)[0].append(make("label", "", filter, note), ...(sorts.length ? [sort] : []));
  return show;
};
const [column] = all("#column"), [talks] = all("#talks");
const list = () => make("ul", "list");
if (talks) control(all("main")[0], ["Newest", "Largest", "Name"], () => {
  const lists = [list(), list()];
  const sections = lists.map((each, group) =>
    make("section", "", make("h2", "", ["One to one", "Groups"][group]), each));
  talks.replaceChildren(...sections);
  return lists;
});
if (column && matchMedia("(min-width: 64rem)").matches) {
  const rows = list();
  column.append(rows);
  control(column, [], () => [rows])();
}

// ── what the pages are of ──
const [bottom] = all(".bottom");
if (!all("#about")[0]) load("about.js").then((facts) => {
  const texts = facts.flatMap(([name, text], at) => [`${at ? " · " : ""}${name}: `, make("bdi", "", text)]);
  bottom.append(make("p", "", ...texts));
}).catch(() => {});

// ── where I am ──
// The pages of a conversation of several, and a date to jump to.
const [jump] = all(".jump");
if (jump) load(jump.dataset.days).then(({ pages, until, days }) => {
  all(".of").forEach((each) => { each.textContent = ` of ${pages}`; });
  all(".until").forEach((each) => { each.textContent = until; });
  if (!days.length) return;
  const [field] = all("input", jump);
  Object.assign(field, { min: days[0][0], max: days.at(-1)[0] });
  jump.hidden = false;
  jump.onsubmit = () => {
    const [day, page] = days.find(([each]) => each >= field.value);
    location.href = `${page}.html#d${day}`;
    return false;
  };
});
