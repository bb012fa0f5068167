"use strict";
// The page works without this. With it, parts that are marked data-live are asked for again when something has changed.
(() => {
  const status = document.getElementById("live");
  const say = (words) => { if (status && status.textContent !== words) status.textContent = words; };
  let asking = false;
  let again = false;

  function put(fresh) {
    for (const part of fresh.querySelectorAll("[data-live][id]")) {
      const old = document.getElementById(part.id);
      if (!old || old.isEqualNode(part)) continue;
      const held = old.contains(document.activeElement) ? document.activeElement.id : "";
      const scrolled = [...old.querySelectorAll(".log, .scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
      old.replaceWith(document.importNode(part, true));
      const now = document.getElementById(part.id);
      now.querySelectorAll(".log, .scroll").forEach((box, place) => {
        if (scrolled[place]) [box.scrollLeft, box.scrollTop] = scrolled[place];
      });
      if (held) document.getElementById(held)?.focus({ preventScroll: true });
    }
  }

  async function refresh() {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(location.pathname + location.search, { cache: "no-store" });
      if (answer.ok) put(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      say("The page cannot be reached now.");
    } finally {
      asking = false;
      if (again) { again = false; refresh(); }
    }
  }

  const search = document.querySelector("form[data-search]");
  let waiting = 0;
  search?.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const asked = new URLSearchParams(new FormData(search));
      history.replaceState(null, "", `${search.getAttribute("action")}?${asked}`);
      refresh();
    }, 150);
  });

  const source = document.body.dataset.events;
  if (source) {
    const events = new EventSource(source);
    events.addEventListener("open", () => { say("Live."); refresh(); });
    events.addEventListener("change", refresh);
    events.addEventListener("over", async () => {
      await refresh();
      events.close();
      say("It has ended; this page changes no more.");
    });
    events.addEventListener("error", () => say("The page cannot be reached now; trying again."));
    addEventListener("pagehide", () => events.close());
  }
})();
