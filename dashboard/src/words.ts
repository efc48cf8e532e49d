// The facts of a trace's curves, in a sentence and a few figures.

import { size, type Group, type Row } from "./data.ts";
import { h } from "./dom.ts";
import { showSize } from "./curves.ts";
import { brief, bytes, count, percent } from "./format.ts";
import { fresh, gains, middleGain, ratio } from "./gain.ts";
import { baselineOf, saved } from "./saved.ts";

/** The sentence over the curves. */
export function lede(group: Group): string | undefined {
  const all = gains(group);
  const gain = middleGain(group);
  if (!gain) return undefined;
  const { best, lru, bound } = gain;
  const { noun } = fresh(lru);
  const unit = group.byShare ? " of the footprint" : group.inBytes ? "" : " blocks";
  const where = `With ${showSize(group)(size(lru, group))}${unit}${all.length > 1 ? ", the middle size," : ""}`;
  const limit = bound && ratio(bound) > ratio(best) ? ` Whoever knew the future would hit ${percent(ratio(bound), 1)}.` : "";
  const usual = `lru hits ${percent(ratio(lru), 1)}`;
  if (all.every(({ best, lru }) => ratio(best) <= ratio(lru))) return `No scheme here hits more ${noun} than lru at any size. ${where} ${usual}.${limit}`;
  if (ratio(best) <= ratio(lru)) return `${where} no scheme here hits more ${noun} than lru, which hits ${percent(ratio(lru), 1)}.${limit}`;
  return `${where} ${best.policy.slice(0, 60)} hits ${percent(ratio(best), 1)} of ${noun} where ${usual}.${limit}`;
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
  const gain = middleGain(group);
  if (!gain || ratio(gain.best) <= ratio(gain.lru)) return told;
  const than = `than lru at ${showSize(group)(size(gain.lru, group))}: ${gain.best.policy.slice(0, 40)}`;
  told.push([`fewer misses ${than}`, percent(1 - missed(gain.best) / Math.max(1, missed(gain.lru)), 1), true]);
  const baseline = baselineOf(group);
  const series = group.series.find((one) => one.rows.includes(gain.best));
  const there = baseline && series && saved(series, baseline, group).find(({ x }) => x === size(gain.lru, group));
  if (there && there.y > 0) told.push([`less memory ${than}`, percent(there.y, 1), true]);
  return told;
}

function missed(row: Row): number {
  const { hits, of } = fresh(row);
  return of - hits;
}

/** What there is, in a line: schemes and sizes. */
export function extent(group: Group): string {
  const sizes = new Set(group.series.flatMap((series) => series.rows.map((row) => row.size_blocks)));
  const plural = (number: number, word: string) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
  const block = group.series[0]!.rows[0]!.block_bytes;
  return `${plural(group.series.length, "scheme")}, ${plural(sizes.size, "size")}${block ? `, blocks of ${count(block)} bytes` : ""}`;
}
