// What there is: files of results and reports to open, and traces to replay.

import { h, name } from "./dom.ts";
import { bytes, count } from "./format.ts";
import type { Found, Item } from "./server.ts";

/** Files that are listed of each kind; more are found by a part of their name. */
const LISTED = 200;

/** The lists, and a field that narrows them. */
export class Library {
  readonly element: HTMLElement;
  private found: Found | undefined;
  private readonly lists = h("div", {});
  private readonly part = h("input", { type: "search", autocomplete: "off", spellcheck: "false" });

  constructor(private readonly chosen: (trace: string) => void) {
    this.part.addEventListener("input", () => this.draw());
    const narrow = h("label", { class: "choice" }, h("span", {}, "Names with"), this.part);
    this.element = h("section", { id: "library" }, h("h2", {}, "What there is"), h("div", { class: "bar" }, narrow), this.lists);
  }

  /** Shows what was found, if that is something else than before. */
  show(found: Found): void {
    if (JSON.stringify(found) === JSON.stringify(this.found)) return;
    this.found = found;
    this.draw();
  }

  private draw(): void {
    const { items, is_cut } = this.found ?? { items: [], is_cut: false };
    const wanted = this.part.value.toLowerCase();
    const named = items.filter((item) => item.name.toLowerCase().includes(wanted));
    const [results, reports, traces] = (["results", "report", "trace"] as const).map((kind) => named.filter((item) => item.kind === kind)) as [Item[], Item[], Item[]];
    const open = (item: Item) => h("a", { href: `${item.kind}?${new URLSearchParams({ name: item.name })}` }, name(item.name));
    const choose = (item: Item) => {
      const button = h("button", { type: "button", class: "link" }, name(item.name));
      button.addEventListener("click", () => this.chosen(item.name));
      return button;
    };
    const cut = is_cut ? h("p", { class: "differs" }, "There are more files or deeper directories than are looked at.") : null;
    this.lists.replaceChildren(
      ...[cut, list("Results", "results", results, open), list("Reports", "reports", reports, open), list("Traces", "traces", traces, choose)].filter((part) => part !== null),
    );
  }
}

function list(title: string, id: string, items: Item[], entry: (item: Item) => HTMLElement): HTMLElement {
  const head = h("h3", {}, `${title} (${count(items.length)})`);
  if (items.length === 0) return h("div", { class: "part", id }, head, h("p", { class: "soft" }, "None here."));
  const rows = items.slice(0, LISTED).map((item) =>
    h("tr", {}, h("td", {}, entry(item)), h("td", {}, item.format ?? ""), h("td", {}, bytes(item.bytes)), h("td", {}, new Date(1000 * item.changed).toISOString().slice(0, 16).replace("T", " "))));
  const more = items.length > LISTED ? h("p", { class: "soft" }, `and ${count(items.length - LISTED)} more: narrow them by their names`) : null;
  const columns = ["name", "format", "bytes", "changed (UTC)"].map((column) => h("th", { scope: "col" }, column));
  const table = h("table", {}, h("thead", {}, h("tr", {}, ...columns)), h("tbody", {}, ...rows));
  return h("div", { class: "part", id }, head, h("div", { class: "scroll short", tabindex: "0", role: "region", "aria-label": title }, table), more);
}
