// How much less memory a scheme needs for the hit ratio that LRU has.

import { Chart } from "./chart.ts";
import { isBaseline, size, type Group, type Series } from "./data.ts";
import { h } from "./dom.ts";
import { lines, showSize, sizeTitle, type Choices } from "./curves.ts";
import { percent } from "./format.ts";

/** A size and a hit ratio. */
type Knot = [size: number, ratio: number];

/** The least size with which a curve reaches `ratio`, on straight lines over the logarithm of size; undefined outside of what was measured. */
export function sizeFor(curve: Knot[], ratio: number): number | undefined {
  const at = curve.findIndex(([, reached]) => reached >= ratio);
  if (at < 0) return undefined;
  const [right, high] = curve[at]!;
  if (at === 0) return high === ratio ? right : undefined;
  const [left, low] = curve[at - 1]!;
  return left * (right / left) ** ((ratio - low) / (high - low));
}

/** The sizes of the baseline, and what share of them a scheme saves there. */
export function saved(series: Series, baseline: Series, group: Group): { x: number; y: number; size: number }[] {
  const curve = series.rows.map((row): Knot => [size(row, group), row.hit_ratio]);
  return baseline.rows.flatMap((row) => {
    const x = size(row, group);
    const needed = row.hits === 0 ? undefined : sizeFor(curve, row.hit_ratio);
    return needed === undefined ? [] : [{ x, y: 1 - needed / x, size: needed }];
  });
}

/** The scheme to hold others against. */
export function baselineOf(group: Group): Series | undefined {
  return group.series.find((series) => isBaseline(series.name) && series.rows.length > 1);
}

/** The figure; nothing without LRU or without another policy. */
export function memorySaved(group: Group, choices: Choices): HTMLElement | null {
  const baseline = baselineOf(group);
  if (baseline === undefined || group.series.length < 2) return null;
  const showX = showSize(group);
  const points = (series: Series) =>
    series === baseline ? [] : saved(series, baseline, group).map(({ x, y, size }) => ({ x, y, exact: `${showX(size)} instead of ${showX(x)}` }));
  const drawing = () => ({
    label: "Memory saved at the hit ratio of LRU, by its cache size",
    titles: { x: sizeTitle(group, "Cache size of lru"), y: "Memory saved, %" },
    lines: lines(group, choices, points),
    log: !group.byShare,
    binary: !group.byShare,
    share: true,
    floor: -1,
    showX,
    showY: (share: number) => percent(share, 1),
    tickY: (share: number) => `${Number((share * 100).toFixed(2))} %`,
  });
  if (drawing().lines.every((line) => line.points.length === 0)) return null;
  const chart = new Chart(drawing(), 300, choices.zoom);
  choices.onChange(() => chart.draw(drawing()));
  return h(
    "figure",
    { class: "part saved" },
    h("h3", {}, "Memory saved at equal hit ratio"),
    h("figcaption", {}, "How much less each scheme needs to hit as much as lru does at the size below. Between measured sizes on straight lines over the logarithm of the size; nothing is said outside of them. Below 0 it needs more; a scheme that needs more than twice as much lies below the picture."),
    chart.element,
  );
}
