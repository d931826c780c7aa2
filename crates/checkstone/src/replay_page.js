"use strict";
const form = document.getElementById("filter");
const holds = Array.from(document.querySelectorAll("details.hold"));
const shown = form.querySelector("output");
function filter() {
  const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rule = form.elements.rule.value;
  const action = form.elements.action.value;
  const agent = form.elements.agent.value;
  let count = 0;
  for (const hold of holds) {
    const text = hold.textContent.toLowerCase();
    const fits = (!rule || hold.dataset.rules.split(" ").includes(rule))
      && (!action || hold.dataset.actions.split("\n").includes(action))
      && (!agent || hold.dataset.agent === agent)
      && words.every((word) => text.includes(word));
    hold.hidden = !fits;
    count += fits ? 1 : 0;
  }
  shown.textContent = count + " of " + holds.length;
}
form.hidden = holds.length === 0;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
