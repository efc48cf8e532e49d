// Small multiples: the same curves for each application, class or trace, on one scale.

import { around } from "./axes.ts";
import { bars, type Bar } from "./bars.ts";
import { Chart } from "./chart.ts";
import type { Group, Named, Row } from "./data.ts";
import { h, name } from "./dom.ts";
import { lines, points, showSize, sizeTitle, type Choices } from "./curves.ts";
import { brief } from "./format.ts";
import { HIT_RATIO, titleOf, type Measure } from "./measure.ts";
import { promiseLines, promiseWords } from "./promises.ts";
import type { Range } from "./zoom.ts";

const PANELS = 24;

/** With fewer references one reference is more than a percent: what such a panel shows is mostly chance. */
const HANDFUL = 100;

/** What a small chart shows, and on which scale. */
interface Style {
  measure: Measure;
  /** Where the axis begins and ends; its own where it is absent. Bars begin at 0. */
  range?: Range;
  /** The only one: a chart as large as the page. */
  large?: boolean;
  /** Less is better: bars begin with the least. */
  ascending?: boolean;
}

const RATIO: Style = { measure: HIT_RATIO, range: [0, 1] };

/** An application or a class: how often it is referenced at most, and whether it was promised something. */
interface Part {
  name: string;
  references: number;
  isPromised: boolean;
}

/** A panel an application or class; nothing where the results do not tell them apart. */
export function panels(group: Group, choices: Choices, title: string, of: (row: Row) => Named[] | undefined): HTMLElement | null {
  const ranked = partsOf(group, of);
  if (ranked.length === 0) return null;
  const shown = ranked.slice(0, PANELS);
  const counts = (part: Part) => (row: Row) => of(row)?.find((one) => one.name === part.name);
  const style = { ...RATIO, range: scaleOf(group, shown.map(counts)) };
  const draw = (parts: Part[]) => {
    const drawn = parts.map((part) => panel(group, choices, part.name, `${brief(part.references)} references`, counts(part), style));
    return h("div", { class: "panels" }, ...drawn);
  };
  const few = shown.filter((part) => part.references < HANDFUL && !part.isPromised);
  const folds = few.length > 0 && few.length < shown.length;
  const oneSize = group.series.every((series) => series.rows.length < 2);
  const axis = oneSize ? "" : ` over ${sizeTitle(group, "cache size")}`;
  const rest = ranked.length - shown.length;
  const more = rest > 0 ? ` ${rest} more are in the results and not drawn.` : "";
  return h(
    "figure",
    { class: "part" },
    h("h3", {}, title),
    h("figcaption", {}, `Hit ratio of references, %${axis}; the most referenced first, all on one scale.${more}`),
    draw(folds ? shown.filter((part) => !few.includes(part)) : shown),
    folds ? folded(few, () => draw(few)) : null,
  );
}

/** Panels that are drawn when they are asked for. */
function folded(few: Part[], draw: () => HTMLElement): HTMLElement {
  const names = few.flatMap((part, at) => [at > 0 ? ", " : "", name(part.name)]);
  const summary = h("summary", { class: "clip" }, `${few.length} with fewer than ${HANDFUL} references: `, ...names);
  const details = h("details", { class: "few" }, summary);
  details.addEventListener("toggle", () => details.append(draw()), { once: true });
  return details;
}

/** The most referenced first. */
function partsOf(group: Group, of: (row: Row) => Named[] | undefined): Part[] {
  const parts = new Map<string, Part>();
  for (const row of group.series.flatMap((series) => series.rows)) {
    for (const { name, references, promised } of of(row) ?? []) {
      const known = parts.get(name) ?? { name, references: 0, isPromised: false };
      const isPromised = known.isPromised || promised !== undefined;
      parts.set(name, { name, references: Math.max(known.references, references), isPromised });
    }
  }
  return [...parts.values()].sort((a, b) => b.references - a.references);
}

/** One scale for all of them, from where the hit ratios and promises begin. */
function scaleOf(group: Group, all: ((row: Row) => Named | undefined)[]): Range {
  const rows = group.series.flatMap((series) => series.rows);
  const values = all.flatMap((counts) => rows.flatMap((row) => {
    const one = counts(row);
    return one === undefined ? [] : [one.hit_ratio, ...(one.promised === undefined ? [] : [one.promised])];
  }));
  return [Math.max(0, around(values)[0]), 1];
}

/** One small chart with its title; bars where there is one size. */
export function panel(group: Group, choices: Choices, title: string, note: string, counts: (row: Row) => Named | Row | undefined, style = RATIO): HTMLElement {
  const app = (row: Row) => counts(row) as Named | undefined;
  const head = [h("h4", {}, name(title)), h("div", { class: "soft" }, note)];
  const words = promiseWords(group, app);
  if (group.series.every((series) => series.rows.length < 2)) {
    const body = h("div", {});
    const fill = () => {
      const drawn = ratioBars(group, choices, counts, style);
      body.replaceChildren(bars(drawn, style.range?.[1] ?? Math.max(0, ...drawn.map((bar) => bar.parts[0]!.value))));
    };
    fill();
    choices.onChange(fill);
    return h("div", {}, ...head, body, words);
  }
  const drawing = () => ({
    label: `${style.measure.label} of ${title.slice(0, 200)} by cache size.`,
    lines: [...lines(group, choices, (series) => points(series, group, style.measure, counts)), ...promiseLines(group, app)],
    log: !group.byShare,
    binary: !group.byShare,
    share: style.measure.share,
    small: !style.large,
    ...(style.large ? { titles: { x: sizeTitle(group), y: titleOf(style.measure) } } : {}),
    ...(style.range === undefined ? {} : { range: style.range }),
    showX: showSize(group),
    showY: style.measure.show,
    tickY: style.measure.tick,
  });
  const chart = new Chart(drawing(), style.large ? 320 : 150, choices.zoom);
  choices.onChange(() => chart.draw(drawing()));
  return h("div", {}, ...head, chart.element, words);
}

/** The measure of each scheme at its only size, the best first; a mark where a promise is. */
export function ratioBars(group: Group, choices: Choices, counts: (row: Row) => Named | Row | undefined, style = RATIO): Bar[] {
  const drawn = lines(group, choices, (series) => points(series, group, style.measure, counts));
  const known = drawn.flatMap((line, at) => (line.shown && line.points.length > 0 ? [{ line, row: group.series[at]!.rows[0]! }] : []));
  known.sort((a, b) => (b.line.points[0]!.y - a.line.points[0]!.y) * (style.ascending ? -1 : 1));
  return known.map(({ line, row }) => {
    const { y, exact } = line.points[0]!;
    const promised = (counts(row) as Named).promised;
    return {
      name: line.name,
      parts: [{ value: y, colour: line.colour, ...(exact ? { label: exact } : {}) }],
      figure: style.measure.show(y),
      ...(promised === undefined ? {} : { mark: { value: promised, label: `promised ${style.measure.show(promised)}` } }),
    };
  });
}
