// Where every switch and every host port stands on the map.

const WIDEST = 74; // px from box to box
const UPPER = ["core", "spine"].map((name) => KIND[name]);

// Leaf ports that do not lead up within the tree, in order: hosts, other zones, free ones.
function lowerPorts(leaf) {
  const ports = [];
  for (let port = 1; port <= portCount(leaf); port++) {
    const cable = cableAt(leaf, port);
    const far = cable < 0 ? -1 : farEnd(cable, leaf)[0];
    if (far < 0 || !UPPER.includes(devices.kind[far])) ports.push({ port, cable, far });
  }
  return ports;
}

function members(kind, group) {
  const found = [];
  for (let d = 0; d < switchCount; d++) {
    if (devices.kind[d] === KIND[kind] && (group === null || groupName(d) === group)) found.push(d);
  }
  return found;
}

// Rows of boxes, each at least `least` wide; returns the y below them.
function rowsOf(list, box, least, height, below, boxes) {
  const most = Math.max(1, Math.floor(box.width / least));
  const rows = Math.ceil(list.length / most);
  const perRow = Math.ceil(list.length / rows);
  const pitch = Math.min(box.width / perRow, WIDEST);
  const left = box.left + (box.width - pitch * perRow) / 2;
  const space = pitch > 10 ? 3 : 1.5;
  list.forEach((device, i) => {
    boxes.set(device, {
      x: left + (i % perRow) * pitch + space / 2,
      y: box.top + Math.floor(i / perRow) * (height + below),
      w: pitch - space, h: height, tick: 0, columns: 0, ports: [],
    });
  });
  return { end: box.top + rows * (height + below), rows };
}

function layOut(width) {
  const trees = data.trees;
  const boxes = new Map();
  const labels = [];
  const bands = [];
  const between = members("interzone", null);
  let top = 8;
  if (between.length) {
    labels.push({ x: 8, y: top + 10, text: `between ${data.tree_kind}s` });
    top = rowsOf(between, { left: 0, width, top }, 60, 14, 6, boxes).end + 36;
  }
  const across = trees.length <= 2 || width / trees.length >= 190 ? trees.length : 2;
  const gap = 22;
  const treeWidth = (width - gap * (across - 1)) / across;
  let bottom = top;
  trees.forEach((tree, number) => {
    if (number && number % across === 0) top = bottom + 24;
    const left = (number % across) * (treeWidth + gap);
    const end = layOutTree(tree, { left, width: treeWidth, top }, boxes, labels, bands);
    bottom = Math.max(bottom, end);
  });
  return { boxes, labels, bands, height: bottom + 8, ticksOf: ticksByNode(boxes) };
}

// One tree from the top: layers of switches, then leaves with the ports that face hosts.
function layOutTree(tree, box, boxes, labels, bands) {
  const [cores, spines, leaves] = ["core", "spine", "leaf"].map((kind) => members(kind, tree));
  const lower = leaves.map(lowerPorts);
  const most = Math.max(...lower.map((ports) => ports.length));
  const crowded = leaves.length * most > 4000;
  const height = leaves.length > 24 && !crowded ? 24 : 14;
  labels.push({ x: box.left, y: box.top + 11, text: `${data.tree_kind} ${tree}`, strong: true });
  let y = box.top + 22;
  for (const [name, layer] of [["core", cores], ["spine", spines]]) {
    if (!layer.length) continue;
    labels.push({ x: box.left, y: y + 9, text: `${count(layer.length)} ${name}` });
    const { end, rows } = rowsOf(layer, { ...box, top: y + 15 }, 9, 14, 4, boxes);
    y = end + (rows > 1 ? 44 : 130);
    bands.push({ left: box.left, width: box.width, top: end, bottom: y, layer: KIND[name], tree });
  }
  labels.push({ x: box.left, y: y + 9, text: `${count(leaves.length)} leaf` });
  const least = crowded ? 14 : 9;
  const perRow = Math.min(leaves.length, Math.floor(box.width / least));
  const room = Math.min(box.width / Math.ceil(leaves.length / Math.ceil(leaves.length / perRow)), WIDEST);
  const tick = crowded ? 3 : Math.min(12, Math.max(4.5, room / 5));
  const columns = Math.max(1, Math.min(Math.floor((room - 1) / tick), Math.ceil(Math.sqrt(most))));
  const below = 3 + Math.ceil(most / columns) * tick + 8;
  const { end } = rowsOf(leaves, { ...box, top: y + 15 }, least, height, below, boxes);
  leaves.forEach((leaf, i) => Object.assign(boxes.get(leaf), { tick, columns, ports: lower[i] }));
  return end;
}

const tickAt = (box, i) => ({
  x: box.x + (i % box.columns) * box.tick,
  y: box.y + box.h + 3 + Math.floor(i / box.columns) * box.tick,
});

// For each node the leaves and places of its ports.
function ticksByNode(boxes) {
  const found = new Map();
  for (const [leaf, box] of boxes) {
    box.ports.forEach(({ far, cable }, i) => {
      if (far < 0 || isSwitch(far)) return;
      if (!found.has(far)) found.set(far, []);
      found.get(far).push({ leaf, i, cable });
    });
  }
  return found;
}

// What is at a point: a switch, or a leaf's port with the host in it.
function hit(layout, x, y) {
  for (const [device, box] of layout.boxes) {
    if (x < box.x - 1.5 || x > box.x + box.w + 1.5 || y < box.y) continue;
    if (y <= box.y + box.h + 1) return { device };
    if (!box.columns) continue;
    const at = Math.floor((y - box.y - box.h - 3) / box.tick) * box.columns
      + Math.floor((x - box.x) / box.tick);
    const across = Math.floor((x - box.x) / box.tick);
    if (y >= box.y + box.h + 3 && across >= 0 && across < box.columns && box.ports[at]) {
      return { device: box.ports[at].far, leaf: device, port: box.ports[at].port };
    }
  }
  return null;
}
