// A table of any length: only the rows in sight are elements.

const ROW = 24; // px, as .row in the styles

class LongTable {
  // fields: [{ name, text(row), key(row), number, flex }]; `key` sorts, `text` shows and filters.
  constructor(holder, { name, rows, fields, choose, isChosen }) {
    Object.assign(this, { name, rows, fields, choose, isChosen, sorted: -1, down: false });
    this.order = Uint32Array.from({ length: rows }, (_, i) => i);
    this.texts = null;
    this.shown = this.order;
    this.filter = make("input", { type: "search", placeholder: "filter: words that a row must have" });
    this.filter.setAttribute("aria-label", `Filter ${name}`);
    this.filter.addEventListener("input", () => this.refresh());
    this.total = make("span", { className: "hint" });
    this.total.setAttribute("aria-live", "polite");
    this.heads = fields.map((field, i) => this.head(field, i));
    this.body = make("div", { className: "rows", tabIndex: 0 });
    this.body.setAttribute("aria-label", name);
    this.height = make("div");
    this.body.append(this.height);
    this.body.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()));
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.active = -1;
    this.table = make("div", { className: "grid", role: "table" },
      make("div", { className: "bar" }, this.filter, this.total),
      make("div", { className: "heads", role: "row" }, ...this.heads), this.body);
    this.table.setAttribute("aria-rowcount", rows);
    holder.append(this.table);
    this.refresh();
  }

  head(field, i) {
    const button = make("button", { onclick: () => this.sort(i) }, field.name);
    const cell = make("div", { role: "columnheader", className: field.number ? "number" : "" }, button);
    cell.style.flexGrow = field.flex ?? 1;
    cell.setAttribute("aria-sort", "none");
    return cell;
  }

  sort(i) {
    this.down = this.sorted === i && !this.down;
    this.sorted = i;
    this.heads.forEach((cell, at) => cell.setAttribute("aria-sort",
      at !== i ? "none" : this.down ? "descending" : "ascending"));
    const { key } = this.fields[i];
    const keys = Array.from({ length: this.rows }, (_, row) => key(row));
    const sign = this.down ? -1 : 1;
    this.order = Uint32Array.from({ length: this.rows }, (_, row) => row).sort((a, b) =>
      (keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b));
    this.refresh();
  }

  refresh() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) {
      this.texts ??= Array.from({ length: this.rows }, (_, row) =>
        this.fields.map((field) => field.text(row)).join("\t").toLowerCase());
      this.shown = this.order.filter((row) => words.every((word) => this.texts[row].includes(word)));
    } else {
      this.shown = this.order;
    }
    this.total.textContent = `${count(this.shown.length)} of ${count(this.rows)} ${this.name}`;
    this.height.style.height = `${this.shown.length * ROW}px`;
    this.body.scrollTop = 0;
    this.active = -1;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.body.scrollTop / ROW) - 4);
    const last = Math.min(this.shown.length, first + Math.ceil(this.body.clientHeight / ROW) + 8);
    const rows = [];
    for (let at = first; at < last; at++) rows.push(this.row(at));
    this.body.replaceChildren(this.height, ...rows);
  }

  row(at) {
    const row = this.shown[at];
    const element = make("div", { role: "row", onclick: () => this.choose(row) });
    element.className = at === this.active || this.isChosen(row) ? "row active" : "row";
    element.setAttribute("aria-rowindex", at + 1);
    element.style.top = `${at * ROW}px`;
    for (const field of this.fields) {
      const text = field.text(row);
      const cell = make("div", { role: "cell", title: text }, text);
      cell.className = field.number ? "cell number" : "cell";
      cell.style.flexGrow = field.flex ?? 1;
      element.append(cell);
    }
    return element;
  }

  key(event) {
    const page = Math.floor(this.body.clientHeight / ROW);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
      Home: -this.rows, End: this.rows }[event.key];
    if (event.key === "Enter" && this.active >= 0) this.choose(this.shown[this.active]);
    if (!step || !this.shown.length) return;
    event.preventDefault();
    this.active = Math.max(0, Math.min(this.shown.length - 1, this.active + step));
    const top = this.active * ROW;
    const seen = this.body.clientHeight;
    if (top < this.body.scrollTop) this.body.scrollTop = top;
    if (top + ROW > this.body.scrollTop + seen) this.body.scrollTop = top + ROW - seen;
    this.draw();
  }
}
