// The fabric view: the map, the pointer and the keyboard on it.

const map = { layout: null, width: 0, hover: -1, rest: null, over: null };

function chosenDevice(device) {
  const wires = wiresOf(device);
  return { core: [device], lit: new Set([device, ...wires.map((wire) => wire.far)]),
    links: wires.map((wire) => wire.cable) };
}

function chosenCable(cable) {
  const ends = [cables.a[cable], cables.z[cable]];
  return { core: ends, lit: new Set(ends), links: [cable] };
}

function drawChosen() {
  if (!map.layout) return;
  const device = map.hover >= 0 ? map.hover : state.device;
  const chosen = device >= 0 ? chosenDevice(device)
    : state.cable >= 0 ? chosenCable(state.cable) : null;
  const lit = drawLit(map.over.getContext("2d"), map.layout, map.width, chosen);
  const name = device >= 0 ? devices.name[device] : state.cable >= 0 ? cableId(state.cable) : "";
  Object.assign(map.over.dataset, { lit: name, links: lit.links, peers: lit.peers });
  map.over.setAttribute("aria-label", name
    ? `${name}: ${lit.links} cables to ${lit.peers} devices`
    : "The fabric. Arrow keys walk from switch to switch.");
}

function drawMap() {
  const holder = byId("map-holder");
  const width = Math.max(640, holder.clientWidth - 24);
  if (!map.rest) {
    [map.rest, map.over] = [make("canvas"), make("canvas", { tabIndex: 0 })];
    map.over.setAttribute("role", "img");
    holder.append(make("div", { className: "sheet" }, map.rest, map.over));
    listen(map.over);
  }
  map.width = width;
  map.layout = layOut(width);
  map.rest.parentElement.style.height = `${map.layout.height}px`;
  map.rest.parentElement.style.width = `${width}px`;
  drawRest(sized(map.rest, width, map.layout.height), map.layout, width);
  sized(map.over, width, map.layout.height);
  drawChosen();
}

function listen(canvas) {
  canvas.addEventListener("pointermove", (event) => {
    const at = hit(map.layout, event.offsetX, event.offsetY);
    const device = at ? at.device : -1;
    if (device !== map.hover) {
      map.hover = device;
      requestAnimationFrame(drawChosen);
    }
    if (device >= 0) {
      showTip(event, make("b", {}, devices.name[device]),
        ` ${kindName(device)}, ${placeText(device)}`, runsTable(device, 12));
    } else if (at) {
      showTip(event, `${devices.name[at.leaf]} port ${at.port}: free`);
    } else {
      hideTip();
    }
  });
  canvas.addEventListener("pointerleave", () => {
    map.hover = -1;
    hideTip();
    drawChosen();
  });
  canvas.addEventListener("click", (event) => {
    const at = hit(map.layout, event.offsetX, event.offsetY);
    if (at && at.device >= 0) selectDevice(at.device);
    else selectNothing();
  });
  canvas.addEventListener("keydown", walk);
}

// Left and right: the neighbour in the layer. Up and down: the first far end above or below.
function walk(event) {
  const keys = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: "up", ArrowDown: "down" };
  const step = keys[event.key];
  if (!step) return;
  event.preventDefault();
  const from = state.device;
  if (from < 0) {
    selectDevice(members("leaf", data.trees[0])[0]);
  } else if (typeof step === "number") {
    const next = from + step;
    if (next >= 0 && next < deviceCount && devices.kind[next] === devices.kind[from]) selectDevice(next);
  } else {
    const wire = wiresOf(from).find(({ cable }) =>
      (step === "up" ? cables.a[cable] : cables.z[cable]) === from);
    if (wire) selectDevice(wire.far);
  }
}

openers.fabric = () => { if (map.width !== byId("map-holder").clientWidth - 24) drawMap(); };
redraws.push(() => { if (map.layout) drawMap(); });
whenSelected(drawChosen);
legend(byId("legend"), [...KINDS.filter((_, kind) => devices.kind.includes(kind))
  .map((kind) => [kind, kind]), ["free", "free port"]]);
