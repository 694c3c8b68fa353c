"use strict";
// The heat map's slider, and details that open for printing. Without scripts the page shows the
// last round and loses nothing else.
(() => {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
  const source = document.getElementById("reputation-data");
  if (!source) return;
  const rounds = JSON.parse(source.textContent);
  // Left out where nothing changed, to keep the file small.
  rounds.forEach((one, at) => { one.reputation ??= rounds[at - 1].reputation; });
  const control = document.getElementById("reputation-control");
  const slider = document.getElementById("reputation-round");
  const label = document.getElementById("reputation-label");
  const play = document.getElementById("reputation-play");
  const words = document.getElementById("reputation").dataset;
  const cells = [...document.querySelectorAll("#reputation td[data-student]")];
  let timer = null;

  function show(at) {
    const now = rounds[at];
    for (const cell of cells) {
      const n = Number(cell.dataset.student), k = Number(cell.dataset.teacher);
      const value = now.reputation[n][k];
      cell.className = value === null ? "none" : `s${Math.round(value * 10)}`;
      cell.querySelector(".value").textContent = value === null ? "\u2013" : value.toFixed(2).replace(".", words.decimal);
      const mark = now.marks[n][k];
      cell.querySelector(".mark").textContent =
        mark === "2" ? words.yes : mark === "1" ? words.no
          : value === null && words.absent ? words.absent : words.none;
    }
    const text = words.round.replace("{at}", at + 1).replace("{of}", rounds.length)
      + (now.forced ? words.forced : "");
    label.textContent = text;
    slider.setAttribute("aria-valuetext", text);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = words.play;
  }

  slider.addEventListener("input", () => { stop(); show(slider.valueAsNumber); });
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.valueAsNumber >= rounds.length - 1) slider.value = 0;
    play.textContent = words.pause;
    show(slider.valueAsNumber);
    timer = setInterval(() => {
      slider.value = slider.valueAsNumber + 1;
      show(slider.valueAsNumber);
      if (slider.valueAsNumber >= rounds.length - 1) stop();
    }, 350);
  });
  control.hidden = false;
  slider.value = rounds.length - 1;  // a reloaded page may remember another place
  show(rounds.length - 1);
})();
