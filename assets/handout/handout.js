// Shows one scene at a time, and checks answers against those at the end of the page.
"use strict";
(() => {
  const scenes = [...document.querySelectorAll(".scene")];
  const header = document.querySelector("header");
  const results = new Map();  // by question: was it right?
  let shown = 0;
  const find = (id) => document.getElementById(id);

  function show(index, fromAddress) {
    shown = Math.max(0, Math.min(index, scenes.length - 1));
    scenes.forEach((scene, i) => scene.classList.toggle("is-shown", i === shown));
    header.classList.toggle("is-shown", shown === 0);
    find("back").disabled = shown === 0;
    find("next").disabled = shown === scenes.length - 1;
    const isScene = (part) => part.id.startsWith("scene-");
    const count = scenes.filter(isScene).length;
    find("place").textContent = isScene(scenes[shown])
      ? `${shown + 1} of ${count}` : scenes[shown].querySelector("h2").textContent;
    if (!fromAddress) history.replaceState(null, "", "#" + scenes[shown].id);
    window.scrollTo(0, 0);
  }

  function showAddress() {
    const wanted = scenes.findIndex((scene) => "#" + scene.id === location.hash);
    show(wanted < 0 ? 0 : wanted, true);
  }

  const { judge } = answersBy(JSON.parse((find("answers") || { dataset: { rules: "{}" } }).dataset.rules));

  // Returns how an answer is judged, or a text that says why it cannot be.
  function check(form, answer) {
    const typed = form.querySelector(".typed input");
    if (form.dataset.kind === "cut") return typed.value.trim() === "" ? "Write an answer first." : { right: false };
    const key = JSON.parse(answer.dataset.key);
    if (form.dataset.kind === "choice") {
      const chosen = form.querySelector("input:checked");
      return chosen ? judge(key, chosen.value) : "Choose one of the answers.";
    }
    if (form.dataset.kind === "order") {
      const items = [...form.querySelectorAll(".item")];
      if (items.some((item) => !item.dataset.place)) return "Number all of them first.";
      items.sort((a, b) => a.dataset.place - b.dataset.place);
      return judge(key, items.map((item) => item.dataset.item));
    }
    if (typed.value.trim() === "") return "Write an answer first.";
    const judged = judge(key, typed.value);
    return judged.problem ? `"${typed.value.trim()}" ${judged.problem}.` : judged;
  }

  function say(form, word, kind, answer) {
    const verdict = form.querySelector(".verdict");
    verdict.className = "verdict " + kind;
    verdict.textContent = "";
    if (word) {
      const line = document.createElement("p");
      line.className = "word";
      line.textContent = word;
      verdict.append(line);
    }
    if (answer)
      for (const part of answer.children) {
        const copy = part.cloneNode(true);
        copy.querySelectorAll(".number").forEach((number) => number.remove());
        verdict.append(copy);
      }
  }

  function keepScore() {
    const right = [...results.values()].filter(Boolean).length;
    find("score").textContent = results.size ? `${right} of ${results.size} right` : "";
  }

  document.querySelectorAll(".question").forEach((form) => {
    const answer = find("a" + form.id.slice(1));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const result = check(form, answer);
      if (typeof result === "string") return say(form, result, "", null);
      // A cut is right if it does what is asked, and that takes the engine: other cuts may do it too.
      if (form.dataset.kind === "cut") return say(form, "One that does it:", "", answer);
      if (!results.has(form.id)) results.set(form.id, result.right);
      keepScore();
      // Who is told a hint tries again; the answer is one more click away.
      if (result.hint) return say(form, "Not right. " + result.hint, "is-wrong", null);
      say(form, result.right ? "Right" : "Not right. Right is:", result.right ? "is-right" : "is-wrong", answer);
    });
    form.querySelector(".reveal").addEventListener("click", () => say(form, "", "", answer));
    const items = [...form.querySelectorAll(".item")];
    items.forEach((item) =>
      item.addEventListener("click", () => {
        if (item.dataset.place) {
          // What came after it moves up.
          const place = Number(item.dataset.place);
          delete item.dataset.place;
          items.forEach((other) => {
            if (other.dataset.place > place) other.dataset.place -= 1;
          });
        } else {
          item.dataset.place = items.filter((other) => other.dataset.place).length + 1;
        }
        items.forEach((one) => (one.querySelector(".place").textContent = one.dataset.place || ""));
      })
    );
  });

  find("back").addEventListener("click", () => show(shown - 1));
  find("next").addEventListener("click", () => show(shown + 1));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.matches("input")) return;
    const to = { ArrowRight: shown + 1, PageDown: shown + 1, ArrowLeft: shown - 1, PageUp: shown - 1,
                 Home: 0, End: scenes.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
  window.addEventListener("hashchange", showAddress);

  document.documentElement.classList.add("steps");
  document.querySelector(".controls").hidden = false;
  showAddress();
})();
