// What reading needs a script for: the column and the list of conversations, the date to jump to, and few tab stops.
// Data are scripts that call `chatrest…`, as file:// forbids fetch.
"use strict";
(() => {
  const { root } = document.documentElement.dataset;
  const make = (name, className, ...inner) => {
    const made = document.createElement(name);
    made.className = className;
    made.append(...inner);
    return made;
  };
  const load = (path, call, then) => {
    window[call] = then;
    document.head.append(Object.assign(make("script", ""), { src: root + path }));
  };

  // ── few tab stops: one for a list of messages or rows, in which arrows go up and down ──
  const MANY = 24;
  const ITEM = "article, .list > li, .calendar > li, .record, tbody > tr, #results li:has(> a)";
  const stops = (item) => item.querySelectorAll("a, summary, button, video, audio");
  const choose = (list, item) => {
    for (const each of list.chosen ? stops(list.chosen) : []) each.tabIndex = -1;
    for (const each of stops(item)) each.tabIndex = 0;
    list.chosen = item;
  };
  const rove = (list) => {
    const items = list.querySelectorAll(ITEM);
    const every = [...items].flatMap((item) => [...stops(item)]);
    list.chosen = null;
    if (every.length < MANY) return;
    for (const each of every) each.tabIndex = -1;
    choose(list, [...items].find((item) => item.matches(":target")) ?? items[0]);
  };
  for (const list of document.querySelectorAll("#column, #results, main")) {
    rove(list);
    if (list.id === "results") new MutationObserver(() => rove(list)).observe(list, { childList: true, subtree: true });
    list.addEventListener("focusin", ({ target }) => {
      const item = target.closest(ITEM);
      if (item && list.chosen) choose(list, item);
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], item = event.target.closest(ITEM);
      if (!step || !item || !list.chosen || list.id === "results") return; // whose arrows the search has
      const items = [...list.querySelectorAll(ITEM)], next = items[items.indexOf(item) + step];
      if (!next) return;
      event.preventDefault();
      choose(list, next);
      stops(next)[0]?.focus();
    });
  }

  // ── conversations: name, title, initials, colour, pages, last day, messages, is a group, last words, face ──
  const AT_ONCE = 200;
  const column = document.getElementById("column"), talks = document.getElementById("talks");
  const here = /c\/(\w+)\/[^/]*$/.exec(location.pathname)?.[1];
  const rowOf = ([name, title, initials, colour, pages, day, messages, , words, face]) => {
    const picture = make("span", `face c${colour}`, initials);
    if (face) picture.replaceChildren(Object.assign(make("img", ""), { src: root + face, alt: "" }));
    picture.ariaHidden = true;
    const link = make("a", "", picture, make("b", "", make("bdi", "", title)), make("time", "", day),
      make("span", "excerpt", make("bdi", "", words)), make("span", "badge", messages.toLocaleString("en")));
    link.href = `${root}c/${name}/${pages}.html#end`;
    if (name === here) link.ariaCurrent = "page";
    return make("li", "", link);
  };
  const fill = (list, rows, from = 0) => {
    if (!from) list.replaceChildren();
    list.append(...rows.slice(from, from + AT_ONCE).map(rowOf));
    if (rows.length > from + AT_ONCE) {
      const more = make("button", "", "More");
      const item = make("li", "", more);
      more.onclick = () => { item.remove(); fill(list, rows, from + AT_ONCE); rove(list.closest("#column, main")); };
      list.append(item);
    }
  };
  const SORTS = { Newest: null, Largest: (one, other) => other[6] - one[6], Name: (one, other) => one[1].localeCompare(other[1]) };
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const control = (parent, lists, isSorted) => {
    const filter = Object.assign(make("input", ""), { type: "search", placeholder: "Filter by name" });
    const label = make("label", "", make("span", "hidden", "Filter the conversations"), filter);
    const sort = make("select", "", ...Object.keys(SORTS).map((name) => make("option", "", name)));
    sort.ariaLabel = "Sort";
    let known;
    const show = () => {
      if (!known) return load("conversations.js", "chatrestConversations", (rows) => { known = rows; show(); });
      const words = plain(filter.value);
      let rows = known.filter((row) => plain(row[1]).includes(words));
      if (SORTS[sort.value]) rows = rows.sort(SORTS[sort.value]);
      for (const [list, group] of lists()) fill(list, rows.filter((row) => group === null || row[7] === group));
      rove(parent);
    };
    filter.oninput = sort.onchange = show;
    parent.querySelector(".controls").append(label, ...(isSorted ? [sort] : []));
    return show;
  };
  if (talks) {
    control(document.querySelector("main"), () => {
      const lists = [0, 1].map((group) => [make("ul", "list"), group]);
      talks.replaceChildren(...lists.map(([list, group]) => make("section", "", make("h2", "", group ? "Groups" : "People"), list)));
      return lists;
    }, true);
  } else if (column && matchMedia("(min-width: 64rem)").matches) {
    const list = make("ul", "list");
    column.append(list);
    control(column, () => [[list, null]])();
  }

  // ── where I am: the pages of a conversation, and a date to jump to ──
  const jump = document.querySelector(".jump");
  if (jump) {
    const field = jump.querySelector("input");
    let days = [...document.querySelectorAll(".day > h2")].map(({ id }) => [id.slice(1), null]).filter(([day]) => day < "a");
    const ready = () => {
      if (!days.length) return;
      [field.min, field.max] = [days[0][0], days.at(-1)[0]];
      jump.hidden = false;
    };
    const go = () => {
      const [day, page] = days.find(([each]) => each >= field.value) ?? days.at(-1);
      if (field.value) location.href = `${page ? `${page}.html` : ""}#d${day}`;
    };
    field.onchange = go;
    jump.onsubmit = (event) => { event.preventDefault(); go(); };
    if (!jump.dataset.days) ready();
    else load(jump.dataset.days, "chatrestDays", (known) => {
      days = known.days;
      for (const each of document.querySelectorAll(".of")) each.textContent = ` of ${known.pages}`;
      for (const each of document.querySelectorAll(".until")) each.textContent = ` to ${known.last}`;
      ready();
    });
  }
})();
