// The panel of what is selected: who it is, its front, and every cable with its far end.

const deviceLink = (device) => make("button",
  { className: "link", onclick: () => selectDevice(device) }, devices.name[device]);

const cableLink = (cable) => make("button",
  { className: "link", onclick: () => selectCable(cable) }, cableId(cable));

function pairs(rows) {
  const table = make("table", { className: "pairs" });
  for (const [name, value] of rows) {
    if (value === "") continue;
    table.append(make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
  }
  return table;
}

function heading(text, kind, note) {
  const badge = kind ? make("span", { className: `badge k-${kind}` }, kind) : "";
  const close = make("button",
    { className: "close", ariaLabel: "Close", title: "Close (Esc)", onclick: selectNothing }, "×");
  return make("div", {}, make("div", { className: "head" }, make("h2", {}, text, " ", badge), close),
    make("p", { className: "hint" }, note));
}

const invented = (guid, isInvented) => guidText(guid) + (isInvented ? " (placeholder)" : "");

function aboutDevice(device) {
  const model = modelOf(device);
  const guid = devices.guid[device];
  return [
    heading(devices.name[device], kindName(device), `${model.name}: ${model.description}`),
    pairs([
      [data.tree_kind === "plane" && isSwitch(device) ? "plane" : "zone", groupName(device)],
      ["place", placeText(device)],
      ["management", addressText(devices.management[device])],
      ["loopback", addressText(devices.loopback[device])],
      ["GUID", guid === undefined ? "" : invented(guid, devices.guid_invented[device])],
      ["serial", devices.serial[device] ?? ""],
      ["power", `${model.power_w} W`],
    ]),
    face(device),
    make("h3", {}, `${count(wiresOf(device).length)} of ${portCount(device)} ports cabled`),
    wireTable(device),
  ];
}

// The front panel: two rows of ports, odd ones above, coloured by what is at the far end.
function face(device) {
  const ports = portCount(device);
  const rows = ports > 64 ? 4 : ports > 2 ? 2 : 1;
  const front = make("div", { className: "face" });
  front.style.gridTemplateRows = `repeat(${rows}, auto)`;
  for (let port = 1; port <= ports; port++) {
    const cable = cableAt(device, port);
    const far = cable < 0 ? -1 : farEnd(cable, device)[0];
    front.append(make("i", {
      className: far < 0 ? "k-none" : `k-${kindName(far)}`,
      title: `${portName(device, port)}: ${far < 0 ? "free" : devices.name[far]}`,
    }));
  }
  return front;
}

function wireTable(device) {
  const heads = ["port", "far end", "cable", "kind", "place"];
  const body = make("tbody");
  for (const { port, cable, far, farPort } of wiresOf(device)) {
    const own = cables.a[cable] === device && cables.address[cable] !== undefined
      ? addressText(cables.address[cable]) : "";
    body.append(make("tr", { "data-port": port },
      make("td", {}, `${port}`, make("small", {}, portName(device, port) === `${port}` ? "" : portName(device, port)),
        ...(own ? [make("small", {}, own)] : [])),
      make("td", {}, deviceLink(far), make("small", {}, portText(far, farPort))),
      make("td", {}, cableLink(cable)), make("td", {}, kindOfCable(cable)), make("td", {}, placeText(far))));
  }
  const head = make("thead", {}, make("tr", {}, ...heads.map((name) =>
    make("th", { scope: "col" }, name))));
  return make("table", { className: "wires" }, head, body);
}

// Both racks in order of their names, so that it is one from either end.
function bundleOf(cable) {
  const ends = [cables.a[cable], cables.z[cable]].map((device) => racks.name[rackOf(device)]);
  return [...new Set(ends)].sort().join("+");
}

function aboutCable(cable) {
  const end = (device, port) => make("span", {}, deviceLink(device),
    ` ${portText(device, port)}, ${placeText(device)}`);
  const guid = cables.guid[cable];
  return [
    heading(cableId(cable), "", `${cables.roles[cables.role[cable]]} cable`),
    pairs([
      ["A", end(cables.a[cable], cables.a_port[cable])],
      ["Z", end(cables.z[cable], cables.z_port[cable])],
      ["kind", kindOfCable(cable)],
      ["part", bought(cable, "part")],
      ["optic at A", bought(cable, "a_optic")],
      ["optic at Z", bought(cable, "z_optic")],
      ["leg of", cables.leg_of[cable] === undefined ? "" : cableLink(cables.leg_of[cable])],
      ["pulled as", `number ${count(cables.pull[cable])}`],
      ["speed", `${cables.gbps} Gb/s`],
      ["bundle", bundleOf(cable)],
      ["address at A", cables.address[cable] === undefined ? "" : addressText(cables.address[cable])],
      ["GUID at A", guid === undefined ? "" : invented(guid, cables.guid_invented[cable])],
    ]),
  ];
}

// What a reader of the screen hears of a selection.
function saying() {
  if (state.cable >= 0) return `cable ${cableId(state.cable)}, ${kindOfCable(state.cable)}`;
  if (state.device < 0) return "nothing selected";
  const wires = wiresOf(state.device).length;
  return `${devices.name[state.device]}, ${kindName(state.device)}, ${count(wires)} cables, `
    + placeText(state.device);
}

whenSelected(() => {
  const nothing = state.device < 0 && state.cable < 0;
  byId("about").hidden = !nothing;
  byId("selected").hidden = nothing;
  if (state.device >= 0) byId("selected").replaceChildren(...aboutDevice(state.device));
  if (state.cable >= 0) byId("selected").replaceChildren(...aboutCable(state.cable));
  byId("said").textContent = saying();
  byId("panel").scrollTop = 0;
});
