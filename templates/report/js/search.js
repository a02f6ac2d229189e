// Finds a device, cable, rack, serial or address by any part of its name.

const MOST_FOUND = 12;
const box = byId("search");
const found = byId("found");
const search = { hits: [], at: -1 };

function* everything() {
  for (let d = 0; d < deviceCount; d++) {
    const take = () => selectDevice(d);
    yield [devices.name[d], () => `${kindName(d)}, ${placeText(d)}`, take];
    if (devices.serial[d]) yield [devices.serial[d], () => `serial of ${devices.name[d]}`, take];
  }
  for (let r = 0; r < racks.name.length; r++) {
    const take = () => { selectDevice(devicesIn(r)[0]); openView("racks"); };
    yield [racks.name[r], () => `rack, ${devicesIn(r).length} devices`, take];
  }
}

// Addresses, GUIDs and cables are many: they are only read when a word looks like one.
function* numbers(word) {
  if (word.includes(":")) {
    const [name, port] = word.split(":");
    const from = deviceNamed(name);
    if (from !== undefined) {
      for (const wire of wiresOf(from)) {
        const id = cableId(wire.cable);
        if (cables.a[wire.cable] === from && String(wire.port).startsWith(port)) {
          yield [id, () => `cable to ${devices.name[wire.far]}`, () => selectCable(wire.cable)];
        }
      }
    }
  } else if (/^\d+\.[\d.]*$/.test(word)) {
    for (let d = 0; d < deviceCount; d++) {
      const kinds = [["management", devices.management[d]], ["loopback", devices.loopback[d]]];
      for (const [kind, value] of kinds) {
        yield [addressText(value), () => `${kind} of ${devices.name[d]}`, () => selectDevice(d)];
      }
    }
    for (let c = 0; c < cables.address.length; c++) {
      yield [addressText(cables.address[c]), () => `port ${cableId(c)}`, () => selectDevice(cables.a[c])];
    }
  } else if (/^0x[0-9a-f]+$/.test(word)) {
    for (let d = 0; d < devices.guid.length; d++) {
      yield [guidText(devices.guid[d]), () => devices.name[d], () => selectDevice(d)];
    }
    for (let c = 0; c < cables.guid.length; c++) {
      yield [guidText(cables.guid[c]), () => `port ${cableId(c)}`, () => selectDevice(cables.a[c])];
    }
  }
}

// Hits that are the word, then those that begin with it, then those that have it within.
function find(word) {
  const ranked = [[], [], []];
  if (!word) return [];
  for (const source of [everything(), numbers(word)]) {
    for (const entry of source) {
      const at = entry[0].toLowerCase().indexOf(word);
      if (at < 0) continue;
      const rank = entry[0].length === word.length ? 0 : at === 0 ? 1 : 2;
      if (ranked[rank].length < MOST_FOUND) ranked[rank].push(entry);
    }
  }
  return ranked.flat().slice(0, MOST_FOUND);
}

function showFound() {
  const word = box.value.trim().toLowerCase();
  search.hits = find(word);
  search.at = search.hits.length ? 0 : -1;
  found.replaceChildren(...search.hits.map(([name, note], i) => make("li",
    { role: "option", id: `hit-${i}`, onpointerdown: (event) => { event.preventDefault(); take(i); } },
    make("span", { className: "mono" }, name), make("span", {}, note()))));
  if (word && !search.hits.length) {
    found.append(make("li", { className: "none" }, `Nothing is called ${box.value.trim()}.`));
  }
  found.hidden = !word;
  box.setAttribute("aria-expanded", String(Boolean(word)));
  mark();
}

function mark() {
  [...found.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === search.at)));
  if (search.at >= 0) box.setAttribute("aria-activedescendant", `hit-${search.at}`);
  else box.removeAttribute("aria-activedescendant");
  found.children[search.at]?.scrollIntoView({ block: "nearest" });
}

function take(i) {
  const hitTaken = search.hits[i];
  if (!hitTaken) return;
  if (view !== "racks") openView("fabric");
  hitTaken[2]();
  found.hidden = true;
  box.setAttribute("aria-expanded", "false");
}

box.addEventListener("input", showFound);
box.addEventListener("focus", () => { if (box.value) showFound(); });
box.addEventListener("blur", () => { found.hidden = true; box.setAttribute("aria-expanded", "false"); });
box.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && search.hits.length) {
    search.at = (search.at + step + search.hits.length) % search.hits.length;
    mark();
    event.preventDefault();
  }
  if (event.key === "Enter") take(search.at);
  if (event.key === "Escape") { box.value = ""; showFound(); }
});
