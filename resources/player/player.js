// Steps through the figures in DATA. Every figure is a list of numbers into one table of drawn elements.
(function () {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const svg = $("drawing"), slider = $("slider"), last = DATA.figures.length - 1;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const lesson = DATA.lesson || [];
  let step = 0, timer = 0, motion = 0, checkpoint = 0;

  const draw = (figure) => { svg.innerHTML = figure.map((i) => DATA.table[i]).join(""); };
  const latest = (changes, upto) => {
    const held = {};
    for (const [at, key, value] of changes) { if (at > upto) break; held[key] = value; }
    return held;
  };

  function show(n, moving) {
    step = Math.max(0, Math.min(last, Math.round(Number(n)) || 0));
    cancelAnimationFrame(motion);
    const frames = moving && !still.matches ? DATA.motion[step] || [] : [];
    if (frames.length) {
      const begin = performance.now();
      const tick = (now) => {
        const k = Math.floor((now - begin) / DATA.frame_ms);
        if (k >= frames.length) { draw(DATA.figures[step]); return; }
        draw(frames[k]);
        motion = requestAnimationFrame(tick);
      };
      draw(frames[0]);
      motion = requestAnimationFrame(tick);
    } else {
      draw(DATA.figures[step]);
    }
    const [title, body] = DATA.words[step];
    $("title").textContent = title;
    $("body").textContent = body;
    $("counter").textContent = DATA.labels.counter.replace("{step}", step).replace("{steps}", last);
    if (lesson.length && lesson[checkpoint][0] !== step) tell(before(step));
    slider.value = step;
    slider.setAttribute("aria-valuetext", title);
    mark();
  }

  // The last checkpoint at or before a step; the first where there is none.
  function before(n) {
    let found = 0;
    lesson.forEach(([at], k) => { if (at !== null && at <= n) found = k; });
    return found;
  }

  function tell(k) {
    checkpoint = k;
    $("told").innerHTML = lesson[k][1];
    $("place").textContent = DATA.labels.checkpoint.replace("{number}", k + 1).replace("{count}", lesson.length);
    $("back").disabled = k === 0;
    $("on").disabled = k === lesson.length - 1;
  }

  function visit(k) {
    k = Math.max(0, Math.min(lesson.length - 1, Math.round(Number(k)) || 0));
    tell(k);
    if (lesson[k][0] !== null) { play(false); show(lesson[k][0], true); }
  }

  function mark() {
    const [first, end, from, to] = DATA.lines[step];
    for (const line of document.querySelectorAll("#code div")) {
      const n = Number(line.dataset.line);
      line.className = (n >= first && n <= end ? "now " : "") + (n >= from && n <= to ? "origin" : "");
    }
    const now = document.querySelector("#code .now");
    if (now) {
      const box = $("code");
      if (now.offsetTop < box.scrollTop || now.offsetTop + 20 > box.scrollTop + box.clientHeight) {
        box.scrollTop = now.offsetTop - box.clientHeight / 2;
      }
    }
  }

  function play(on) {
    clearInterval(timer);
    timer = 0;
    if (on) {
      if (step >= last) show(0, false);
      timer = setInterval(() => { if (step >= last) play(false); else show(step + 1, true); }, 1300);
    }
    $("play").textContent = timer ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", timer ? DATA.labels.pause : DATA.labels.play);
  }

  const go = (n, moving) => { play(false); show(n, moving); };
  $("first").onclick = () => go(0);
  $("previous").onclick = () => go(step - 1);
  $("next").onclick = () => go(step + 1, true);
  $("last").onclick = () => go(last);
  $("play").onclick = () => play(!timer);
  slider.oninput = () => go(slider.value);
  if (lesson.length) {
    $("back").onclick = () => visit(checkpoint - 1);
    $("on").onclick = () => visit(checkpoint + 1);
    tell(before(DATA.start));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const keys = {
      ArrowRight: () => go(step + 1, true), ArrowLeft: () => go(step - 1), PageDown: () => go(step + 1, true),
      PageUp: () => go(step - 1), Home: () => go(0), End: () => go(last), " ": () => play(!timer),
    };
    if (!keys[event.key] || (event.key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    keys[event.key]();
  });

  window.gradviz = {
    steps: last,
    goto: (n) => { go(n, false); return window.gradviz.state(); },
    state: () => ({ step: step, grads: latest(DATA.grads, step), nodes: latest(DATA.nodes, step),
      ...(lesson.length ? { checkpoint: checkpoint } : {}) }),
  };
  if (lesson.length) window.gradviz.checkpoint = (k) => { visit(k); return window.gradviz.state(); };
  show(DATA.start, false);
})();
