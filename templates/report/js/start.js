// Opens the view and the selection that the address line names.

document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    box.focus();
    box.select();
  }
  if (event.key === "Escape" && !typing) selectNothing();
});

let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    openers[view]?.();
    if (lists[view]) lists[view].draw();
  }, 120);
});

function follow() {
  const [name, what = ""] = decodeURIComponent(location.hash.slice(1)).split("/");
  const [device, port] = what.split(":");
  const from = deviceNamed(device);
  openView(name);
  if (from === undefined) return;
  const cable = port && Number(port) <= portCount(from) ? cableAt(from, Number(port)) : -1;
  if (cable >= 0) selectCable(cable);
  else selectDevice(from);
}
window.addEventListener("hashchange", follow);
follow();
document.documentElement.dataset.ready = "true";
