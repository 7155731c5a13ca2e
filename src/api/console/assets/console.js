// What makes the console livelier; every page works without it. No library, no request to any other host.
"use strict";

// A file dropped on the form, and the progress of its upload.
for (const form of document.querySelectorAll("form[data-upload]")) {
  const drop = form.querySelector(".drop");
  const file = form.querySelector("input[type=file]");
  const name = form.querySelector("input[name=name]");
  const bar = form.querySelector("progress");
  const status = form.querySelector("[role=status]");
  const named = () => {
    if (file.files.length > 0 && !name.value) name.value = file.files[0].name.split(".")[0];
  };
  file.addEventListener("change", named);
  for (const type of ["dragenter", "dragover"]) {
    drop.addEventListener(type, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  for (const type of ["dragleave", "drop"]) {
    drop.addEventListener(type, (event) => { event.preventDefault(); drop.classList.remove("over"); });
  }
  drop.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length > 0) { file.files = event.dataTransfer.files; named(); }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const request = new XMLHttpRequest();
    bar.hidden = false;
    request.upload.addEventListener("progress", (sent) => {
      if (!sent.lengthComputable) return;
      bar.value = sent.loaded / sent.total;
      status.textContent = sent.loaded < sent.total
        ? `${Math.round(100 * sent.loaded / sent.total)}% sent` : "Sent. Checking every row…";
    });
    request.addEventListener("load", () => {
      if (request.status < 400) { location.assign(request.responseURL); return; }
      const answer = new DOMParser().parseFromString(request.responseText, "text/html");
      const message = answer.querySelector("[role=alert]");
      bar.hidden = true;
      status.textContent = message ? message.textContent.replace(/\s+/g, " ").trim() : "The upload was refused.";
      status.className = "note bad";
    });
    request.addEventListener("error", () => {
      bar.hidden = true;
      status.textContent = "The connection was lost. Try again.";
    });
    request.open("POST", form.action);
    request.send(new FormData(form));
  });
}

// The progress of a job, as it happens.
const live = document.querySelector("[data-events]");
if (live) {
  const bar = live.querySelector("progress");
  const words = live.querySelector("[data-state]");
  const stages = JSON.parse(live.dataset.stages);
  const left = (seconds) => seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
  const source = new EventSource(live.dataset.events);
  const show = (event) => {
    const job = JSON.parse(event.data);
    if (["succeeded", "failed", "canceled"].includes(job.status)) { source.close(); location.reload(); return; }
    const progress = job.progress;
    if (!progress) return;
    bar.value = progress.fraction;
    const stage = stages[progress.stage] || progress.stage;
    words.textContent = progress.eta_seconds == null ? stage : `${stage}, about ${left(progress.eta_seconds)} left`;
  };
  source.addEventListener("state", show);
  source.addEventListener("progress", show);
}

// Forms that only look something up are sent as they are changed; sliders move with their numbers.
for (const form of document.querySelectorAll("form[data-live]")) {
  let turn = 0;
  let timer = 0;
  const refresh = async () => {
    const mine = ++turn;
    const address = `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;
    const response = await fetch(address, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (mine !== turn) return;
    for (const part of document.querySelectorAll(form.dataset.live)) {
      const found = page.getElementById(part.id);
      if (found) part.replaceChildren(...found.childNodes);
    }
    history.replaceState(null, "", address);
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(refresh, 120); };
  for (const slider of form.querySelectorAll("input[type=range]")) {
    const number = form.elements[slider.dataset.of];
    const mark = () => {
      const line = document.querySelector(`#curve-${slider.dataset.of} .at`);
      const share = (slider.value - slider.min) / (slider.max - slider.min);
      if (line) for (const end of ["x1", "x2"]) line.setAttribute(end, 480 * share);
    };
    slider.hidden = false;
    slider.value = number.value;
    slider.addEventListener("input", () => { number.value = Number(Number(slider.value).toPrecision(4)); mark(); soon(); });
    number.addEventListener("input", () => { slider.value = number.value; mark(); });
  }
  form.addEventListener("change", refresh);
}

// A button that copies the lines above it.
for (const block of document.querySelectorAll("pre[data-copy]")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain slim";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
  });
  block.after(button);
}

// Nothing is deleted or canceled by a slip.
for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => { if (!confirm(form.dataset.confirm)) event.preventDefault(); });
}
