// What the curves of a trace say, in a sentence and a few figures.

import { size, type Group } from "./data.ts";
import { h } from "./dom.ts";
import { showSize } from "./curves.ts";
import { brief, bytes, count, percent } from "./format.ts";
import { greatestGain } from "./gain.ts";
import { baselineOf, saved } from "./saved.ts";

/** The sentence over the curves. */
export function lede(group: Group): string | undefined {
  const gain = greatestGain(group);
  if (!gain) return undefined;
  const { best, lru, bound } = gain;
  const where = `With ${showSize(group)(size(lru, group))}${group.byShare ? " of the footprint" : group.inBytes ? "" : " blocks"}`;
  const limit = bound && bound.hit_ratio > best.hit_ratio ? ` Whoever knew the future would hit ${percent(bound.hit_ratio, 1)}.` : "";
  if (best.hits <= lru.hits) return `No scheme here hits more than lru at any size.${limit && ` ${where}, lru hits ${percent(lru.hit_ratio, 1)}.${limit}`}`;
  return `${where}, ${best.policy.slice(0, 60)} hits ${percent(best.hit_ratio, 1)} where lru hits ${percent(lru.hit_ratio, 1)}.${limit}`;
}

/** Labelled figures. */
export function tiles(figures: [label: string, figure: string, isGain?: boolean][]): HTMLElement {
  const tile = ([label, figure, isGain]: [string, string, boolean?]) =>
    h("div", isGain ? { class: "gain" } : {}, h("dt", { title: label }, label), h("dd", {}, figure));
  return h("dl", { class: "tiles" }, ...figures.map(tile));
}

/** The figures over the curves. */
export function figures(group: Group): [string, string, boolean?][] {
  const first = group.series[0]!.rows[0]!;
  const told: [string, string, boolean?][] = [["references", brief(first.references)]];
  if (first.distinct_blocks !== undefined) told.push(["distinct blocks", brief(first.distinct_blocks)]);
  if (group.inBytes && first.distinct_blocks !== undefined && first.block_bytes !== undefined)
    told.push(["footprint", bytes(first.distinct_blocks * first.block_bytes)]);
  const gain = greatestGain(group);
  if (!gain || gain.best.hits <= gain.lru.hits) return told;
  const scheme = gain.best.policy.slice(0, 40);
  told.push([`fewer misses: ${scheme}`, percent(1 - gain.best.misses / Math.max(1, gain.lru.misses), 1), true]);
  const baseline = baselineOf(group);
  const series = group.series.find((one) => one.rows.includes(gain.best));
  const there = baseline && series && saved(series, baseline, group).find(({ x }) => x === size(gain.lru, group));
  if (there && there.y > 0) told.push([`less memory: ${scheme}`, percent(there.y, 1), true]);
  return told;
}

/** What there is, in a line: schemes and sizes. */
export function extent(group: Group): string {
  const sizes = new Set(group.series.flatMap((series) => series.rows.map((row) => row.size_blocks)));
  const plural = (number: number, word: string) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
  const block = group.series[0]!.rows[0]!.block_bytes;
  return `${plural(group.series.length, "scheme")}, ${plural(sizes.size, "size")}${block ? `, blocks of ${count(block)} bytes` : ""}`;
}
