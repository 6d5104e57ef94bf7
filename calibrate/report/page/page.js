"use strict";
// Shows the solutions. Data is text: elements are made by name from this script, never from markup, and texts are set as
// text. A view (judge, filters, sorting, open row) is the address after '#', so it can be linked to.
(() => {
  const MATHML = "http://www.w3.org/1998/Math/MathML";
  const ELEMENTS = new Set(("math mrow mi mn mo mtext ms mspace mfrac msqrt mroot msub msup msubsup munder mover munderover " +
    "mmultiscripts mprescripts none mtable mtr mtd menclose mstyle mpadded merror").split(" "));
  const ATTRIBUTES = new Set(("mathvariant stretchy symmetric largeop movablelimits fence separator form accent accentunder " +
    "displaystyle scriptlevel linethickness columnalign rowalign columnlines rowlines columnspacing rowspacing notation " +
    "minsize maxsize width lspace rspace").split(" "));
  const VERDICTS = ["incorrect", "partially correct", "correct"];
  const WORDS = { incorrect: VERDICTS[0], partially_correct: VERDICTS[1], correct: VERDICTS[2] };
  const NO_VERDICT = { "-1": "", "-2": "tie", "-3": "failed", "-4": "not judged", "-5": "no verdict" };
  const INVISIBLE = /([\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+)/u;
  const EXTRA = 12; // rows above and below those in view
  const MOST_PRINTED = 300;
  const FILTERS = ["differ", "model", "topic", "human", "says", "tag", "answer", "concern", "q"];

  // --- elements ---

  function el(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
      else if (value === true) node.setAttribute(key, "");
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
    }
    add(node, children);
    return node;
  }

  function add(node, children) {
    for (const child of children) {
      if (Array.isArray(child)) add(node, child);
      else if (child instanceof Node) node.append(child);
      else if (child !== null && child !== undefined && child !== false) words(node, String(child));
    }
  }

  // A text, with characters that cannot be seen, or turn others round, shown by their numbers.
  function words(node, text) {
    text.split(INVISIBLE).forEach((piece, i) => {
      if (i % 2 === 0) { if (piece) node.append(piece); return; }
      const codes = Array.from(piece, (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
      const shown = codes.length > 4 ? codes.slice(0, 4).join(" ") + " … (" + codes.length + ")" : codes.join(" ");
      node.append(el("span", { class: "unseen" }, shown));
    });
  }

  function formula(tree, block) {
    const [name, ...rest] = tree;
    const node = document.createElementNS(MATHML, ELEMENTS.has(name) ? name : "mrow");
    if (name === "math" && block) node.setAttribute("display", "block");
    for (const child of rest) {
      if (Array.isArray(child)) node.append(formula(child, false));
      else if (typeof child === "object") {
        for (const [key, value] of Object.entries(child)) if (ATTRIBUTES.has(key)) node.setAttribute(key, value);
      } else node.append(child);
    }
    return node;
  }

  // The pieces of a text (see mathematics.py) with its marks, [{label, kind, from, to, about}], set or as TeX.
  function set(node, pieces, marks = [], asSource = false) {
    let part = 0;
    let open = null;
    let openKey = "";
    function into(from, to) {
      const here = marks.filter((m) => m.from < to && from < m.to);
      const key = here.map((m) => m.label).join(" ");
      if (key !== openKey || open === null) {
        openKey = key;
        open = here.length ? el("mark", { class: [...new Set(here.map((m) => m.kind))].join(" "), "data-marks": key }) : node;
        if (here.length) node.append(open);
      }
      for (const m of here) {
        if (!m.begun) {
          m.begun = true;
          open.append(el("sup", { class: "label " + m.kind, title: m.about }, m.label));
        }
      }
      return open;
    }
    for (const m of marks) m.begun = false;
    pieces.forEach((piece, i) => {
      if (typeof piece === "string") {
        let text = piece;
        if (!asSource) {
          if (i + 1 < pieces.length && pieces[i + 1].d) text = text.replace(/\s+$/, "");
          if (i > 0 && pieces[i - 1].d) text = text.replace(/^\s+/, "");
        }
        words(into(part, part + 1), text);
        part += 1;
      } else if (asSource) {
        for (const source of piece.s) { words(into(part, part + 1), source); part += 1; }
      } else {
        const target = into(part, part + piece.s.length);
        if (piece.m) target.append(formula(piece.m, piece.d));
        else target.append(el("code", { class: "tex" }, piece.s.join("")));
        part += piece.s.length;
      }
    });
    return node;
  }

  const prose = (pieces) => set(el("div", { class: "prose" }), pieces);
  const inline = (pieces) => set(el("span", { class: "prose" }), pieces);

  // --- data ---

  const blocks = new Map();
  async function unpack(id) {
    if (!blocks.has(id)) {
      const text = atob(document.getElementById(id).textContent);
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      if (blocks.size > 20) blocks.clear();
      blocks.set(id, JSON.parse(await new Response(stream).text()));
    }
    return blocks.get(id);
  }
  const at = async (kind, place) => (place && place.length ? (await unpack(kind + "-" + place[0]))[place[1]] : null);

  let data = null;
  let state = {};
  let shown = []; // rows that pass the filters, in order
  let opened = null;
  let asSource = false;

  const problem = (row) => data.problems[row.p];
  const cellOf = (row) => (data.judges.length ? row.j[state.j] : [-4, null, null, row.c || null, null]);
  const differs = (row) => cellOf(row)[4] > 0;
  const verdict = (code, binary) => (code < 0 ? NO_VERDICT[code] : binary ? (code === 2 ? "pass" : "not pass") : VERDICTS[code]);
  const number = (x) => (x === null || x === undefined ? "" : String(Math.round(x * 1000) / 1000));
  const tags = (list) => (list === null ? "" : list.length ? list.map((t) => data.tags[t]).join(", ") : "none");

  function humanWords(row) {
    const said = [verdict(row.h, row.b), row.hp === null ? "" : number(row.hp)].filter(Boolean).join(", ");
    return said && row.k === "planted" ? said + " (planted)" : said;
  }
  function judgeWords(row) {
    const [code, points] = cellOf(row);
    return [verdict(code, false), points === null ? "" : number(points)].filter(Boolean).join(", ");
  }
  const answerWords = (row) => (row.a === null ? "" : row.a.replace("_", " "));
  const concernWords = (row) => (cellOf(row)[3] === null ? "" : data.concerns[cellOf(row)[3]]);

  let COLUMNS = [
    ["id", "Solution", (r) => r.i],
    ["model", "Model", (r) => data.models[r.m]],
    ["topic", "Topic", (r) => problem(r).t || ""],
    ["problem", "Problem", (r) => problem(r).i],
    ["human", "Human", humanWords, (r) => -r.h * 100 - (r.hp || 0)],
    ["says", "Judge", judgeWords, (r) => -cellOf(r)[0] * 100 - (cellOf(r)[1] || 0)],
    ["tags", "Tags: human | judge", (r) => { const [h, j] = [tags(r.ht), tags(cellOf(r)[2])]; return h || j ? (h || "–") + " | " + (j || "–") : ""; }],
    ["answer", "Final answer", answerWords],
    ["concern", "Gravest warning", concernWords, (r) => (cellOf(r)[3] === null ? 99 : cellOf(r)[3])],
  ];

  // --- the address ---

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const next = { sort: given.get("sort") || "differ", row: given.get("row"), j: 0 };
    for (const key of FILTERS) next[key] = given.get(key) || "";
    next.j = Math.max(0, data.judges.indexOf(given.get("judge")));
    return next;
  }

  function address(changes) {
    const next = { ...state, ...changes };
    const out = new URLSearchParams();
    if (data.judges.length > 1) out.set("judge", data.judges[next.j]);
    for (const key of FILTERS) if (next[key]) out.set(key, next[key]);
    if (next.sort !== "differ") out.set("sort", next.sort);
    if (next.row !== null) out.set("row", next.row);
    return "#" + out.toString();
  }

  function go(changes, keepHistory) {
    const target = address(changes);
    if (target === location.hash || (target === "#" && !location.hash)) return;
    if (keepHistory) location.hash = target;
    else location.replace(target);
    render(); // at once, not only when the browser tells of the change
  }

  // --- filters ---

  function searched(row) {
    if (row.text === undefined) {
      const p = problem(row);
      row.text = [row.i, data.models[row.m], p.t, p.i, p.s, tags(row.ht), ...row.j.map((c) => tags(c[2]))].join("\n").toLowerCase();
    }
    return row.text;
  }

  function select() {
    const s = state;
    const wanted = s.q.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = data.rows.filter((row) => {
      const cell = cellOf(row);
      return (!s.differ || differs(row)) &&
        (!s.model || data.models[row.m] === s.model) &&
        (!s.topic || problem(row).t === s.topic) &&
        (!s.human || (verdict(row.h, row.b) || "none") === s.human) &&
        (!s.says || verdict(cell[0], false) === s.says) &&
        (!s.tag || (row.ht || []).concat(cell[2] || []).some((t) => data.tags[t] === s.tag)) &&
        (!s.answer || row.a === s.answer) &&
        (!s.concern || (cell[3] !== null && data.concerns[cell[3]] === s.concern)) &&
        wanted.every((w) => searched(row).includes(w));
    });
    const down = s.sort.startsWith("-");
    const column = COLUMNS.find(([key]) => key === s.sort.replace("-", ""));
    const order = new Map(data.rows.map((row, i) => [row, i]));
    let keys;
    if (column) {
      const value = column[3] || ((r) => column[2](r).toLowerCase());
      keys = (r) => value(r);
    } else keys = (r) => [-(cellOf(r)[4] === null ? -1 : cellOf(r)[4]), cellOf(r)[3] === null ? 99 : cellOf(r)[3]];
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const keyed = rows.map((r) => [keys(r), r]);
    keyed.sort(([a, ra], [b, rb]) => {
      const first = Array.isArray(a) ? compare(a[0], b[0]) || compare(a[1], b[1]) : compare(a, b);
      return (down ? -first : first) || order.get(ra) - order.get(rb);
    });
    return keyed.map(([, r]) => r);
  }

  const controls = {};
  function choice(key, label, values) {
    if (!values.length) { controls[key] = { value: "" }; return null; }
    const node = el("select", { id: "f-" + key, on: { change: () => go({ [key]: node.value }) } },
      el("option", { value: "" }, "all"), values.map((v) => el("option", { value: v }, v.replace("_", " "))));
    controls[key] = node;
    return el("div", {}, el("label", { for: "f-" + key }, label), node);
  }
  const distinct = (values) => [...new Set(values.filter((v) => v !== null && v !== ""))].sort();

  let list, tbody, count, heads, rowHeight = 0;

  function buildTable(root) {
    controls.differ = el("input", { type: "checkbox", id: "f-differ", on: { change: (e) => go({ differ: e.target.checked ? "1" : "" }) } });
    controls.q = el("input", { type: "search", id: "f-q", on: { input: (e) => go({ q: e.target.value }) } });
    const codes = data.rows.flatMap((r) => r.j.map((c) => verdict(c[0], false)));
    const people = data.rows.some((r) => r.k === "human") || !data.rows.some((r) => r.k);
    const form = el("form", { class: "filters", on: { submit: (e) => e.preventDefault() } },
      el("div", { class: "check" }, controls.differ, el("label", { for: "f-differ" }, "Disagreements only")),
      el("div", {}, el("label", { for: "f-q" }, "Search"), controls.q),
      choice("model", "Model", distinct(data.models)),
      choice("topic", "Topic", distinct(data.problems.map((p) => p.t))),
      choice("human", people ? "Human" : "Planted", distinct(data.rows.map((r) => verdict(r.h, r.b) || "none"))),
      choice("says", "Judge", distinct(codes)),
      choice("tag", "Tag", data.tags.filter((_, t) => data.rows.some((r) => (r.ht || []).includes(t) || r.j.some((c) => (c[2] || []).includes(t))))),
      choice("answer", "Final answer", distinct(data.rows.map((r) => r.a))),
      choice("concern", "Warning", data.concerns.filter((_, k) => data.rows.some((r) => r.j.some((c) => c[3] === k)))),
      el("div", { class: "check" }, el("button", { type: "button", on: { click: () => go(Object.fromEntries(FILTERS.map((k) => [k, ""]))) } }, "Clear filters")));
    count = el("p", { role: "status", id: "count" });
    // a column in which nothing stands is not shown; all judges count, so that columns stay when the judge is changed
    const some = (told) => data.rows.some(told);
    const standing = { topic: data.problems.some((p) => p.t), human: some((r) => r.k), says: data.judges.length, answer: some((r) => r.a !== null),
      tags: some((r) => r.ht !== null || r.j.some((c) => c[2] !== null)), concern: some((r) => r.j.some((c) => c[3] !== null)) };
    const whose = people ? "Human" : "Planted"; // never a human's name for what no human said
    COLUMNS = COLUMNS.map(([key, label, ...more]) => [key, label.replace("Human", whose).replace("human", whose.toLowerCase()), ...more]);
    COLUMNS = COLUMNS.filter(([key]) => !(key in standing) || standing[key]);
    heads = COLUMNS.map(([key, label]) => el("th", { scope: "col", class: "c-" + key },
      el("button", { type: "button", on: { click: () => go({ sort: state.sort === key ? "-" + key : key }) } }, label, el("span", { "aria-hidden": "true", class: "arrow" }))));
    tbody = el("tbody", {});
    list = el("div", { id: "list", class: "scroll", role: "region", "aria-label": "Table of solutions", tabindex: "0", on: { scroll: () => window.requestAnimationFrame(draw), keydown: moveInTable } },
      el("table", {}, el("caption", { class: "hidden" }, "Solutions, disagreements first unless sorted otherwise"), el("thead", {}, el("tr", { "aria-rowindex": "1" }, heads)), tbody));
    const partly = data.total > data.rows.length ? el("p", { class: "note" }, "This page shows " + data.rows.length + " of " + data.total + " solutions: those on which judges and labels differ most first, then other labelled ones, then the rest by id.") : null;
    root.append(el("section", { id: "table", "aria-labelledby": "h-table" },
      el("div", { class: "line" }, el("h2", { id: "h-table" }, "Every solution"), el("button", { type: "button", on: { click: () => go({ sort: "differ" }) } }, "Disagreements first")),
      partly, form, count, list));
  }

  function draw() {
    if (!rowHeight && shown.length) {
      tbody.replaceChildren(line(0));
      rowHeight = tbody.firstChild.getBoundingClientRect().height || 40;
    }
    const printing = document.body.classList.contains("printing");
    const first = printing ? 0 : Math.max(0, Math.floor(list.scrollTop / rowHeight) - EXTRA);
    const last = printing ? Math.min(shown.length, MOST_PRINTED) : Math.min(shown.length, first + Math.ceil((list.clientHeight || 600) / rowHeight) + 2 * EXTRA);
    const focus = document.activeElement && tbody.contains(document.activeElement) ? document.activeElement.dataset.at : null;
    const rows = [];
    for (let i = first; i < last; i++) rows.push(line(i));
    tbody.replaceChildren(space(first * rowHeight), ...rows, space(printing ? 0 : (shown.length - last) * rowHeight));
    if (focus !== null && focus !== undefined) {
      const again = tbody.querySelector('a[data-at="' + Number(focus) + '"]');
      (again || list).focus({ preventScroll: true });
    }
  }

  function space(height) {
    const cell = el("td", {}); // one cell only: a span over columns that a narrow window hides would bring them back
    cell.style.height = height + "px";
    return el("tr", { class: "space", "aria-hidden": "true", hidden: height <= 0 }, cell);
  }

  function line(i) {
    const row = shown[i];
    return el("tr", { "aria-rowindex": i + 2, class: differs(row) ? "differs" : null }, COLUMNS.map(([key, , value]) => {
      const said = value(row);
      if (key === "id") return el("th", { scope: "row", class: "c-id", title: said }, el("div", {}, el("a", { href: address({ row: row.i }), "data-at": i }, said)));
      const differing = key === "says" && differs(row) ? el("span", { class: "not-equal", title: "differs from the label" }, "≠ ") : null;
      return el("td", { class: "c-" + key, title: said || null }, el("div", {}, differing, said));
    }));
  }

  function moveInTable(event) {
    const page = Math.max(1, Math.floor(list.clientHeight / (rowHeight || 40)) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length };
    const here = event.target.dataset && event.target.dataset.at;
    if (!(event.key in steps) || here === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    focusRow(Math.max(0, Math.min(shown.length - 1, Number(here) + steps[event.key])));
  }

  function focusRow(i) {
    const top = i * rowHeight;
    const head = list.querySelector("thead").offsetHeight;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + rowHeight + head > list.scrollTop + list.clientHeight) list.scrollTop = top + rowHeight + head - list.clientHeight;
    draw();
    const link = tbody.querySelector('a[data-at="' + i + '"]');
    if (link) link.focus({ preventScroll: true });
  }

  function drawTable() {
    for (const key of FILTERS) {
      if (key === "differ") controls.differ.checked = Boolean(state.differ);
      else if (controls[key].value !== state[key]) controls[key].value = state[key];
    }
    heads.forEach((head, i) => {
      const [key] = COLUMNS[i];
      const mine = state.sort.replace("-", "") === key;
      if (mine) head.setAttribute("aria-sort", state.sort.startsWith("-") ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector(".arrow").textContent = mine ? (state.sort.startsWith("-") ? " ▼" : " ▲") : "";
    });
    count.textContent = shown.length + " of " + data.rows.length + " solutions";
    list.querySelector("table").setAttribute("aria-rowcount", shown.length + 1);
    draw();
  }

  // --- one row ---

  const fact = (name, ...said) => el("div", {}, el("dt", {}, name), el("dd", {}, ...said));
  const folded = (title, ...content) => el("details", {}, el("summary", {}, title), content);

  function marksOf(detail) {
    const found = [];
    const put = (kind, label, mark, about) => {
      if (mark !== null && mark !== undefined && detail.marks) found.push({ kind, label, from: detail.marks[mark][0], to: detail.marks[mark][1], about });
      return label;
    };
    const judge = detail.judges[state.j];
    const names = { judge: [], labels: [] };
    ((judge && judge.fallacies) || []).forEach((f, i) => names.judge.push(put("judge", "J" + (i + 1), f.mark, "quoted by the judge: " + f.tag)));
    const numbers = { human: 0, planted: 0 };
    for (const label of detail.labels) {
      const letter = label.kind === "planted" ? "P" : "H";
      names.labels.push(label.spans.map((s) => put(label.kind, letter + ++numbers[label.kind], s.mark, "marked by " + label.by + (s.tag ? ": " + s.tag : ""))));
    }
    if (detail.answer) put("answer", "A", detail.answer.mark, "the extracted final answer");
    return { found, names };
  }

  function labelView(label, names) {
    const said = [label.verdict === null ? "" : label.binary ? (label.verdict === "correct" ? "pass" : "not pass") : WORDS[label.verdict],
      label.points === null ? "" : number(label.points) + (label.max === null ? "" : " of " + number(label.max)) + " points",
      label.tags === null ? "fallacies not annotated" : "fallacies: " + (label.tags.join(", ") || "none"),
      label.answer === null ? "" : "final answer " + (label.answer ? "right" : "wrong")].filter(Boolean).join("; ");
    return el("article", { class: "said " + label.kind },
      el("h4", {}, label.by, label.kind === "planted" ? " (planted, not a human judgement)" : ""), el("p", {}, said),
      label.comment ? prose(label.comment) : null,
      label.spans.length ? el("ul", {}, label.spans.map((s, i) => el("li", {}, el("b", { class: "label " + label.kind }, names[i]), " ", s.tag ? el("b", {}, s.tag + " ") : null, s.comment ? inline(s.comment) : null))) : null);
  }

  function judgeView(judge, names) {
    if (!judge) return el("p", {}, "This judge has not judged this solution.");
    const said = [judge.verdict ? "verdict: " + WORDS[judge.verdict] : "no verdict",
      judge.points === null ? "" : number(judge.points) + (judge.max === null ? "" : " of " + number(judge.max)) + " points",
      judge.probabilities ? "probabilities: " + Object.entries(judge.probabilities).map(([k, p]) => (WORDS[k] || k) + " " + number(p)).join(", ") : ""].filter(Boolean).join("; ");
    return el("article", { class: "said judge" },
      el("p", {}, said),
      judge.error ? el("p", { class: "note" }, "Failed (" + judge.error.kind + "): " + judge.error.message) : null,
      judge.fallacies === null ? null : judge.fallacies.length ? el("ul", {}, judge.fallacies.map((f, i) => fallacyView(f, names[i]))) : el("p", {}, "No fallacy found."),
      judge.apart.length ? folded("Named, but in no figure: without a quote, or of no kind", el("ul", {}, judge.apart.map((f) => fallacyView(f, null)))) : null,
      judge.doubts.length ? folded("Doubts of a first reading", el("ul", {}, judge.doubts.map(entries))) : null,
      judge.wrong ? [el("h4", {}, "First wrong step"), prose(judge.wrong)] : null,
      judge.items.length ? [el("h4", {}, "Rubric items"), el("ul", {}, judge.items.map(entries))] : null,
      judge.reasoning ? [el("h4", {}, "Reasoning"), prose(judge.reasoning)] : null,
      judge.votes.length ? [el("h4", {}, judge.votes.length === 1 ? "Reply" : "Votes"), el("ol", {}, judge.votes.map(voteView)),
        judge.saved ? el("p", {}, judge.saved + " more could not have changed the outcome and were not asked for.") : null] : null);
  }

  const entries = (item) => el("li", {}, Object.entries(item).map(([k, v]) => el("div", {}, el("b", {}, k + ": "), v ? inline(v) : "")));

  function fallacyView(f, name) {
    return el("li", {}, name ? [el("b", { class: "label judge" }, name), " "] : null, el("b", {}, f.tag), f.fatal ? " (fatal)" : "",
      f.probability === null || f.probability === undefined ? "" : " (" + number(f.probability) + " of the votes)",
      f.quote ? [el("br"), "quote: ", el("q", {}, inline(f.quote)), f.mark === null ? el("strong", { class: "ungrounded" }, " does not stand in the solution") : ""] : [el("br"), el("span", {}, "without a quote")],
      f.why ? [el("br"), inline(f.why)] : null);
  }

  function voteView(vote) {
    const said = [vote.by || "", vote.verdict ? WORDS[vote.verdict] : "no verdict", vote.points === null || vote.points === undefined ? "" : number(vote.points) + " points",
      vote.tags && vote.tags.length ? vote.tags.join(", ") : "", vote.finish === "length" ? "cut off by the token limit" : "", vote.error ? "failed (" + vote.error.kind + "): " + vote.error.message : ""].filter(Boolean).join("; ");
    const node = el("li", {}, said, vote.reasoning ? folded("Reasoning", prose(vote.reasoning)) : null);
    if (vote.raw !== null) {
      const hold = folded("Raw reply");
      hold.addEventListener("toggle", async () => {
        if (hold.open && hold.childElementCount === 1) {
          const raw = await at("raw", vote.raw);
          add(hold, [raw === null ? el("p", {}, "Not in this page, to keep it small: it stands in the study's verdicts.") : raw.map((reply) => el("pre", { tabindex: "0", role: "region", "aria-label": "Raw reply" }, reply))]);
        }
      });
      node.append(hold);
    }
    return node;
  }

  const WHY = { right: "It counts as right.", wrong: "It counts as wrong.", missing: "There is none; it counts as not right.", cut_off: "The solution was cut off by the token limit; it counts as not right.",
    undecided: "It is undecided: left out of the value, and inside its bounds.", failed: "The engine failed; it is left out.", unchecked: "It is not checked; it is left out." };

  function answerView(row, detail, statement) {
    if (row.a === null) return el("p", {}, "This problem has no final answer.");
    const byLabel = detail.labels.some((x) => x.answer !== null && x.kind === "human");
    const a = detail.answer;
    const view = (x) => [fact("Outcome", x.outcome), fact("Extracted", x.extracted === null ? "nothing" : el("code", {}, x.extracted)), fact("Decided by", x.method || "–"), fact("Reason", x.reason || "–")];
    return el("div", {}, el("p", {}, WHY[row.a] || row.a, byLabel ? " A human said so, which counts before the checker." : ""),
      el("dl", { class: "facts" }, statement && statement.answer ? fact("Gold answer", inline(statement.answer)) : null, a ? view(a) : null),
      a && a.lenient && a.lenient.outcome !== a.outcome ? [el("p", {}, "By the lenient reading:"), el("dl", { class: "facts" }, view(a.lenient))] : null);
  }

  async function openRow(name, focus) {
    const row = data.rows.find((r) => r.i === name);
    const root = document.getElementById("row");
    if (!row) {
      root.replaceChildren(el("h2", { tabindex: "-1" }, "There is no solution '" + name + "' in this page"), el("p", {}, el("a", { href: address({ row: null }) }, "Back to the table")));
      return;
    }
    const [detail, statement] = await Promise.all([at("text", row.at), at("text", problem(row).at)]);
    if (state.row !== name) return; // another one was opened meanwhile
    const i = shown.indexOf(row);
    const to = (step, label, key) => {
      const other = i < 0 ? undefined : shown[i + step];
      return other ? el("a", { class: "button", rel: step < 0 ? "prev" : "next", href: address({ row: other.i }), "aria-keyshortcuts": key }, label) : el("span", { class: "button off" }, label);
    };
    const heading = el("h2", { tabindex: "-1" }, "Solution ", row.i);
    const nav = el("nav", { class: "line", "aria-label": "Solutions" }, el("a", { class: "button", href: address({ row: null }), "aria-keyshortcuts": "Escape" }, "Back to the table"),
      to(-1, "← Previous", "ArrowLeft"), to(1, "Next →", "ArrowRight"), el("span", {}, i < 0 ? "not among the filtered rows" : i + 1 + " of " + shown.length));
    const cell = cellOf(row);
    const facts = el("dl", { class: "facts" }, fact("Model", data.models[row.m]), fact("Problem", problem(row).i), fact("Topic", problem(row).t || "–"),
      fact(row.k === "planted" ? "Planted label" : "Human", humanWords(row) || "no label"), data.judges.length ? fact("Judge " + data.judges[state.j], judgeWords(row), differs(row) ? " (differs)" : "") : null,
      fact("Final answer", answerWords(row) || "–"), cell[3] !== null ? fact("Gravest warning", el("strong", {}, concernWords(row))) : null);
    if (!detail) {
      root.replaceChildren(nav, heading, facts, el("p", {}, "The texts of this solution are not in this page, to keep it small."));
      return;
    }
    const { found, names } = marksOf(detail);
    const text = el("div", { class: "prose solution", id: "solution-text" });
    const show = () => { text.replaceChildren(); text.classList.toggle("source", asSource); set(text, detail.text || [], found, asSource); toggle.setAttribute("aria-pressed", asSource); };
    const toggle = el("button", { type: "button", "aria-pressed": "false", on: { click: () => { asSource = !asSource; show(); } } }, "TeX source");
    const kinds = new Set(found.map((m) => m.kind));
    const legend = el("p", { class: "legend" }, kinds.size ? "Marked: " : "Nothing is marked. ",
      kinds.has("judge") ? [el("mark", { class: "judge" }, el("b", { class: "label judge" }, "J"), "dashed line below: quoted by the judge"), " "] : null,
      kinds.has("human") ? [el("mark", { class: "human" }, el("b", { class: "label human" }, "H"), "double line above: marked by a human"), " "] : null,
      kinds.has("planted") ? [el("mark", { class: "planted" }, el("b", { class: "label planted" }, "P"), "dotted line above: planted on purpose"), " "] : null,
      kinds.has("answer") ? [el("mark", { class: "answer" }, el("b", { class: "label answer" }, "A"), "framed: the extracted final answer"), " "] : null);
    show();
    const st = statement || {};
    root.replaceChildren(nav, heading, facts,
      el("section", {}, el("h3", {}, "Problem"), st.statement ? prose(st.statement) : el("p", {}, "The study holds no text of it."),
        st.reference_solution ? folded("Reference solution", prose(st.reference_solution)) : null, st.rubric ? folded("Rubric", prose(st.rubric)) : null),
      el("div", { class: "beside" },
        el("section", { class: "side" }, el("div", { class: "line" }, el("h3", {}, "Solution"), toggle), legend,
          detail.error ? el("p", { class: "note" }, "There is no solution (" + detail.error.kind + "): " + detail.error.message) : null,
          detail.finish === "length" ? el("p", { class: "note" }, "Cut off by the token limit.") : null,
          detail.text ? text : el("p", {}, "The study holds no text of it.")),
        el("section", { class: "side" },
          data.judges.length ? [el("h3", {}, "Judge ", data.judges[state.j]), judgeView(detail.judges[state.j], names.judge)] : null,
          el("h3", {}, "Labels"), detail.labels.length ? detail.labels.map((x, k) => labelView(x, names.labels[k])) : el("p", {}, "None."),
          el("h3", {}, "Final answer"), answerView(row, detail, st))));
    if (focus) heading.focus({ preventScroll: true });
    if (focus) window.scrollTo(0, 0);
  }

  // --- the page ---

  function chooser(root) {
    if (!data.judges.length) return;
    const node = el("select", { id: "judge", on: { change: () => go({ j: Number(node.value) }, true) } }, data.judges.map((name, i) => el("option", { value: i }, name)));
    root.append(el("nav", { class: "line", "aria-label": "View" },
      data.judges.length > 1 ? [el("label", { for: "judge" }, "Judge"), node] : el("span", {}, "Judge: " + data.judges[0]),
      el("a", { href: "#solutions", on: { click: (e) => { e.preventDefault(); go({ row: null }, true); document.getElementById("solutions").scrollIntoView(); } } }, "Every solution"),
      el("a", { href: "#all-figures", on: { click: (e) => { e.preventDefault(); go({ row: null }, true); const all = document.getElementById("all-figures"); all.querySelector("details").open = true; all.scrollIntoView(); } } }, "All figures")));
    controls.judge = node;
  }

  let rendered = null;
  function render() {
    if (rendered === location.hash) return;
    rendered = location.hash;
    const before = state;
    state = read();
    if (controls.judge) controls.judge.value = state.j;
    document.querySelectorAll("[data-judge]").forEach((node) => { node.hidden = Number(node.dataset.judge) !== state.j; });
    const same = FILTERS.concat(["sort", "j"]).every((k) => before[k] === state[k]);
    if (!same) {
      shown = select();
      list.scrollTop = 0;
    }
    const open = state.row !== null;
    for (const id of ["overview", "all-figures", "table"]) document.getElementById(id).hidden = open;
    document.querySelector("body > header").hidden = open;
    document.getElementById("row").hidden = !open;
    if (open) {
      opened = state.row;
      openRow(state.row, before.row !== state.row);
    } else {
      drawTable();
      if (opened !== null) {
        const i = shown.findIndex((r) => r.i === opened);
        opened = null;
        document.getElementById("table").scrollIntoView();
        if (i >= 0) focusRow(i);
      }
    }
  }

  document.addEventListener("keydown", (event) => {
    if (state.row === null || state.row === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest && event.target.closest("input, select, textarea, .scroll, pre")) return;
    const link = { ArrowLeft: 'a[rel="prev"]', ArrowRight: 'a[rel="next"]' }[event.key];
    if (event.key === "Escape") go({ row: null }, true);
    else if (link && document.querySelector("#row " + link)) go({ row: new URLSearchParams(document.querySelector("#row " + link).getAttribute("href").slice(1)).get("row") }, true);
    else return;
    event.preventDefault();
  });

  window.addEventListener("beforeprint", () => { document.body.classList.add("printing"); if (state.row === null) draw(); });
  window.addEventListener("afterprint", () => { document.body.classList.remove("printing"); if (state.row === null) draw(); });
  window.addEventListener("resize", () => { rowHeight = 0; if (data && state.row === null) draw(); });

  (async () => {
    data = await unpack("table");
    blocks.clear();
    chooser(document.getElementById("chooser"));
    const root = document.getElementById("solutions");
    buildTable(root);
    root.append(el("article", { id: "row", hidden: true }));
    window.addEventListener("hashchange", render);
    render();
    document.documentElement.dataset.ready = "1";
  })();
})();
