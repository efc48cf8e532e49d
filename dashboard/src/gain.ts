// The scheme that gains most over LRU, and where.

import { isBaseline, isBound, knowsFuture, type Group, type Row, type Series } from "./data.ts";

/** The row of a series at a size. */
function at(series: Series | undefined, blocks: number): Row | undefined {
  return series?.rows.find((row) => row.size_blocks === blocks);
}

/** The best scheme that can be run against LRU where the gain is greatest. */
export interface Gain {
  best: Row;
  lru: Row;
  bound: Row | undefined;
}

/** Where that is; undefined without LRU or without anything beside it. */
export function greatestGain(group: Group): Gain | undefined {
  const lru = group.series.find((series) => isBaseline(series.name));
  const bound = group.series.find((series) => isBound(series.name));
  const rivals = group.series.filter((series) => series !== lru && !knowsFuture(series.name));
  let most: Gain | undefined;
  for (const row of lru?.rows ?? []) {
    const there = rivals.flatMap((series) => at(series, row.size_blocks) ?? []);
    const best = there.reduce<Row | undefined>((best, one) => (best && best.hit_ratio >= one.hit_ratio ? best : one), undefined);
    const gain = best ? best.hit_ratio - row.hit_ratio : -1;
    if (best && (!most || gain > most.best.hit_ratio - most.lru.hit_ratio)) most = { best, lru: row, bound: at(bound, row.size_blocks) };
  }
  return most;
}

/** The scheme that stands out: the one with that gain; without LRU the one with the best mean hit ratio of those that can be run. */
export function ofInterest(group: Group): number {
  const best = greatestGain(group)?.best;
  const gains = group.series.findIndex((series) => best !== undefined && series.rows.includes(best));
  if (gains >= 0) return gains;
  const mean = ({ name, rows }: Series) => (knowsFuture(name) ? -1 : rows.reduce((sum, row) => sum + row.hit_ratio, 0) / rows.length);
  const means = group.series.map(mean);
  return means.indexOf(Math.max(...means));
}
