// How things are called on the page, and how elements are made.

const count = (number) => number.toLocaleString("en-US");
const kindName = (device) => KINDS[devices.kind[device]];
const groupName = (device) => data.groups[devices.group[device]];
const modelOf = (device) => data.models[devices.model[device]];
const portName = (device, port) => modelOf(device).ports[port - 1];
// "port 3", with the vendor's name of it where that says more.
const portText = (device, port) => {
  const name = portName(device, port);
  return name === String(port) ? `port ${port}` : `port ${port}, ${name}`;
};
const cableId = (cable) => `${devices.name[cables.a[cable]]}:${cables.a_port[cable]}`;
const bought = (cable, name) => cables.bought[name][cables.kind[cable]];
const kindOfCable = (cable) => `${bought(cable, "medium")} ${bought(cable, "length_m")} m`;
const placeText = (device) =>
  `${racks.name[rackOf(device)]} U${String(devices.unit[device]).padStart(2, "0")}`;
const addressText = (value) =>
  [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join(".");
const guidText = (value) => `0x${value.toString(16).padStart(16, "0")}`;

// An element with properties and children; text is never read as markup.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Neighbouring ports whose far ends are of one kind and count on in equal steps:
// "port 1–15  a-cn0001 … a-cn0547, every 39th".
function runsOf(device) {
  const runs = [];
  for (const { port, far } of wiresOf(device)) {
    const run = runs.at(-1);
    const step = run && far - run.lastFar;
    if (run && devices.kind[run.far] === devices.kind[far] && port === run.to + 1
        && (run.step === null || run.step === step)) {
      Object.assign(run, { to: port, lastFar: far, step });
    } else {
      runs.push({ from: port, to: port, far, lastFar: far, step: null });
    }
  }
  return runs;
}

function runText({ far, lastFar, step, from, to }) {
  if (far === lastFar) return devices.name[far];
  const between = to - from > 1 ? " … " : ", ";
  const every = Math.abs(step) === 1 || to - from === 1 ? "" : `, every ${ordinal(Math.abs(step))}`;
  return `${devices.name[far]}${between}${devices.name[lastFar]}${every}`;
}

function ordinal(number) {
  const tens = number % 100;
  const ending = tens > 10 && tens < 14 ? "th" : ["th", "st", "nd", "rd"][tens % 10] ?? "th";
  return `${number}${ending}`;
}

function runsTable(device, most) {
  const table = make("table");
  const runs = runsOf(device);
  for (const run of runs.slice(0, most)) {
    const ports = run.from === run.to ? `${run.from}` : `${run.from}–${run.to}`;
    table.append(make("tr", {}, make("th", {}, `port ${ports}`), make("td", {}, runText(run)),
      make("td", {}, kindName(run.far))));
  }
  const free = portCount(device) - wiresOf(device).length;
  const rest = runs.length > most ? `and ${runs.length - most} more rows; click to see them` : "";
  for (const text of [rest, free ? `${free} free` : ""].filter(Boolean)) {
    table.append(make("tr", {}, make("td", { colSpan: 3, className: "hint" }, text)));
  }
  return table;
}

function legend(element, kinds) {
  element.replaceChildren(...kinds.map(([kind, text]) =>
    make("span", {}, make("i", { className: `k-${kind}` }), text)));
}
