// Small multiples: the same curves for each application, class or trace, on one scale.

import { bars, type Bar } from "./bars.ts";
import { Chart } from "./chart.ts";
import type { Group, Named, Row } from "./data.ts";
import { h, name } from "./dom.ts";
import { lines, points, showSize, type Choices } from "./curves.ts";
import { brief, percent } from "./format.ts";
import { HIT_RATIO } from "./measure.ts";

const PANELS = 24;

/** A panel an application or class; nothing where the results do not tell them apart. */
export function panels(group: Group, choices: Choices, title: string, of: (row: Row) => Named[] | undefined): HTMLElement | null {
  const rows = group.series.flatMap((series) => series.rows);
  const weights = new Map<string, number>();
  for (const row of rows) for (const one of of(row) ?? []) weights.set(one.name, Math.max(weights.get(one.name) ?? 0, one.references));
  if (weights.size === 0) return null;
  const ranked = [...weights].sort((a, b) => b[1] - a[1]);
  const shown = ranked.slice(0, PANELS).map(([name]) => name);
  const grid = h("div", { class: "panels" });
  for (const part of shown) {
    const counts = (row: Row) => of(row)?.find((one) => one.name === part);
    grid.append(panel(group, choices, part, `${brief(weights.get(part)!)} references`, counts));
  }
  const rest = ranked.length - shown.length;
  const caption = `Hit ratio by cache size, the most referenced first, all on one scale.${rest > 0 ? ` ${rest} more are in the results and not drawn.` : ""}`;
  return h("figure", { class: "part" }, h("h3", {}, title), h("figcaption", {}, caption), grid);
}

/** One small chart with its title; bars where there is one size. */
export function panel(group: Group, choices: Choices, title: string, note: string, counts: (row: Row) => Named | Row | undefined): HTMLElement {
  const head = h("h4", {}, name(title));
  const under = h("div", { class: "soft" }, note);
  if (group.series.every((series) => series.rows.length < 2)) {
    const body = h("div", {});
    const fill = () => body.replaceChildren(bars(ratioBars(group, choices, counts), 1));
    fill();
    choices.onChange(fill);
    return h("div", {}, head, under, body);
  }
  const drawing = () => ({
    label: `Hit ratio of ${title.slice(0, 200)} by cache size`,
    lines: lines(group, choices, (series) => points(series, group, HIT_RATIO, counts)),
    log: true,
    share: true,
    small: true,
    top: 1,
    showX: showSize(group),
    showY: HIT_RATIO.show,
    tickY: HIT_RATIO.tick,
  });
  const chart = new Chart(drawing(), 150);
  choices.onChange(() => chart.draw(drawing()));
  return h("div", {}, head, under, chart.element);
}

/** The hit ratio of each scheme at its only size, the best first. */
export function ratioBars(group: Group, choices: Choices, counts: (row: Row) => Named | Row | undefined): Bar[] {
  const drawn = lines(group, choices, (series) => points(series, group, HIT_RATIO, counts));
  const known = drawn.filter((line) => line.shown && line.points.length > 0);
  known.sort((a, b) => b.points[0]!.y - a.points[0]!.y);
  return known.map((line) => ({
    name: line.name,
    parts: [{ value: line.points[0]!.y, colour: line.colour, ...(line.points[0]!.exact ? { label: line.points[0]!.exact } : {}) }],
    figure: percent(line.points[0]!.y),
  }));
}
