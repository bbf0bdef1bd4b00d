// The search. A page can be read without it.
//
// file:// forbids fetch: all data are scripts that call `chatrest` with what they hold.
//   search/meta.js      the table of pages, and the first term of each shard
//   search/w/NAME.js    a shard: terms in order, each with the pages that have it
//   search/p/0/N.js     the messages of page N, a thousand in a folder
"use strict";
(() => {
  const root = document.documentElement.dataset.root;
  // Times are in the site's zone, whatever the reader's is.
  const zoned = new Intl.DateTimeFormat("en-CA", {
    timeZone: document.documentElement.dataset.zone, hourCycle: "h23", year: "numeric", month: "2-digit",
    day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  });
  const localTime = (time) => {
    const part = Object.fromEntries(zoned.formatToParts(time).map(({ type, value }) => [type, value]));
    return `${part.year.padStart(4, "0")}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second}`;
  };
  const beginOf = (day, later) => {
    const wanted = Date.parse(`${day}T00:00:00Z`) + later * 864e5;
    let at = wanted;
    for (let step = 0; step < 2; step++) at += wanted - Date.parse(`${localTime(at).replace(" ", "T")}Z`);
    return at;
  };

  const form = document.getElementById("search");
  if (form.hasAttribute("data-served")) return;
  const [found, count, list, more] = ["found", "count", "results", "more"].map((id) => document.getElementById(id));

  // ── texts: as chatrest/site/text.py folds and divides them ──
  const WORD = /[\p{L}\p{N}\p{M}_]+/gu;
  const IS_WORD = /^[\p{L}\p{N}\p{M}_]/u;
  const LONGEST_TERM = 40;
  let RUN, IS_DENSE;
  const fold = (text) => text.normalize("NFC").toUpperCase().toLowerCase().replaceAll("ς", "σ");
  const oneLine = (text) => text.split(/\s+/u).filter(Boolean).join(" ");
  const chunksOf = (query) =>
    [...fold(query).matchAll(/"([^"]*)"?|([^\s"]+)/gu)].map((match) => oneLine(match[1] ?? match[2])).filter(Boolean);
  const wordsOf = (text) => (text.replace(RUN, " ").match(WORD) ?? []).map((word) => Array.from(word).slice(0, LONGEST_TERM).join(""));
  const termsOf = (chunk) => {
    const terms = new Set(wordsOf(chunk));
    for (const run of chunk.match(RUN) ?? []) {
      const letters = Array.from(run);
      if (letters.length === 1) terms.add(run);
      for (let at = 1; at < letters.length; at++) terms.add(letters[at - 1] + letters[at]);
    }
    return terms;
  };
  const isWord = (letter) => IS_WORD.test(letter) && !IS_DENSE.test(letter);
  const letterBefore = (text, at) => {
    const half = text.charCodeAt(at - 1);
    return text.slice(half >= 0xdc00 && half <= 0xdfff ? Math.max(0, at - 2) : at - 1, at);
  };
  const beginsAt = (text, chunk) => {
    let at = text.indexOf(chunk);
    if (isWord(chunk)) while (at > 0 && isWord(letterBefore(text, at))) at = text.indexOf(chunk, at + 1);
    return at;
  };
  const hasAll = (text, chunks) => chunks.every((chunk) => beginsAt(text, chunk) >= 0);

  // ── data ──
  let received;
  window.chatrest = (data) => { received = data; };
  const load = (path) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = () => { script.remove(); resolve(received); };
    script.onerror = () => { script.remove(); reject(new Error(`${path} is not there`)); };
    script.src = root + path;
    document.head.append(script);
  });
  const kept = new Map();
  const once = (path) => {
    if (!kept.has(path)) kept.set(path, load(path));
    return kept.get(path);
  };
  const number = (text) => parseInt(text, 36);
  const meta = async () => {
    const data = await once("search/meta.js");
    if (!data.pages) {
      const point = (code) => `\\u{${code.toString(16)}}`;
      const dense = data.dense.map(([low, high]) => `${point(low)}-${point(high)}`).join("");
      RUN = new RegExp(`[${dense}]+`, "gu");
      IS_DENSE = new RegExp(`^[${dense}]`, "u");
      data.pages = data.times.split(" ").filter(Boolean).map((pair, place) => {
        const [page, last, length] = pair.split(",").map(number);
        return { page, last: last * 1000 + 999, first: (last - length) * 1000 };
      });
      data.pages.sort((one, other) => other.last - one.last || other.page - one.page);
      data.shards = data.firsts.map(([first, name]) => ({ first, name }));
    }
    return data;
  };

  const SHARDS_AT_ONCE = 4; // a beginning that so many shards have is on nearly every page: it excludes none
  const pagesWith = async (data, term) => {
    let low = 0, high = data.shards.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (data.shards[middle].first <= term) low = middle + 1; else high = middle;
    }
    const names = [];
    for (let at = Math.max(0, low - 1); at < data.shards.length; at++) {
      const { first, name } = data.shards[at];
      if (first > term && !first.startsWith(term)) break;
      if (names.push(name) > SHARDS_AT_ONCE) return null;
    }
    const pages = new Set();
    for (const lines of await Promise.all(names.map((name) => once(`search/w/${name}.js`)))) {
      for (const line of lines.split("\n")) {
        if (!line.startsWith(term)) continue;
        let page = 0;
        for (const part of line.slice(line.indexOf(" ") + 1).split(",")) {
          const [gap, further] = part.split("-");
          page += number(gap);
          pages.add(page);
          for (let rest = further ? number(further) : 0; rest > 0; rest--) pages.add(++page);
        }
      }
    }
    return pages;
  };

  // ── the search ──
  const AT_ONCE = 4, SHOWN = 1000, IN_FOLDER = 1000;
  const textsOf = (page) => `search/p/${Math.floor(page / IN_FOLDER)}/${page}.js`;
  let run = 0, asked = "";

  const wanted = () => {
    const value = (name) => form.elements[name].value.trim();
    const day = (name, later) => (/^\d{4}-\d\d-\d\d$/.test(value(name)) ? beginOf(value(name), later) : null);
    return { q: value("q"), person: value("person"), conversation: value("conversation"), since: day("since", 0), until: day("until", 1) };
  };

  const candidates = async (query) => {
    const data = await meta();
    const terms = new Set();
    for (const [mark, text] of [["", query.q], ["@", query.person], ["#", query.conversation]]) {
      for (const chunk of chunksOf(text)) for (const term of termsOf(chunk)) terms.add(mark + term);
    }
    let pages = data.pages.filter((page) =>
      (query.since === null || page.last >= query.since) && (query.until === null || page.first < query.until));
    for (const term of [...terms].sort((one, other) => other.length - one.length)) {
      const having = pages.length ? await pagesWith(data, term) : null;
      if (having) pages = pages.filter(({ page }) => having.has(page));
    }
    return pages;
  };

  const matchesOf = (texts, query, chunks) => {
    if (!hasAll(oneLine(fold(texts.title)), chunks.conversation)) return [];
    const is = texts.people.map(([uid, name]) => hasAll(oneLine(fold(`${uid} ${name}`)), chunks.person));
    return texts.messages.filter(([, sender, time, text]) =>
      is[sender] && (query.since === null || time >= query.since) && (query.until === null || time < query.until)
      && text && hasAll(oneLine(fold(text)), chunks.q))
      .map(([rank, sender, time, text]) => ({ rank, time, text, name: texts.people[sender][1], texts }));
  };

  const AROUND = 80;
  // The text as one line, folded, and for each place in it the place in the text: folding moves letters.
  const foldedPlaces = (text) => {
    let letters = "", at = 0;
    const places = [];
    for (const letter of text) {
      const folded = fold(letter);
      for (let half = 0; half < folded.length; half++) places.push(at);
      letters += folded;
      at += letter.length;
    }
    return [letters, [...places, at]];
  };
  const inContext = (element, text, chunk) => {
    text = oneLine(text);
    let [letters, places] = [fold(text), null];
    if (letters.length !== text.length) [letters, places] = foldedPlaces(text);
    const at = chunk ? beginsAt(letters, chunk) : -1;
    const part = (begin, end) => text.slice(begin, end).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
    if (at < 0) { element.textContent = part(0, 2 * AROUND) + (text.length > 2 * AROUND ? "…" : ""); return; }
    const [begin, end] = [at, at + chunk.length].map((place) => places ? places[place] : place);
    const from = Math.max(0, begin - AROUND), mark = document.createElement("mark");
    mark.textContent = text.slice(begin, end);
    element.append((from ? "…" : "") + part(from, begin), mark, part(end, end + AROUND) + (text.length > end + AROUND ? "…" : ""));
  };

  const spanOf = (name, text) => {
    const span = document.createElement("span");
    span.className = name;
    const isolated = document.createElement("bdi");
    isolated.textContent = text;
    span.append(isolated);
    return span;
  };

  const shownResult = (match, chunk) => {
    const item = document.createElement("li"), link = document.createElement("a");
    const top = document.createElement("span"), text = document.createElement("span");
    link.href = `${root}${match.texts.path}#m${match.rank}`;
    top.className = "meta";
    top.append(spanOf("who", match.name), spanOf("in", match.texts.title));
    if (match.time) {
      const time = document.createElement("time");
      time.dateTime = new Date(match.time).toISOString();
      time.textContent = localTime(match.time);
      top.append(time);
    }
    text.className = "text";
    text.dir = "auto";
    inContext(text, match.text, chunk);
    link.append(top, text);
    item.append(link);
    return item;
  };

  const pressed = () => new Promise((resolve) => {
    more.hidden = false;
    more.onclick = () => { more.hidden = true; resolve(); };
  });

  const search = async () => {
    const query = wanted(), own = ++run;
    asked = JSON.stringify(query);
    list.replaceChildren();
    more.hidden = true;
    const isNothing = !query.q && !query.person && !query.conversation && query.since === null && query.until === null;
    found.hidden = isNothing;
    if (isNothing) return;
    count.textContent = "Searching …";
    try {
      const pages = await candidates(query);
      const chunks = { q: chunksOf(query.q), person: chunksOf(query.person), conversation: chunksOf(query.conversation) };
      const loading = [];
      let next = 0, total = 0, limit = SHOWN, waiting = [];
      for (let at = 0; at < pages.length && own === run; at++) {
        while (next < pages.length && next < at + AT_ONCE) loading.push(load(textsOf(pages[next++].page)));
        waiting.push(...matchesOf(await loading.shift(), query, chunks));
        if (own !== run) return;
        waiting.sort((one, other) => other.time - one.time || (other.rank > one.rank ? 1 : -1));
        const newest = at + 1 < pages.length ? pages[at + 1].last : -1; // what is on no page that is still to come
        const ready = waiting.findIndex((match) => match.time <= newest);
        const matches = ready < 0 ? waiting.splice(0) : waiting.splice(0, ready);
        list.append(...matches.map((match) => shownResult(match, chunks.q[0])));
        total += matches.length;
        count.textContent = `${total.toLocaleString()} found, searching …`;
        if (total >= limit && at + 1 < pages.length) {
          count.textContent = `${total.toLocaleString()} found, and there may be more`;
          await pressed();
          limit = total + SHOWN;
        }
      }
      if (own === run) count.textContent = total === 1 ? "1 found" : `${total.toLocaleString()} found`;
    } catch (error) {
      if (own === run) count.textContent = `The search cannot be done: ${error.message}`;
    }
  };

  // The query stands in the address: Back, a copied link and loading again keep it.
  const NAMES = ["q", "person", "conversation", "since", "until"];
  const queryIn = () => (location.hash.includes("=") ? location.hash.slice(1) : "");
  const keep = () => {
    const query = new URLSearchParams();
    for (const name of NAMES) {
      const value = form.elements[name].value.trim();
      if (value) query.set(name, value);
    }
    const before = queryIn();
    if (`${query}` === before) return;
    history[before ? "replaceState" : "pushState"](null, "", `#${query}`);
  };
  const restore = () => {
    const given = new URLSearchParams(queryIn() || location.search);
    for (const name of NAMES) form.elements[name].value = given.get(name) ?? "";
    form.querySelector("details").open ||= NAMES.some((name) => name !== "q" && given.get(name));
    if (asked || [...given.keys()].length) search();
  };
  let pause;
  const soon = () => {
    clearTimeout(pause);
    pause = setTimeout(() => { if (JSON.stringify(wanted()) !== asked) { keep(); search(); } }, 200);
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(pause); keep(); search(); });
  form.addEventListener("input", soon);
  window.addEventListener("popstate", restore);
  restore();
})();
