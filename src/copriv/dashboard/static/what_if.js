"use strict";
// The page works without this, by its button. With it, the forecast follows the sliders.
(() => {
  const form = document.getElementById("setting");
  if (!form) return;
  const status = document.getElementById("live");
  const slides = [...form.querySelectorAll("input[type=range]")];
  const STEPS = 1000;
  let asking = false;
  let again = false;
  let later = 0;

  // A step of a slider is a factor; at the very left δ is 0.
  function toValue(slide) {
    const { low, high } = slide.dataset;
    const place = Number(slide.value) / STEPS;
    if (slide.dataset.for === "delta" && place === 0) return "0";
    const value = Number(low) * (Number(high) / Number(low)) ** place;
    const whole = document.getElementById(slide.dataset.for).step === "1";
    return whole ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
  }
  function toPlace(slide) {
    const { low, high } = slide.dataset;
    const value = Number(document.getElementById(slide.dataset.for).value);
    if (!(value > 0)) return 0;
    const place = Math.log(value / Number(low)) / Math.log(Number(high) / Number(low));
    return Math.round(STEPS * Math.min(1, Math.max(0, place)));
  }

  function put(fresh) {
    for (const part of fresh.querySelectorAll("[data-live][id]")) {
      const old = document.getElementById(part.id);
      if (old && !old.isEqualNode(part)) old.replaceWith(document.importNode(part, true));
    }
    document.getElementById("json").href = document.getElementById("link").href.replace("/what-if?", "/what-if.json?");
  }

  async function refresh() {
    if (asking) { again = true; return; }
    asking = true;
    clearTimeout(later);
    const asked = new URLSearchParams(new FormData(form)).toString();
    try {
      const answer = await fetch(`${form.getAttribute("action")}?${asked}&curve=some`, { cache: "no-store" });
      const text = await answer.text();
      if (answer.ok) {
        put(new DOMParser().parseFromString(text, "text/html"));
        history.replaceState(null, "", `${form.getAttribute("action")}?${asked}`);
        status.textContent = "";
      } else {
        status.textContent = text.trim();
      }
    } catch {
      status.textContent = "The page cannot be reached now.";
    } finally {
      asking = false;
      if (again) { again = false; refresh(); }
      else if (document.getElementById("curve").dataset.complete === "no") later = setTimeout(refresh, 250);
    }
  }

  for (const slide of slides) {
    slide.classList.remove("off");
    slide.value = String(toPlace(slide));
    slide.addEventListener("input", () => {
      document.getElementById(slide.dataset.for).value = toValue(slide);
      refresh();
    });
  }
  form.addEventListener("input", (event) => {
    if (event.target.type === "range") return;
    for (const slide of slides) if (slide.dataset.for === event.target.id) slide.value = String(toPlace(slide));
    if (event.target.value !== "") refresh();
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
})();
