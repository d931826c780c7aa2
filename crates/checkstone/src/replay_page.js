"use strict";
const form = document.getElementById("filter");
const turns = Array.from(document.querySelectorAll("details[data-agent]"));
const shown = form.querySelector("output");
function filter() {
  const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rule = form.elements.rule.value;
  const action = form.elements.action.value;
  const agent = form.elements.agent.value;
  const project = form.elements.project.value;
  let count = 0;
  for (const turn of turns) {
    const text = turn.textContent.toLowerCase();
    const fits = (!rule || turn.dataset.rules.split(" ").includes(rule))
      && (!action || turn.dataset.actions.split("\n").includes(action))
      && (!agent || turn.dataset.agent === agent)
      && (!project || turn.dataset.project === project)
      && words.every((word) => text.includes(word));
    turn.hidden = !fits;
    count += fits ? 1 : 0;
  }
  shown.textContent = count + " of " + turns.length;
}
form.hidden = turns.length === 0;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
