// What is selected, which view is open, the tooltip and the colours.

const byId = (id) => document.getElementById(id);
const listeners = [];
const state = { device: -1, cable: -1 };
const whenSelected = (listener) => listeners.push(listener);

function select(device, cable = -1) {
  state.device = device;
  state.cable = cable;
  remember();
  for (const listener of listeners) listener();
}
const selectDevice = (device) => select(device);
const selectCable = (cable) => select(-1, cable);
const selectNothing = () => select(-1);

const tabs = [...document.querySelectorAll('[role="tab"]')];
const views = tabs.map((tab) => tab.id.slice(4));
const openers = {};
let view = "";

function openView(name) {
  if (!views.includes(name)) name = "fabric";
  view = name;
  for (const tab of tabs) {
    const open = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(open));
    tab.tabIndex = open ? 0 : -1;
    byId(tab.id.replace("tab-", "view-")).hidden = !open;
  }
  openers[name]?.();
  remember();
}

// The address line holds the view and the selection, so that a link shows the same.
function remember() {
  const what = state.device >= 0 ? devices.name[state.device]
    : state.cable >= 0 ? cableId(state.cable) : "";
  history.replaceState(null, "", `#${view}${what ? `/${what}` : ""}`);
}

for (const [number, tab] of tabs.entries()) {
  tab.addEventListener("click", () => openView(views[number]));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (number + step + tabs.length) % tabs.length;
    openView(views[next]);
    tabs[next].focus();
  });
}

const tip = byId("tip");
function showTip(event, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { innerWidth: width, innerHeight: height } = window;
  const { offsetWidth: w, offsetHeight: h } = tip;
  const right = event.clientX + 16 + w < width;
  const x = right ? event.clientX + 16 : Math.max(4, event.clientX - 16 - w);
  tip.style.left = `${x}px`;
  tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, height - h - 8))}px`;
}
const hideTip = () => { tip.hidden = true; };

function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = [...KINDS, "page", "card", "raised", "line", "text", "soft", "accent", "free",
    "warn"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}
const redraws = [];
let colour = colours();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colour = colours();
  for (const redraw of redraws) redraw();
});

// A canvas of so many CSS pixels, sharp on every screen.
function sized(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
