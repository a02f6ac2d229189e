// The racks, row by row, as elevations: only the rows in sight are drawn.

const CLOSE = 0.95; // share of a rack's power from which its bar warns
const room = { canvas: null, rows: [], width: 0, pitch: 0, hover: -1 };
let unitHeight = 2; // px
const RACK_TOP = 20;
let rowHeight = 0; // px, with the power under the racks where there is room for it

function rackRows() {
  const rows = new Map();
  racks.name.forEach((_, rack) => {
    const row = racks.row[rack];
    if (!rows.has(row)) rows.set(row, []);
    rows.get(row).push(rack);
  });
  return [...rows.entries()].sort(([a], [b]) => a - b).map(([, list]) => list);
}

function openRacks() {
  const scroller = byId("rack-rows");
  if (!room.canvas) {
    room.canvas = make("canvas");
    room.rows = rackRows();
    scroller.append(make("div", { className: "height" }), room.canvas);
    scroller.addEventListener("scroll", () => requestAnimationFrame(drawRacks));
    scroller.addEventListener("keydown", walkRacks);
    room.canvas.addEventListener("pointermove", pointAtRack);
    room.canvas.addEventListener("pointerleave", () => { room.hover = -1; hideTip(); drawRacks(); });
    room.canvas.addEventListener("click", (event) => {
      const { device } = rackAt(event);
      if (device >= 0) selectDevice(device);
      else selectNothing();
    });
  }
  const widest = Math.max(...racks.column) + 1;
  room.width = scroller.clientWidth;
  room.pitch = Math.max(14, Math.min(58, (room.width - 24) / widest));
  unitHeight = room.rows.length * racks.units < 300 ? 5 : 2;
  rowHeight = RACK_TOP + racks.units * unitHeight + (room.pitch < 30 ? 14 : 28);
  const height = room.rows.length * rowHeight + 10;
  scroller.firstChild.style.height = `${height}px`;
  scroller.style.height = `${height}px`;
  const most = Math.max(...racks.kw);
  byId("rack-hint").textContent = `${count(racks.name.length)} racks; the fullest may draw `
    + `${most.toFixed(1)} of ${racks.limit_kw} kW`;
  showRack();
  drawRacks();
}

function drawRacks() {
  if (!room.canvas || view !== "racks") return;
  const scroller = byId("rack-rows");
  const height = scroller.clientHeight;
  const wide = Math.max(room.width, room.pitch * (Math.max(...racks.column) + 1) + 24);
  const context = sized(room.canvas, wide, height);
  const first = Math.floor(scroller.scrollTop / rowHeight);
  const last = Math.min(room.rows.length, first + Math.ceil(height / rowHeight) + 1);
  const chosen = new Set(state.cable >= 0 ? [cables.a[state.cable], cables.z[state.cable]]
    : state.device >= 0 ? [state.device] : []);
  const peers = new Set(state.device >= 0 ? wiresOf(state.device).map((wire) => wire.far) : []);
  for (let row = first; row < last; row++) {
    const y = row * rowHeight - scroller.scrollTop;
    context.fillStyle = colour.soft;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    const name = racks.name[room.rows[row][0]];
    context.fillText(`row ${name.slice(0, name.lastIndexOf("-"))}`, 12, y + 13);
    for (const rack of room.rows[row]) drawRack(context, rack, y + RACK_TOP, chosen, peers);
  }
}

function drawRack(context, rack, top, chosen, peers) {
  const x = 12 + racks.column[rack] * room.pitch;
  const w = room.pitch - Math.min(6, room.pitch / 5);
  const height = racks.units * unitHeight;
  context.fillStyle = colour.raised;
  context.strokeStyle = rack === room.hover ? colour.text : colour.line;
  context.lineWidth = 1;
  context.fillRect(x, top, w, height);
  context.strokeRect(x + 0.5, top + 0.5, w - 1, height - 1);
  const dim = chosen.size > 0;
  for (const device of devicesIn(rack)) {
    const h = modelOf(device).rack_units * unitHeight;
    const y = top + height - (devices.unit[device] - 1) * unitHeight - h;
    context.globalAlpha = !dim || chosen.has(device) ? 1 : peers.has(device) ? 0.8 : 0.25;
    context.fillStyle = chosen.has(device) ? colour.accent : colour[kindName(device)];
    context.fillRect(x + 2, y + 0.25, w - 4, h - 0.5);
  }
  context.globalAlpha = 1;
  const share = racks.kw[rack] / racks.limit_kw;
  context.fillStyle = colour.raised;
  context.fillRect(x, top + height + 3, w, 4);
  context.fillStyle = share > CLOSE ? colour.warn : colour.soft;
  context.fillRect(x, top + height + 3, w * share, 4);
  if (room.pitch < 30) return;
  context.fillStyle = colour.soft;
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText(racks.kw[rack].toFixed(1), x + w / 2, top + height + 18);
}

function rackAt(event) {
  const y = event.offsetY + byId("rack-rows").scrollTop;
  const row = room.rows[Math.floor(y / rowHeight)] ?? [];
  const columnAt = Math.floor((event.offsetX - 12) / room.pitch);
  const rack = row.find((found) => racks.column[found] === columnAt) ?? -1;
  if (rack < 0) return { rack, device: -1 };
  const up = RACK_TOP + racks.units * unitHeight - (y % rowHeight);
  const unit = Math.floor(up / unitHeight) + 1;
  const device = devicesIn(rack).find((found) => unit >= devices.unit[found]
    && unit < devices.unit[found] + modelOf(found).rack_units) ?? -1;
  return { rack, device };
}

function pointAtRack(event) {
  const { rack, device } = rackAt(event);
  if (rack !== room.hover) {
    room.hover = rack;
    requestAnimationFrame(drawRacks);
  }
  if (rack < 0) return hideTip();
  const content = make("table");
  const shown = device >= 0 ? [device] : fromBelow(rack).reverse();
  for (const one of shown.slice(0, 16)) {
    content.append(make("tr", {}, make("th", {}, `U${devices.unit[one]}`),
      make("td", {}, devices.name[one]), make("td", {}, modelOf(one).name)));
  }
  if (shown.length > 16) content.append(make("tr", {}, make("td", { colSpan: 3 }, `and ${shown.length - 16} more`)));
  showTip(event, make("b", {}, racks.name[rack]),
    ` ${racks.kw[rack].toFixed(1)} of ${racks.limit_kw} kW, ${devicesIn(rack).length} devices`, content);
}

// Up and down: the next device of the rack. Left and right: the next rack of the row.
function walkRacks(event) {
  const step = { ArrowUp: 1, ArrowDown: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const from = state.device >= 0 ? state.device : devicesIn(room.rows[0][0])[0];
  const inRack = fromBelow(rackOf(from));
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    selectDevice(inRack[inRack.indexOf(from) + step] ?? from);
    return;
  }
  const row = room.rows.find((list) => list.includes(rackOf(from)));
  const ordered = row.toSorted((a, b) => racks.column[a] - racks.column[b]);
  const next = ordered[ordered.indexOf(rackOf(from)) + step];
  if (next !== undefined) selectDevice(fromBelow(next)[0]);
}

const fromBelow = (rack) => devicesIn(rack).toSorted((a, b) => devices.unit[a] - devices.unit[b]);

// Scrolls to the rack of what is selected.
function showRack() {
  const device = state.device >= 0 ? state.device : state.cable >= 0 ? cables.a[state.cable] : -1;
  if (device < 0 || !room.canvas || view !== "racks") return;
  const row = room.rows.findIndex((list) => list.includes(rackOf(device)));
  const scroller = byId("rack-rows");
  const top = row * rowHeight;
  if (top < scroller.scrollTop || top + rowHeight > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = top - (scroller.clientHeight - rowHeight) / 2;
  }
}

openers.racks = openRacks;
redraws.push(drawRacks);
whenSelected(() => { showRack(); drawRacks(); });
legend(byId("rack-legend"), [...KINDS.filter((_, kind) => devices.kind.includes(kind))
  .map((kind) => [kind, kind]), ["power", "power, of the limit"],
  ...(racks.kw.some((kw) => kw > CLOSE * racks.limit_kw) ? [["warn", "over 95 %"]] : [])]);
