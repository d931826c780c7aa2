"use strict";
// Keeps an open page as the server sees it: parts that changed are exchanged, all others stay. The page can be read without it.
const live = document.getElementById("live");
const parts = document.getElementById("parts");
const key = (element) => element.dataset.key || element.id;

function showState(state, words) {
  live.dataset.state = state;
  live.querySelector("b").textContent = words;
}

// "5 min ago", kept true; the whole time is in the title.
function ago(seconds) {
  if (seconds < 5) return "now";
  if (seconds < 60) return Math.floor(seconds) + " s ago";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min ago";
  if (seconds < 172800) return Math.floor(seconds / 3600) + " h ago";
  return Math.floor(seconds / 86400) + " days ago";
}
function tellTimes(root) {
  const now = Date.now();
  for (const time of root.querySelectorAll("time[datetime]:not([data-fixed])")) {
    const text = ago((now - Date.parse(time.dateTime)) / 1000);
    if (time.textContent !== text) time.textContent = text;
  }
}

// What a person opened, focused and scrolled stays so.
function exchange(old, fresh) {
  const open = new Map(Array.from(old.querySelectorAll("details[data-key]"), (one) => [key(one), one.open]));
  const scrolled = new Map(Array.from(old.querySelectorAll("[data-tail]"), (one) => [
    one.dataset.tail,
    one.scrollTop + one.clientHeight >= one.scrollHeight - 4 ? Infinity : one.scrollTop,
  ]));
  const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") || document.activeElement.id : null;
  for (const one of fresh.querySelectorAll("details[data-key]")) {
    if (open.has(key(one))) one.open = open.get(key(one));
  }
  old.replaceWith(fresh);
  for (const one of fresh.querySelectorAll("[data-tail]")) {
    const place = scrolled.get(one.dataset.tail);
    one.scrollTop = place === undefined || place === Infinity ? one.scrollHeight : place;
  }
  if (focused) {
    const again = Array.from(fresh.querySelectorAll("a, summary, input, button")).find((one) => one.getAttribute("href") === focused || one.id === focused);
    if (again) again.focus({ preventScroll: true });
  }
}

function take(change) {
  document.title = change.title;
  for (const [id, markup] of Object.entries(change.parts)) {
    const holder = document.createElement("template");
    holder.innerHTML = markup;
    const fresh = holder.content.firstElementChild;
    fresh.classList.add("fresh");
    tellTimes(fresh);
    const old = document.getElementById("part-" + id);
    if (old) exchange(old, fresh);
    else parts.append(fresh);
  }
  const wanted = change.order.map((id) => "part-" + id);
  const known = new Set(wanted);
  for (const one of Array.from(parts.children)) {
    if (!known.has(one.id)) one.remove();
  }
  wanted.forEach((id, place) => {
    const one = document.getElementById(id);
    if (one && parts.children[place] !== one) parts.insertBefore(one, parts.children[place] || null);
  });
}

let stream = null;
let seen = document.body.dataset.seen;
function connect() {
  const page = location.pathname + location.search;
  stream = new EventSource("/live?page=" + encodeURIComponent(page) + (seen ? "&seen=" + seen : ""));
  seen = null;
  stream.addEventListener("open", () => showState("on", "live"));
  stream.addEventListener("live", () => showState("on", "live"));
  stream.addEventListener("parts", (event) => take(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    showState("lost", stream.readyState === EventSource.CLOSED ? "not live: open the page again" : "reconnecting");
  });
}
// A browser allows few connections to one server: a page that nobody sees needs none.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stream.close();
    showState("off", "paused");
  } else if (stream.readyState === EventSource.CLOSED) {
    connect();
  }
});

// Keys: j and k go from card to card, / to the search, g and a letter to a view.
let goes = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const views = { s: "/", r: "/runs", w: "/workflows", h: "/history", t: "/team" };
  if (goes && views[event.key] && document.querySelector('nav a[href="' + views[event.key] + '"]')) location.assign(views[event.key]);
  goes = event.key === "g";
  if (event.key === "j" || event.key === "k") {
    const all = Array.from(parts.querySelectorAll("h3 a, a[data-item], summary[data-item]"));
    const place = all.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
    const next = all[Math.max(0, Math.min(all.length - 1, place))];
    if (next) next.focus();
  }
  if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) {
      search.focus();
      event.preventDefault();
    } else {
      location.assign("/history#words");
    }
  }
});

if (location.hash === "#words") document.getElementById("words")?.focus();

document.querySelector(".keys").hidden = false;
tellTimes(document);
for (const one of document.querySelectorAll("[data-tail]")) one.scrollTop = one.scrollHeight;
setInterval(() => tellTimes(document), 5000);
// What asks before it acts.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.ask;
  if (question && !confirm(question)) event.preventDefault();
});
connect();
