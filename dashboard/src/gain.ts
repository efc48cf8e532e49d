// The gain of the best scheme over LRU, at the middle one of the sizes, which is not chosen by its figures.

import { isBaseline, isBound, knowsFuture, type Group, type Row, type Series } from "./data.ts";

/** The row of a series at a size. */
function at(series: Series | undefined, blocks: number): Row | undefined {
  return series?.rows.find((row) => row.size_blocks === blocks);
}

/** What hits, and of what: reads without repeats, which hit in any cache, where the results tell them. */
export interface Hits {
  hits: number;
  of: number;
  noun: string;
}

export function fresh({ hits, references, read_hits, read_references, repeat_hits = 0, repeats = 0 }: Row): Hits {
  if (read_hits === undefined || read_references === undefined || read_references === repeats) return { hits, of: references, noun: "references" };
  return { hits: read_hits - repeat_hits, of: read_references - repeats, noun: repeats > 0 ? "reads (repeats left out)" : "reads" };
}

export function ratio(row: Row): number {
  const { hits, of } = fresh(row);
  return of > 0 ? hits / of : 0;
}

/** The best scheme that can be run against LRU at one size. */
export interface Gain {
  best: Row;
  lru: Row;
  bound: Row | undefined;
}

/** At each size of LRU, the least first; empty without LRU or without another scheme. */
export function gains(group: Group): Gain[] {
  const lru = group.series.find((series) => isBaseline(series.name));
  const bound = group.series.find((series) => isBound(series.name));
  const rivals = group.series.filter((series) => series !== lru && !knowsFuture(series.name));
  return (lru?.rows ?? []).flatMap((row) => {
    const there = rivals.flatMap((series) => at(series, row.size_blocks) ?? []);
    const best = there.reduce<Row | undefined>((best, one) => (best && ratio(best) >= ratio(one) ? best : one), undefined);
    return best ? [{ best, lru: row, bound: at(bound, row.size_blocks) }] : [];
  });
}

/** At the middle size. */
export function middleGain(group: Group): Gain | undefined {
  const all = gains(group);
  return all[Math.floor((all.length - 1) / 2)];
}

/** The best scheme: the best one at the middle size; without LRU the one with the best mean hit ratio of those that can be run. */
export function ofInterest(group: Group): number {
  const best = middleGain(group)?.best;
  const gains = group.series.findIndex((series) => best !== undefined && series.rows.includes(best));
  if (gains >= 0) return gains;
  const mean = ({ name, rows }: Series) => (knowsFuture(name) ? -1 : rows.reduce((sum, row) => sum + ratio(row), 0) / rows.length);
  const means = group.series.map(mean);
  return means.indexOf(Math.max(...means));
}
