// The contents of a trace.

import { bars, type Bar } from "./bars.ts";
import type { Inspection, Pattern, Share } from "./data.ts";
import { fileName, h, name } from "./dom.ts";
import { brief, bytes, count, duration, percent } from "./format.ts";
import { accessPattern } from "./pattern.ts";
import { tiles } from "./words.ts";

const READ = "var(--accent)";
const WRITTEN = "#d55e00";

/** The section of a trace that was inspected. */
export function inspectionSection(seen: Inspection, pattern: Pattern | undefined): HTMLElement {
  return h(
    "section",
    {},
    h("h2", {}, name(fileName(seen.trace), "name path")),
    h("p", { class: "soft" }, `${seen.format}${seen.block_bytes ? `, blocks of ${count(seen.block_bytes)} bytes` : ""}`),
    tiles(figures(seen)),
    pattern && pattern.references > 0 ? accessPattern(pattern, seen.block_bytes) : missing(seen),
    reuse(seen),
    requestSizes(seen),
    shares("Kinds of data", seen.kinds),
    shares(ranked("Applications", seen.apps), seen.apps?.top),
    seen.ranked ? shares(ranked(`By ${seen.ranked.by}`, seen.ranked), seen.ranked.top) : null,
    hottest(seen),
    operations(seen),
  );
}

function missing(seen: Inspection): HTMLElement | null {
  return seen.sampling_rate === undefined ? null : h("p", { class: "part soft" }, "Which blocks are referenced when is not drawn: there are more blocks than memory was allowed for (see --memory).");
}

function figures(seen: Inspection): [string, string][] {
  const told: [string, string][] = [["requests", brief(seen.requests)], ["references to blocks", brief(seen.references)]];
  const about = seen.sampling_rate === undefined ? "" : ", estimated";
  told.push([`distinct blocks${about}`, brief(seen.distinct_blocks)]);
  if (seen.footprint_bytes !== undefined) told.push([`footprint${about}`, bytes(seen.footprint_bytes)]);
  if (seen.time_span_s !== undefined) told.push(["time", duration(seen.time_span_s)]);
  if (seen.sequences) told.push(["sequential requests", percent(seen.sequences.sequential_share, 1)]);
  return told;
}

/** Bars of one colour with shares of a whole behind them. */
function histogram(title: string, caption: string, items: { name: string; value: number; note?: string }[], whole: number): HTMLElement {
  const most = Math.max(0, ...items.map(({ value }) => value));
  const drawn = items.map(({ name, value, note }): Bar => ({
    name,
    parts: [{ value, colour: READ, label: count(value) }],
    figure: `${percent(whole > 0 ? value / whole : 0)}${note ?? ""}`,
  }));
  return h("figure", { class: "part" }, h("h3", {}, title), h("figcaption", {}, caption), bars(drawn, most));
}

function reuse(seen: Inspection): HTMLElement | null {
  if (!seen.reuse) return null;
  let hits = 0;
  const items = seen.reuse.bins.map(({ to, references }) => {
    hits += references;
    const size = seen.block_bytes ? ` (${bytes(to * seen.block_bytes)})` : "";
    return { name: `≤ ${count(to)}${size}`, value: references, note: ` · LRU hits ${percent(hits / seen.references)}` };
  });
  items.push({ name: "first use", value: seen.reuse.first_uses, note: "" });
  const about = seen.sampling_rate === undefined ? "" : " Estimated from a sample.";
  const caption = `Distinct blocks used since the last use of a block, that one included: an LRU cache of that size hits.${about}`;
  return histogram("Reuse distances", caption, items, seen.references);
}

function requestSizes(seen: Inspection): HTMLElement | null {
  const sizes = seen.request_sizes;
  if (!sizes) return null;
  const whole = sizes.bins.reduce((sum, bin) => sum + bin.requests, 0);
  const caption = `${bytes(sizes.min)} to ${bytes(sizes.max)} a request, ${bytes(sizes.median)} in the median.`;
  const items = sizes.bins.map(({ from, to, requests }) => ({ name: `${bytes(from)} to <${bytes(to)}`, value: requests }));
  return histogram("Request sizes", caption, items, whole);
}

function ranked(title: string, of: { total: number; top: unknown[] } | undefined): string {
  return of && of.top.length < of.total ? `${title}: the first ${of.top.length} of ${count(of.total)}` : title;
}

/** Bytes read and written, stacked. */
function shares(title: string, items: Share[] | undefined): HTMLElement | null {
  if (!items || items.length === 0) return null;
  const drawn = items.map((one): Bar => ({
    name: one.name,
    parts: [
      { value: one.bytes_read, colour: READ, label: `${bytes(one.bytes_read)} read` },
      { value: one.bytes_written, colour: WRITTEN, label: `${bytes(one.bytes_written)} written` },
    ],
    figure: `${bytes(one.bytes_read)} · ${bytes(one.bytes_written)} · ${count(one.requests)} requests`,
  }));
  const most = Math.max(...items.map((one) => one.bytes_read + one.bytes_written));
  const key = [["read", READ], ["written", WRITTEN]].map(([label, ink]) => h("li", {}, h("i", { class: "box", style: `background:${ink}` }), label));
  return h("figure", { class: "part" }, h("h3", {}, title), h("ul", { class: "key" }, ...key), bars(drawn, most));
}

function hottest(seen: Inspection): HTMLElement | null {
  if (!seen.files || seen.files.top.length === 0) return null;
  const rows = seen.files.top.map((file) => [file.path, count(file.references), percent(file.share), file.distinct_blocks === undefined ? "" : count(file.distinct_blocks), count(file.read_requests), count(file.write_requests)]);
  return facts(ranked("Hottest files", seen.files), ["file", "references", "share", "blocks", "reads", "writes"], rows);
}

function operations(seen: Inspection): HTMLElement | null {
  if (!seen.operations) return null;
  const rows = seen.operations.map((one) => [one.name, count(one.requests), count(one.failed), one.bytes === undefined ? "" : bytes(one.bytes)]);
  return facts("Operations", ["operation", "requests", "failed", "bytes"], rows);
}

function facts(title: string, heads: string[], rows: string[][]): HTMLElement {
  const head = h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)));
  const lines = rows.map((cells) => h("tr", {}, ...cells.map((text, at) => h("td", {}, at === 0 ? name(text) : text))));
  const table = h("table", { class: "long" }, h("thead", {}, head), h("tbody", {}, ...lines));
  return h("figure", { class: "part" }, h("h3", {}, title), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table));
}
