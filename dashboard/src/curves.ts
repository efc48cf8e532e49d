// The curves of one trace: a measure by size, a legend that switches lines, bars where there is one size only.

import { Chart, swatch, type Line, type Role } from "./chart.ts";
import { isBaseline, knowsFuture, size, type Counts, type Group, type Row, type Series } from "./data.ts";
import { choice, h, name } from "./dom.ts";
import { bytes, count, percent } from "./format.ts";
import { ofInterest } from "./gain.ts";
import { HIT_RATIO, measures, titleOf, type Measure } from "./measure.ts";
import { COLOURED, colour, hue, onTheme } from "./theme.ts";
import { Zoom } from "./zoom.ts";

/** What the reader has chosen for a trace; all its charts follow. */
export class Choices {
  interest: number;
  hidden = new Set<number>();
  /** The sizes that are shown. */
  readonly zoom = new Zoom();
  private readonly listeners: (() => void)[] = [];

  constructor(group: Group) {
    this.interest = ofInterest(group);
  }

  onChange(redraw: () => void): void {
    this.listeners.push(redraw);
  }

  changed(): void {
    this.listeners.forEach((redraw) => redraw());
  }
}

/** How each scheme is drawn: one stands out, the bound is dashed, few have colours, of many the rest is grey. */
export function lines(group: Group, choices: Choices, points: (series: Series) => Line["points"]): Line[] {
  let hues = 0;
  const few = group.series.length <= COLOURED;
  return group.series.map((series, at) => {
    const role: Role =
      at === choices.interest ? "interest" : knowsFuture(series.name) ? "bound" : few || isBaseline(series.name) ? "coloured" : "grey";
    const ink = { interest: () => colour("--accent"), bound: () => colour("--soft"), coloured: () => hue(hues++), grey: () => colour("--faint") };
    return { name: series.name, role, colour: ink[role](), shown: !choices.hidden.has(at), points: points(series) };
  });
}

/** A size as it is written under an axis and in words. */
export function showSize(group: Group): (value: number) => string {
  if (group.byShare) return (share) => percent(share, share < 0.1 ? 1 : 0);
  return group.inBytes ? bytes : (blocks) => count(Math.round(blocks));
}

/** What lies on the axis of sizes, of a cache or of one of its kind. */
export function sizeTitle(group: Group, cache = "Cache size"): string {
  if (group.byShare) return `${cache}, % of the footprint`;
  return group.inBytes ? `${cache} in bytes (1K = 1024)` : `${cache} in blocks`;
}

/** The exact counts behind a point. */
function exact(row: Row, blocks: string): string {
  const estimate = row.sampling_rate === undefined ? "" : ", estimated from a sample";
  return `${count(row.hits)} hits of ${count(row.references)} references${blocks}${estimate}`;
}

/** The points of a scheme under a measure. */
export function points(series: Series, group: Group, measure: Measure, of: (row: Row) => Counts | undefined = (row) => row) {
  return series.rows.flatMap((row) => {
    const counts = of(row);
    const y = counts && measure.of(counts);
    if (y === undefined) return [];
    const blocks = group.inBytes ? `, cache of ${count(row.size_blocks)} blocks` : "";
    return [{ x: size(row, group), y, exact: exact({ ...row, ...counts }, blocks) }];
  });
}

/** The main figure of a trace. */
export function curves(group: Group, choices: Choices): HTMLElement {
  const known = measures(group.series.flatMap((series) => series.rows));
  const state = { measure: known[0] ?? HIT_RATIO, log: !group.byShare };
  const drawing = () => ({
    label: `${state.measure.label} by cache size`,
    titles: { x: sizeTitle(group), y: titleOf(state.measure) },
    lines: lines(group, choices, (series) => points(series, group, state.measure)),
    log: state.log,
    binary: !group.byShare,
    share: state.measure.share,
    showX: showSize(group),
    showY: state.measure.show,
    tickY: state.measure.tick,
  });
  const chart = new Chart(drawing(), 400, choices.zoom);
  const redraw = () => chart.draw(drawing());
  choices.onChange(redraw);
  const bar = h(
    "div",
    { class: "bar" },
    choice("Show", known.map(({ label }) => label), 0, (at) => redrawAfter(() => (state.measure = known[at]!))),
    choice("Size axis", ["logarithmic", "linear"], state.log ? 0 : 1, (at) => redrawAfter(() => (state.log = at === 0))),
    choice("Stands out", group.series.map((series) => series.name), choices.interest, (at) => {
      choices.interest = at;
      choices.changed();
    }),
  );
  const redrawAfter = (change: () => void) => {
    change();
    redraw();
  };
  return h("figure", { class: "part curves" }, bar, chart.element, legend(group, choices));
}

/** A key to the lines; each switches its own on and off in all charts of `choices`. */
export function legend(group: Group, choices: Choices): HTMLElement {
  const list = h("ul", { class: "legend", "aria-label": "Schemes: press to hide or show" });
  const fill = () => {
    const focused = [...list.children].findIndex((item) => item.contains(document.activeElement));
    list.replaceChildren(...lines(group, choices, () => []).map((line, at) => h("li", {}, entry(line, at, choices))));
    if (focused >= 0) list.children[focused]?.querySelector("button")?.focus();
  };
  fill();
  choices.onChange(fill);
  onTheme(fill);
  return list;
}

function entry(line: Line, at: number, choices: Choices): HTMLElement {
  const button = h("button", { type: "button", "aria-pressed": String(line.shown) }, swatch(line), name(line.name));
  button.addEventListener("click", () => {
    if (!choices.hidden.delete(at)) choices.hidden.add(at);
    choices.changed();
  });
  return button;
}
