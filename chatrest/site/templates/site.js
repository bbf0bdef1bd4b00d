// The search, and its keys: `/` leads to it, the arrow down to its results. A page can be read without it.
// `all`, `make`, `load`, `once`, `count`, `SHOWN`, `root` and `zone` are those of pages.js,
// which comes first in the written file.
//   search/meta.js     the pages, and the first term of each shard
//   search/w/NAME.js   a shard: terms in order, each with the pages that have it
//   search/w/v0.js     the words of eight shards, for the middles of words
//   search/p/0/N.js    the messages of page N, a thousand in a folder
(() => {
  const form = document.getElementById("search");
  const [found, status, list, more] = all("#found, #count, #results, #more");

  document.addEventListener("keydown", (event) => {
    const at = document.activeElement;
    const to = event.key === "/"
      ? !at.matches("input, select") && form.q
      : event.key === "ArrowDown" && at === form.q && all("a", list)[0];
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    to.focus();
  });

  // Times are in the site's zone, whatever the reader's is; Swedish writes them as 2026-11-22 13:11:03.
  const style = { timeZone: zone, dateStyle: "short", timeStyle: "medium" };
  const localTime = new Intl.DateTimeFormat("sv-SE", style).format;
  const isWithin = ({ since, until }, first, last) =>
    (!since || localTime(last).slice(0, 10) >= since) && (!until || localTime(first).slice(0, 10) <= until);

  // ── texts ──
  // As chatrest/site/text.py folds, divides and grades them.
  const WORD = /[\p{L}\p{N}\p{M}_]+/gu;
  const LONGEST_TERM = 40;
  let RUN, ACCENTS, BEGIN, END, INSIDE, LETTERS;
  const define = ({ dense, accents, letters }) => {
    LETTERS = letters;
    const letter = `(?![${dense}])[\\p{L}\\p{N}\\p{M}_]`;
    [RUN, ACCENTS] = [`[${dense}]+`, accents].map((pattern) => new RegExp(pattern, "gu"));
    const inside = `^(?:(?:${letter}){3}|[가-힣]{2})`;
    [BEGIN, END, INSIDE] = [`^${letter}`, `${letter}$`, inside].map((pattern) => new RegExp(pattern, "u"));
  };
  const ASCII = /^[\0-\x7f]*$/;
  const lower = (text) => {
    if (ASCII.test(text)) return text.toLowerCase();
    return text.normalize("NFC").toUpperCase().toLowerCase().replaceAll("ς", "σ");
  };
  const fold = (text) => {
    if (ASCII.test(text)) return text.toLowerCase();
    const letters = lower(lower(text).normalize("NFKD").replace(ACCENTS, ""));
    return letters.replace(/[æ-ŧ]/g, (each) => LETTERS[each] ?? each);
  };
  const oneLine = (text) => text.trim().replace(/\s+/gu, " ");
  const chunksOf = (query) =>
    [...query.matchAll(/"([^"]*)"?|([^\s"]+)/gu)].map((match) => oneLine(match[1] ?? match[2])).filter(Boolean);
  const queryOf = (text) => ({ chunks: chunksOf(fold(text)), written: chunksOf(lower(text)) });
  // The terms of a chunk, each with true where it may be in the middle of a word.
  const termsOf = (chunk) => {
    const terms = new Map();
    for (const run of chunk.match(RUN) ?? []) {
      const letters = Array.from(run);
      if (letters.length === 1) terms.set(run, false);
      for (let at = 1; at < letters.length; at++) terms.set(letters[at - 1] + letters[at], false);
    }
    (chunk.replace(RUN, " ").match(WORD) ?? []).forEach((word, position) => {
      const letters = Array.from(word).slice(0, LONGEST_TERM), term = letters.join("");
      terms.set(term, !position && INSIDE.test(chunk) && (terms.get(term) ?? true));
    });
    return terms;
  };
  const isInside = (text, at) => BEGIN.test(text.slice(at, at + 2)) && END.test(text.slice(Math.max(0, at - 2), at));
  const begins = (text, chunk) => {
    let at = text.indexOf(chunk);
    while (at > 0 && isInside(text, at)) at = text.indexOf(chunk, at + 1);
    return at >= 0;
  };
  // 0 as it is written, 1 where words begin with other accents, 2 in the middle of words, 3 not at all.
  const gradeOf = (text, { chunks, written }) => {
    const line = oneLine(fold(text));
    if (!chunks.every((chunk) => line.includes(chunk))) return 3;
    if (!chunks.every((chunk) => begins(line, chunk)))
      return chunks.every((chunk) => INSIDE.test(chunk) || begins(line, chunk)) ? 2 : 3;
    const plain = oneLine(lower(text));
    return written.every((chunk) => begins(plain, chunk)) ? 0 : 1;
  };

  // ── data ──
  // A term that so many shards have is on nearly every page: it excludes none.
  const SHARDS = 4, SHARDS_INSIDE = 40, WORDS_OF = 8;
  const shardsWith = ({ firsts }, term) => firsts.filter(([first], at) =>
    first.startsWith(term) || (first <= term && !(firsts[at + 1]?.[0] <= term)));
  const shardsInside = async ({ firsts }, term) => {
    const words = [];
    for (let at = 0; at * WORDS_OF < firsts.length; at++) words.push(...await once(`search/w/v${at}.js`));
    return firsts.filter((_, at) => words[at].includes(term));
  };
  const pagesWith = async (data, term, isMiddle) => {
    const shards = isMiddle ? await shardsInside(data, term) : shardsWith(data, term);
    if (shards.length > (isMiddle ? SHARDS_INSIDE : SHARDS)) return null;
    const pages = new Set();
    for (const lines of await Promise.all(shards.map(([, name]) => once(`search/w/${name}.js`)))) {
      for (const line of lines.split("\n")) {
        const [word, listed] = line.split(" ");
        if (!(isMiddle ? /^[^@#!]/.test(word) && word.includes(term) : word.startsWith(term))) continue;
        let page = 0;
        for (const part of listed.split(",")) {
          const [gap, further = "0"] = part.split("-");
          pages.add(page += parseInt(gap, 36));
          for (let rest = parseInt(further, 36); rest > 0; rest--) pages.add(++page);
        }
      }
    }
    return pages;
  };

  // ── the search ──
  const AT_ONCE = 8, MOST = 2e4, IN_FOLDER = 1000;
  const textsOf = ([page]) => load(`search/p/${Math.floor(page / IN_FOLDER)}/${page}.js`);
  let run = 0, asked = "";

  const addressOf = () => {
    const fields = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
    return `${new URLSearchParams(fields.filter(([, value]) => value))}`;
  };
  const wanted = () => {
    const query = { is: new FormData(form).getAll("is"), since: form.since.value, until: form.until.value };
    for (const name of ["q", "person", "conversation"]) query[name] = queryOf(form[name].value);
    return query;
  };

  // The pages that may have it: where words begin with it, and with `middles` also where they go on with it.
  const candidates = async (data, query, middles) => {
    const terms = query.is.map((flag) => [`!${flag}`, false]);
    for (const [mark, name] of [["", "q"], ["@", "person"], ["#", "conversation"]])
      for (const chunk of query[name].chunks)
        for (const [term, inside] of termsOf(chunk)) terms.push([mark + term, !mark && inside]);
    let pages = data.times.filter(([, first, last]) => isWithin(query, first, last));
    query.lacking = "";
    for (const [term, inside] of terms.sort(([one], [other]) => other.length - one.length)) {
      let having = await pagesWith(data, term, false);
      if (having && inside && middles) {
        const others = await pagesWith(data, term, true);
        having = others && new Set([...having, ...others]);
      }
      const verb = inside || term[0] === "!" ? "has" : "begins with";
      if (having && !having.size) query.lacking ||= `nothing ${verb} “${term.replace(/^[@#!]/, "")}”`;
      if (having) pages = pages.filter(([page]) => having.has(page));
    }
    return pages;
  };

  const matchesOf = (texts, query, flags) => {
    if (gradeOf(texts.title, query.conversation) > 2) return [];
    const is = texts.people.map(([uid, name]) =>
      form.person.value === `=${uid}` || gradeOf(`${uid} ${name}`, query.person) < 3);
    const matches = [];
    texts.messages.forEach(([, sender, time, text, bits], at) => {
      if (!is[sender] || (bits & flags) !== flags || !isWithin(query, time, time)) return;
      const grade = gradeOf(text, query.q);
      if (grade < 3) matches.push({ grade, time, at, texts });
    });
    return matches;
  };

  // ── what is shown ──
  const AROUND = 80;
  // A text around what is searched for, all of which is marked: folding moves letters, so each has its position.
  const marked = (text, chunks) => {
    let letters = "";
    const positions = [], spans = [];
    for (const { 0: cluster, index } of text.matchAll(/[^][\p{M}\uff9e\uff9f]*/gu)) {
      letters += fold(cluster);
      while (positions.length < letters.length) positions.push([index, index + cluster.length]);
    }
    for (const chunk of chunks)
      for (let at = letters.indexOf(chunk); at >= 0; at = letters.indexOf(chunk, at + 1))
        if (INSIDE.test(chunk) || !isInside(letters, at))
          spans.push([positions[at][0], positions[at + chunk.length - 1][1]]);
    spans.sort(([one], [other]) => one - other);
    const [first, last] = spans[0] ?? [0, 0];
    let end = Math.max(0, first - AROUND);
    const to = Math.max(last, end + AROUND) + AROUND, parts = [end ? "…" : ""];
    const add = (stop) => parts.push(text.slice(end, stop).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, ""));
    for (const [begin, stop] of spans) {
      if (stop <= end || begin >= to) continue;
      if (begin > end) add(begin);
      parts.push(make("mark", "", text.slice(Math.max(begin, end), stop)));
      end = stop;
    }
    if (end < to) add(to);
    return [...parts, text.length > Math.max(end, to) ? "…" : ""];
  };
  const named = (texts, sender, name) => make("span", name, make("bdi", "", texts.people[sender][1]));
  const lineOf = (texts, at) => {
    const [, sender, , text] = texts.messages[at] ?? [];
    if (!text) return "";
    const near = named(texts, sender, "near"), line = oneLine(text);
    // The line of an action or call begins with the name.
    if (line.startsWith(near.textContent)) near.replaceChildren();
    const start = `${line.slice(0, AROUND)}${line.length > AROUND ? "…" : ""}`;
    near.append(near.firstChild ? ": " : "", make("bdi", "", start));
    return near;
  };
  const shownResult = ({ texts, at }, chunks) => {
    const [rank, sender, time, text] = texts.messages[at];
    const parts = text ? marked(oneLine(text), chunks) : ["(deleted, or no text)"];
    const shown = make("span", { className: "text", dir: "auto" }, ...parts);
    const top = make("span", "meta", named(texts, sender, "who"), make("time", "", time ? localTime(time) : ""));
    const link = make("a", { href: `${root}${texts.path}#m${rank}` }, top, shown);
    return make("li", "", lineOf(texts, at - 1), link, lineOf(texts, at + 1));
  };

  // Results by conversation: those with the best and newest results first.
  const grouped = (matches) => {
    const groups = {};
    matches.sort((one, other) => one.grade - other.grade || other.time - one.time);
    for (const match of matches) (groups[match.texts.path.replace(/[^/]*$/, "")] ??= []).push(match);
    return Object.values(groups);
  };
  const render = (matches, query, limit = SHOWN) => {
    let left = limit;
    list.replaceChildren(...grouped(matches).map((group) => {
      const shown = group.slice(0, left);
      left -= shown.length;
      if (!shown.length) return null;
      const title = make("p", "in", shown[0].texts.title, " ", make("span", "badge", count(group.length)));
      const results = shown.map((match) => shownResult(match, query.q.chunks));
      return make("li", "group", title, make("ol", "", ...results));
    }).filter(Boolean));
    more.hidden = matches.length <= limit;
    more.onclick = () => render(matches, query, limit + SHOWN);
  };

  const search = async () => {
    const own = ++run;
    asked = addressOf();
    list.replaceChildren();
    more.hidden = true;
    found.hidden = !asked;
    if (!asked) return;
    status.textContent = "Searching …";
    try {
      const data = await once("search/meta.js");
      define(data);
      const query = wanted(), matches = [], seen = new Set();
      const flags = query.is.reduce((bits, flag) => bits | (1 << data.flags.indexOf(flag)), 0);
      for (const middles of [false, true]) {
        const pages = (await candidates(data, query, middles)).filter(([page]) => !seen.has(page));
        for (let at = 0; at < pages.length && matches.length < MOST; at += AT_ONCE) {
          const next = pages.slice(at, at + AT_ONCE);
          for (const texts of await Promise.all(next.map(textsOf))) matches.push(...matchesOf(texts, query, flags));
          next.forEach(([page]) => seen.add(page));
          if (own !== run) return;
          status.textContent = `${count(matches.length)} found, searching …`;
          if (matches.length >= SHOWN && !list.hasChildNodes()) render(matches, query);
        }
        if (own !== run) return;
        // Who reads them already keeps the first results: they are the newest.
        const isRead = scrollY >= 100 || list.contains(document.activeElement);
        if (!list.hasChildNodes() || !isRead) render(matches, query);
      }
      const many = matches.length < MOST ? "" : "more than ";
      const advice = `: ${query.lacking || "no message has all of it"}. ${status.dataset.advice}`;
      const end = matches.length ? `, times in ${zone}` : advice;
      status.textContent = `${many}${count(matches.length)} found${end}`;
    } catch (error) {
      if (own === run) status.textContent = `The search failed: ${error.message}`;
    }
  };

  // The query stands in the address: Back, a copied link and loading again keep it.
  const queryIn = () => (location.hash.includes("=") ? location.hash.slice(1) : "");
  const keep = () => {
    const query = addressOf(), before = queryIn();
    if (query !== before) history[before ? "replaceState" : "pushState"](null, "", `#${query}`);
  };
  const restore = () => {
    const given = new URLSearchParams(queryIn() || location.search);
    for (const field of all("input", form)) {
      if (field.type === "checkbox") field.checked = given.getAll(field.name).includes(field.value);
      else field.value = given.get(field.name) ?? "";
    }
    form.querySelector("details").open ||= [...given.keys()].some((name) => name !== "q");
    if (asked || addressOf()) search();
  };
  let pause;
  const now = () => { clearTimeout(pause); keep(); search(); };
  form.onsubmit = (event) => { event.preventDefault(); now(); };
  form.oninput = () => {
    clearTimeout(pause);
    pause = setTimeout(() => { if (addressOf() !== asked) now(); }, 200);
  };
  window.onpopstate = restore;
  restore();
})();
