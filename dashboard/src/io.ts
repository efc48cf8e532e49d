// The storage cost of a request, stacked by cause.

import { bars, type Bar } from "./bars.ts";
import { lines, showSize, type Choices } from "./curves.ts";
import { size, type Group, type Row } from "./data.ts";
import { choice, h } from "./dom.ts";
import { bytes, figure } from "./format.ts";

interface Cause {
  label: string;
  colour: string;
  of(row: Row): number | undefined;
}

/** A unit in which all of a group's rows tell their I/O, and the causes told in it. */
interface Unit {
  label: string;
  causes: Cause[];
  show(value: number): string;
}

const COLOURS = { missed: "var(--accent)", mapped: "#e69f00", slid: "#f0e442", ahead: "#56b4e9", unasked: "#cc79a7", back: "#d55e00" };

const accesses: Unit = {
  label: "accesses to storage",
  show: (accesses) => `${figure(accesses)} accesses`,
  causes: [
    { label: "missed reads", colour: COLOURS.missed, of: (row) => row.disk_accesses! - (row.write_backs ?? 0) },
    { label: "write-backs", colour: COLOURS.back, of: (row) => row.write_backs },
  ],
};

const blocks: Unit = {
  label: "blocks moved",
  show: (blocks) => `${figure(blocks)} blocks`,
  causes: [
    { label: "misses", colour: COLOURS.missed, of: (row) => row.misses },
    { label: "allocation: positions mapped anew", colour: COLOURS.mapped, of: (row) => row.allocation_reads },
    { label: "fragmentation: slid into a run", colour: COLOURS.slid, of: (row) => row.fragment_reads },
    { label: "read ahead", colour: COLOURS.ahead, of: (row) => row.prefetch_reads },
    { label: "read unasked", colour: COLOURS.unasked, of: unasked },
    { label: "write-backs", colour: COLOURS.back, of: (row) => row.write_backs },
  ],
};

const moved: Unit = {
  label: "bytes moved",
  show: bytes,
  causes: [
    { label: "read", colour: COLOURS.missed, of: (row) => row.bytes_read ?? inBytes(row.misses + (row.extra_reads ?? 0), row) },
    { label: "written", colour: COLOURS.back, of: (row) => row.bytes_written ?? inBytes(row.write_backs, row) },
  ],
};

function inBytes(blocks: number | undefined, row: Row): number | undefined {
  return blocks === undefined || row.block_bytes === undefined ? undefined : blocks * row.block_bytes;
}

/** Blocks read without a request, beyond those whose cause the row has. */
function unasked({ extra_reads: extra, allocation_reads: mapped = 0, fragment_reads: slid = 0, prefetch_reads: ahead = 0 }: Row): number | undefined {
  return extra === undefined ? undefined : extra - mapped - slid - ahead;
}

/** Accesses where all schemes count them, blocks if all have the same block size, bytes otherwise. */
function units(rows: Row[]): Unit[] {
  const own = rows.filter((row) => row.disk_accesses !== undefined).length;
  return [...(own === rows.length ? [accesses] : []), ...(own === 0 ? [blocks] : []), ...(own > 0 ? [moved] : [])];
}

/** The figure; nothing if the results have only misses. */
export function storage(group: Group, choices: Choices): HTMLElement | null {
  const rows = group.series.flatMap((series) => series.rows);
  const perRequest = rows.every((row) => row.requests !== undefined && row.requests > 0);
  const known = units(rows).filter(({ causes }) => causes.slice(1).some(({ of }) => rows.some((row) => (of(row) ?? 0) > 0)));
  if (known.length === 0 || !perRequest) return null;
  const sizes = [...new Set(rows.map((row) => size(row, group)))].sort((a, b) => a - b);
  const state = { unit: known[0]!, at: Math.floor(sizes.length / 2) };
  const body = h("div", {});
  const fill = () => {
    const here = group.series.map((series) => series.rows.find((row) => size(row, group) === sizes[state.at]));
    const items = lines(group, choices, () => []).flatMap((line, at): { bar: Bar; total: number }[] => {
      const row = here[at];
      if (row === undefined || !line.shown) return [];
      const parts = state.unit.causes.flatMap(({ label, colour, of }) => {
        const value = (of(row) ?? 0) / row.requests!;
        return value > 0 ? [{ value, colour, label: `${label}: ${state.unit.show(value)} a request` }] : [];
      });
      const total = parts.reduce((sum, part) => sum + part.value, 0);
      return [{ total, bar: { name: line.name, parts, figure: state.unit.show(total) } }];
    });
    items.sort((a, b) => a.total - b.total);
    const used = state.unit.causes.filter(({ of }) => rows.some((row) => (of(row) ?? 0) > 0));
    const key = used.map(({ label, colour }) => h("li", {}, h("i", { class: "box", style: `background:${colour}` }), label));
    body.replaceChildren(h("ul", { class: "key" }, ...key), bars(items.map(({ bar }) => bar), Math.max(...items.map(({ total }) => total), 0)));
  };
  fill();
  choices.onChange(fill);
  const bar = h("div", { class: "bar" });
  if (known.length > 1) {
    bar.append(choice("Count", known.map(({ label }) => label), 0, (at) => {
      state.unit = known[at]!;
      fill();
    }));
  }
  if (sizes.length > 1) {
    bar.append(choice("Cache size", sizes.map(showSize(group)), state.at, (at) => {
      state.at = at;
      fill();
    }));
  }
  const caption = known.length > 1 ? "The least first." : `In ${state.unit.label}, the least first.`;
  return h("figure", { class: "part storage" }, h("h3", {}, "Cost of a request at the storage"), h("figcaption", {}, caption), bar, body);
}
