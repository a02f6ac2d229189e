// The three lists: switches, nodes, cables.

const lists = {};

// A far end's number sorts as its name counts, so it is the key of a column of devices.
const deviceFields = (device, group) => [
  { name: "name", flex: 1.2, text: (row) => devices.name[device(row)], key: device },
  { name: "kind", flex: 0.9, text: (row) => kindName(device(row)), key: (row) => devices.kind[device(row)] },
  { name: group, flex: 0.7, text: (row) => groupName(device(row)), key: (row) => groupName(device(row)) },
  { name: "model", flex: 1.8, text: (row) => modelOf(device(row)).name, key: (row) => modelOf(device(row)).name },
  { name: "rack", flex: 1, text: (row) => racks.name[rackOf(device(row))], key: (row) => rackOf(device(row)) },
  { name: "unit", flex: 0.5, number: true, text: (row) => String(devices.unit[device(row)]),
    key: (row) => devices.unit[device(row)] },
  { name: "cables", flex: 0.6, number: true, text: (row) => String(wiresOf(device(row)).length),
    key: (row) => wiresOf(device(row)).length },
  { name: "management", flex: 1.1, text: (row) => addressText(devices.management[device(row)]),
    key: (row) => devices.management[device(row)] },
  { name: "serial", flex: 0.9, text: (row) => devices.serial[device(row)] ?? "",
    key: (row) => devices.serial[device(row)] ?? "" },
];

function openDevices(name, group, first, rows) {
  lists[name] ??= new LongTable(byId(`view-${name}`), {
    name, rows, fields: deviceFields((row) => first + row, group),
    choose: (row) => selectDevice(first + row),
    isChosen: (row) => state.device === first + row,
  });
}

const cableEnd = (name, device, port) => [
  { name, flex: 1.3, text: (c) => devices.name[device[c]], key: (c) => device[c] },
  { name: "port", flex: 0.5, number: true, text: (c) => String(port[c]), key: (c) => port[c] },
  { name: "place", flex: 1.3, text: (c) => placeText(device[c]),
    key: (c) => rackOf(device[c]) * 100 + devices.unit[device[c]] },
];
const cableFields = [
  { name: "cable", flex: 1.4, text: cableId, key: (c) => c },
  ...cableEnd("A", cables.a, cables.a_port),
  ...cableEnd("Z", cables.z, cables.z_port),
  { name: "role", flex: 0.8, text: (c) => cables.roles[cables.role[c]], key: (c) => cables.role[c] },
  { name: "medium", flex: 0.9, text: (c) => bought(c, "medium"),
    key: (c) => bought(c, "medium") },
  { name: "m", flex: 0.5, number: true, text: (c) => String(bought(c, "length_m")),
    key: (c) => bought(c, "length_m") },
];

openers.switches = () => openDevices("switches", data.tree_kind, 0, switchCount);
openers.nodes = () => openDevices("nodes", "zone", switchCount, deviceCount - switchCount);
openers.cables = () => {
  lists.cables ??= new LongTable(byId("view-cables"), {
    name: "cables", rows: cableCount, fields: cableFields,
    choose: selectCable, isChosen: (row) => state.cable === row,
  });
};
whenSelected(() => { if (lists[view]) lists[view].draw(); });
