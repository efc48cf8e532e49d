// All counts, exactly, sortable by any column.

import { isBound, type Group, type Row } from "./data.ts";
import { choice, h, name } from "./dom.ts";
import { bytes, count, figure, percent } from "./format.ts";

const ROWS = 400;

interface Column {
  label: string;
  of(row: Row): number | string | undefined;
  show(value: number): string;
}

const COLUMNS: Column[] = [
  { label: "scheme", of: (row) => row.policy, show: String },
  { label: "size", of: (row) => row.size_bytes, show: bytes },
  { label: "blocks", of: (row) => row.size_blocks, show: count },
  { label: "hit ratio", of: (row) => row.hit_ratio, show: (ratio) => percent(ratio, 3) },
  { label: "hits", of: (row) => row.hits, show: count },
  { label: "misses", of: (row) => row.misses, show: count },
  { label: "requests", of: (row) => row.requests, show: count },
  { label: "missed requests", of: (row) => row.request_misses, show: count },
  { label: "missed reads", of: (row) => row.read_request_misses, show: count },
  { label: "write-backs", of: (row) => row.write_backs, show: count },
  { label: "extra reads", of: (row) => row.extra_reads, show: count },
  { label: "allocation reads", of: (row) => row.allocation_reads, show: count },
  { label: "fragment reads", of: (row) => row.fragment_reads, show: count },
  { label: "push-outs", of: (row) => row.fragment_push_outs, show: count },
  { label: "prefetch reads", of: (row) => row.prefetch_reads, show: count },
  { label: "disk accesses", of: (row) => row.disk_accesses, show: count },
  { label: "bytes read", of: (row) => row.bytes_read, show: bytes },
  { label: "bytes written", of: (row) => row.bytes_written, show: bytes },
  { label: "finish, s", of: (row) => row.finish_seconds, show: figure },
  { label: "disk busy, s", of: (row) => row.disk_busy_seconds, show: figure },
  { label: "a request, ms", of: (row) => row.mean_service_ms, show: figure },
  { label: "ns a reference", of: (row) => row.reference_nanoseconds, show: figure },
  { label: "bytes a block", of: (row) => row.policy_bytes_per_block, show: figure },
  { label: "faults / M references", of: (row) => row.faults_per_million_references, show: figure },
  { label: "faults / M instructions", of: (row) => row.faults_per_million_instructions, show: figure },
  { label: "refault distance / clock", of: (row) => row.refault_distance_to_clock, show: figure },
];

/** The table of a trace's rows. */
export function table(group: Group): HTMLElement {
  const rows = group.series.flatMap((series) => series.rows);
  const columns = COLUMNS.filter((column) => rows.some((row) => column.of(row) !== undefined));
  const sizes = [...new Map(rows.map((row) => [row.size_blocks, row])).values()].sort((a, b) => a.size_blocks - b.size_blocks);
  const state = { by: columns[3]!, up: false, size: -1, all: false };
  const body = h("tbody", {});
  const heads = columns.map((column) => h("th", { scope: "col" }, h("button", { type: "button" }, column.label)));
  const more = h("button", { type: "button", class: "soft" });
  const fill = () => {
    const chosen = rows.filter((row) => state.size < 0 || row.size_blocks === sizes[state.size]!.size_blocks);
    chosen.sort((a, b) => order(state.by.of(a), state.by.of(b)) * (state.up ? 1 : -1));
    const shown = state.all ? chosen : chosen.slice(0, ROWS);
    body.replaceChildren(...shown.map((row) => line(row, columns)));
    more.hidden = shown.length === chosen.length;
    more.textContent = `The first ${count(shown.length)} of ${count(chosen.length)} rows: show all`;
    heads.forEach((head, at) => {
      if (columns[at] === state.by) head.setAttribute("aria-sort", state.up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };
  heads.forEach((head, at) =>
    head.firstElementChild!.addEventListener("click", () => {
      state.up = state.by === columns[at] ? !state.up : at === 0;
      state.by = columns[at]!;
      fill();
    }),
  );
  more.addEventListener("click", () => {
    state.all = true;
    fill();
  });
  fill();
  const label = (row: Row) => (group.inBytes ? `${bytes(row.size_bytes!)} (${count(row.size_blocks)} blocks)` : `${count(row.size_blocks)} blocks`);
  const bar = h("div", { class: "bar" }, choice("Cache size", ["all sizes", ...sizes.map(label)], 0, (at) => {
    state.size = at - 1;
    fill();
  }));
  const scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Exact counts" }, h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body));
  return h("figure", { class: "part" }, h("h3", {}, "Exact counts"), sizes.length > 1 ? bar : null, scroll, more);
}

function line(row: Row, columns: Column[]): HTMLElement {
  const cells = columns.map((column) => {
    const value = column.of(row);
    if (typeof value === "string") return h("td", {}, name(value));
    return h("td", {}, value === undefined ? "" : column.show(value));
  });
  return h("tr", isBound(row.policy) ? { class: "bound" } : {}, ...cells);
}

/** Rows without a value come last when the greatest comes first. */
function order(a: number | string | undefined, b: number | string | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  return a < b ? -1 : a > b ? 1 : 0;
}
