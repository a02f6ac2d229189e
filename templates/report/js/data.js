// The fabric as the page knows it: columns, and the cable in every port.

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array };

function column([type, base64]) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[type](bytes.buffer);
}

function columns(table) {
  const packed = (value) => Array.isArray(value) && value.length === 2 && value[0] in ARRAYS;
  return Object.fromEntries(
    Object.entries(table).map(([name, value]) => [name, packed(value) ? column(value) : value]));
}

const data = JSON.parse(document.getElementById("data").textContent);
const devices = columns(data.devices);
const cables = columns(data.cables);
const racks = data.racks;
const KINDS = data.kinds;
const KIND = Object.fromEntries(KINDS.map((name, number) => [name, number]));
const isSwitch = (device) => devices.kind[device] < KIND.compute;
const cableCount = cables.a.length;
const deviceCount = devices.name.length;
const switchCount = devices.kind.findIndex((kind) => kind >= KIND.compute);

// Ports of all devices in one array: device d has ports firstPort[d] up to firstPort[d + 1].
const firstPort = new Uint32Array(deviceCount + 1);
for (let d = 0; d < deviceCount; d++) {
  firstPort[d + 1] = firstPort[d] + data.models[devices.model[d]].ports.length;
}
const cableIn = new Int32Array(firstPort[deviceCount]).fill(-1);
for (let c = 0; c < cableCount; c++) {
  cableIn[firstPort[cables.a[c]] + cables.a_port[c] - 1] = c;
  cableIn[firstPort[cables.z[c]] + cables.z_port[c] - 1] = c;
}

const portCount = (device) => firstPort[device + 1] - firstPort[device];
const cableAt = (device, port) => cableIn[firstPort[device] + port - 1];

// The far end of a cable, seen from a device.
function farEnd(cable, device) {
  const isA = cables.a[cable] === device;
  return isA ? [cables.z[cable], cables.z_port[cable]] : [cables.a[cable], cables.a_port[cable]];
}

// Every cable of a device with its port and its far end, in order of port.
function wiresOf(device) {
  const wires = [];
  for (let port = 1; port <= portCount(device); port++) {
    const cable = cableAt(device, port);
    if (cable < 0) continue;
    const [far, farPort] = farEnd(cable, device);
    wires.push({ port, cable, far, farPort });
  }
  return wires;
}

const rackOf = (device) => devices.rack[device];
const devicesIn = (() => {
  let lists;
  return (rack) => {
    if (!lists) {
      lists = racks.name.map(() => []);
      for (let d = 0; d < deviceCount; d++) lists[rackOf(d)].push(d);
    }
    return lists[rack];
  };
})();
const deviceNamed = (() => {
  let numbers;
  return (name) => {
    numbers ??= new Map(devices.name.map((known, number) => [known, number]));
    return numbers.get(name);
  };
})();
