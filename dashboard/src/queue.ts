// Where virtual queues are hit over time: position against time, the darker the more.

import type { Stretch } from "./data.ts";
import { choice, clip, h, name } from "./dom.ts";
import { count, percent } from "./format.ts";
import { Grid, ink } from "./grid.ts";
import { colour } from "./theme.ts";

/** What has faded to less than this share of the most is not drawn; just above it is this opaque. */
const LEAST = 0.002;
const FAINTEST = 0.07;

const HEIGHT = 300;

/** The figure, one application at a time; nothing for schemes without virtual queues. */
export function queues(stretches: Stretch[], end: (one: Stretch) => number, showEnd: (x: number) => string, timeTitle: string): HTMLElement[] {
  const apps = [...Map.groupBy(stretches.filter((one) => one.queue_values !== undefined), (one) => one.app)];
  if (apps.length === 0) return [];
  const weight = (of: Stretch[]) => of.reduce((sum, one) => sum + one.references, 0);
  apps.sort((a, b) => weight(b[1]) - weight(a[1]));
  const ends = [...new Set(stretches.map(end))].sort((a, b) => a - b);
  const body = h("div", { class: "heat" });
  const show = (at: number) => body.replaceChildren(...heat(apps[at]!, ends, end, showEnd, timeTitle));
  show(0);
  const bar = apps.length > 1 ? h("div", { class: "bar" }, choice("Application", apps.map(([app]) => app), 0, show)) : null;
  const caption = "Where the virtual queue is hit: what each position is worth, its hits faded quantum by quantum, with the head of the queue at the lower edge.";
  return [h("figcaption", {}, caption), ...(bar === null ? [] : [bar]), body];
}

function heat([app, stretches]: [string, Stretch[]], ends: number[], end: (one: Stretch) => number, showEnd: (x: number) => string, timeTitle: string): HTMLElement[] {
  const column = new Map(ends.map((end, at) => [end, at]));
  const by = new Map(stretches.map((one) => [column.get(end(one))!, one]));
  const [blocks, bands] = [stretches[0]!.queue_blocks!, stretches[0]!.queue_values!.length];
  const most = stretches.reduce((most, one) => Math.max(most, ...one.queue_values!), 0);
  // All intervals have the same length, except the last.
  const every = ends.length > 1 ? ends[1]! - ends[0]! : ends[0]!;
  const grid = new Grid(
    {
      label: `Values of the virtual queue of ${clip(app, 200)} by time`,
      titles: { x: timeTitle, y: "Position in the queue, blocks" },
      x: { length: ends.at(-1)!, each: every, show: showEnd },
      y: { length: blocks, each: blocks / bands },
      paint: (cell) => {
        const accent = ink(colour("--accent"));
        for (const [column, { queue_values }] of by)
          queue_values!.forEach((value, row) => value > LEAST * most && cell(column, row, FAINTEST + (1 - FAINTEST) * (value / most), accent));
      },
      tell: (column, row) => {
        const values = by.get(column)?.queue_values;
        const at = h("div", { class: "at" }, `until ${showEnd(ends[column]!)}`);
        if (values === undefined) return [at, h("div", {}, "it had no queue yet")];
        const all = values.reduce((sum, value) => sum + value, 0);
        const share = all > 0 ? `, ${percent(values[row]! / all)} of all` : "";
        const positions = `positions ${count(Math.round((row * blocks) / bands) + 1)} to ${count(Math.round(((row + 1) * blocks) / bands))}`;
        return [at, h("div", { class: "at" }, positions), h("div", { class: "value" }, name(app), h("span", {}, `${worth(values[row]!)}${share}`))];
      },
    },
    HEIGHT,
  );
  const scale = h("div", { class: "scale soft" }, "0", h("i"), worth(most));
  return [grid.frame.element, scale];
}

function worth(value: number): string {
  return String(Number(value.toPrecision(4)));
}
