// Small multiples: the same curves for each application, class or trace, on one scale.

import { bars, type Bar } from "./bars.ts";
import { Chart } from "./chart.ts";
import type { Group, Named, Row } from "./data.ts";
import { h, name } from "./dom.ts";
import { lines, points, showSize, type Choices } from "./curves.ts";
import { brief } from "./format.ts";
import { HIT_RATIO, type Measure } from "./measure.ts";

const PANELS = 24;

/** What a small chart shows, and on which scale. */
interface Style {
  measure: Measure;
  /** The greatest value of the axis; its own where it is absent. */
  top?: number;
  /** The only one: a chart as large as the page. */
  large?: boolean;
  /** Less is better: bars begin with the least. */
  ascending?: boolean;
}

const RATIO: Style = { measure: HIT_RATIO, top: 1 };

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
export function panel(group: Group, choices: Choices, title: string, note: string, counts: (row: Row) => Named | Row | undefined, style = RATIO): HTMLElement {
  const head = h("h4", {}, name(title));
  const under = h("div", { class: "soft" }, note);
  if (group.series.every((series) => series.rows.length < 2)) {
    const body = h("div", {});
    const fill = () => {
      const drawn = ratioBars(group, choices, counts, style);
      body.replaceChildren(bars(drawn, style.top ?? Math.max(0, ...drawn.map((bar) => bar.parts[0]!.value))));
    };
    fill();
    choices.onChange(fill);
    return h("div", {}, head, under, body);
  }
  const drawing = () => ({
    label: `${style.measure.label} of ${title.slice(0, 200)} by cache size`,
    lines: lines(group, choices, (series) => points(series, group, style.measure, counts)),
    log: !group.byShare,
    binary: !group.byShare,
    share: style.measure.share,
    small: !style.large,
    ...(style.top === undefined ? {} : { top: style.top }),
    showX: showSize(group),
    showY: style.measure.show,
    tickY: style.measure.tick,
  });
  const chart = new Chart(drawing(), style.large ? 320 : 150);
  choices.onChange(() => chart.draw(drawing()));
  return h("div", {}, head, under, chart.element);
}

/** The measure of each scheme at its only size, the best first. */
export function ratioBars(group: Group, choices: Choices, counts: (row: Row) => Named | Row | undefined, style = RATIO): Bar[] {
  const drawn = lines(group, choices, (series) => points(series, group, style.measure, counts));
  const known = drawn.filter((line) => line.shown && line.points.length > 0);
  known.sort((a, b) => (b.points[0]!.y - a.points[0]!.y) * (style.ascending ? -1 : 1));
  return known.map((line) => ({
    name: line.name,
    parts: [{ value: line.points[0]!.y, colour: line.colour, ...(line.points[0]!.exact ? { label: line.points[0]!.exact } : {}) }],
    figure: style.measure.show(line.points[0]!.y),
  }));
}
