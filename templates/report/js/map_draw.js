// Draws the map: all of it once, then only what is pointed at.

const MESH_LIMIT = 5000; // cables between switches that are drawn while nothing is selected

function drawBox(context, device, box, fill) {
  context.fillStyle = fill;
  context.beginPath();
  context.roundRect(box.x, box.y, box.w, box.h, 2);
  context.fill();
  const number = devices.name[device].match(/\d+$/)[0];
  const upright = box.w >= number.length * 6 + 3;
  if (!upright && (box.w < 7 || box.h < number.length * 6 + 4)) return;
  context.save();
  context.translate(box.x + box.w / 2, box.y + box.h / 2);
  if (!upright) context.rotate(-Math.PI / 2);
  context.fillStyle = colour.card;
  context.font = `${box.w < 9 ? 8 : 9.5}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(number, 0, 0.5);
  context.restore();
}

function drawTick(context, box, i, fill) {
  const { x, y } = tickAt(box, i);
  const side = box.tick - 1;
  if (fill === null) {
    context.strokeStyle = colour.free;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
  } else {
    context.fillStyle = fill;
    context.fillRect(x, y, side, side);
  }
}

function line(context, layout, cable) {
  const lower = layout.boxes.get(cables.a[cable]);
  const upper = layout.boxes.get(cables.z[cable]);
  if (!lower || !upper) return;
  const below = lower.y > upper.y;
  context.moveTo(lower.x + lower.w / 2, below ? lower.y : lower.y + lower.h);
  context.lineTo(upper.x + upper.w / 2, below ? upper.y + upper.h : upper.y);
}

// The cables between switches, one of each trunk: within trees, and between them.
function trunks() {
  const found = { tree: [], interzone: [], all: 0 };
  const seen = new Set();
  for (let c = 0; c < cableCount; c++) {
    const list = found[cables.roles[cables.role[c]]];
    if (!list) continue;
    found.all += 1;
    const ends = cables.a[c] * deviceCount + cables.z[c];
    if (found.all <= MESH_LIMIT && !seen.has(ends)) list.push(c);
    if (found.all <= MESH_LIMIT) seen.add(ends);
  }
  return found;
}

function drawRest(context, layout, width) {
  context.clearRect(0, 0, width, layout.height);
  const { tree, interzone, all } = trunks();
  if (all > MESH_LIMIT) layout.bands.forEach((band) => drawBand(context, band));
  else strokes(context, layout, tree, colour.soft, 0.1 + 12 / (tree.length + 60), 0.8);
  if (all <= MESH_LIMIT) strokes(context, layout, interzone, colour.interzone, 0.5, 1);
  for (const { x, y, text, strong } of layout.labels) {
    context.fillStyle = strong ? colour.text : colour.soft;
    context.font = `${strong ? "600 13px" : "11px"} system-ui, sans-serif`;
    context.textAlign = "left";
    context.fillText(text, x, y);
  }
  for (const [device, box] of layout.boxes) {
    drawBox(context, device, box, colour[kindName(device)]);
    box.ports.forEach(({ far }, i) =>
      drawTick(context, box, i, far < 0 ? null : colour[kindName(far)]));
  }
}

// Cables that are too many to draw: a field, and how many they are.
function drawBand(context, band) {
  const { left, width, top, bottom } = band;
  const fade = context.createLinearGradient(0, top, 0, bottom);
  fade.addColorStop(0, colour.spine);
  fade.addColorStop(1, colour.leaf);
  context.globalAlpha = 0.2;
  context.fillStyle = fade;
  context.fillRect(left, top + 2, width, bottom - top - 8);
  context.globalAlpha = 1;
  context.fillStyle = colour.text;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  const under = members(KINDS[band.layer], band.tree).map((device) =>
    wiresOf(device).filter(({ cable }) => cables.z[cable] === device).length);
  const total = under.reduce((sum, number) => sum + number, 0);
  context.fillText(`${count(total)} links`, left + width / 2, (top + bottom) / 2 + 1);
}

function strokes(context, layout, list, stroke, alpha, width) {
  context.globalAlpha = alpha;
  context.strokeStyle = stroke;
  context.lineWidth = width;
  context.beginPath();
  for (const cable of list) line(context, layout, cable);
  context.stroke();
  context.globalAlpha = 1;
}

// Dims the map and draws some devices with the cables between them; returns who is lit.
function drawLit(context, layout, width, chosen) {
  context.clearRect(0, 0, width, layout.height);
  if (!chosen) return { links: 0, peers: 0 };
  context.globalAlpha = 0.72;
  context.fillStyle = colour.card;
  context.fillRect(0, 0, width, layout.height);
  context.globalAlpha = 1;
  strokes(context, layout, chosen.links, colour.accent, 0.75, chosen.links.length > 60 ? 0.7 : 1.1);
  for (const device of chosen.lit) {
    const box = layout.boxes.get(device);
    if (box) drawBox(context, device, box, colour[kindName(device)]);
    for (const { leaf, i, cable } of layout.ticksOf.get(device) ?? []) {
      const own = chosen.core.includes(device) || chosen.core.includes(leaf);
      if (own || chosen.links.includes(cable)) {
        drawTick(context, layout.boxes.get(leaf), i, colour[kindName(device)]);
      }
    }
  }
  for (const device of chosen.core) outline(context, layout, device);
  return { links: chosen.links.length, peers: chosen.lit.size - chosen.core.length };
}

function outline(context, layout, device) {
  const box = layout.boxes.get(device);
  context.strokeStyle = colour.accent;
  context.lineWidth = 2;
  if (box) context.strokeRect(box.x - 1.5, box.y - 1.5, box.w + 3, box.h + 3);
  for (const { leaf, i } of box ? [] : layout.ticksOf.get(device) ?? []) {
    const home = layout.boxes.get(leaf);
    const { x, y } = tickAt(home, i);
    context.fillStyle = colour.accent;
    context.fillRect(x - 1, y - 1, home.tick + 1, home.tick + 1);
    context.lineWidth = 1.5;
    context.strokeRect(x - 4, y - 4, home.tick + 7, home.tick + 7);
  }
}
