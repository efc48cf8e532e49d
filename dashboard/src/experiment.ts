// An experiment: a paper's figure with traces at hand, the paper's claim, and both side by side.

import { around } from "./axes.ts";
import { beside } from "./beside.ts";
import { Choices, legend } from "./curves.ts";
import { groups, type Experiment, type Group, type Row } from "./data.ts";
import { fileName, h, name } from "./dom.ts";
import { brief, bytes, count, figure, percent } from "./format.ts";
import { type Measure } from "./measure.ts";
import { panel } from "./panels.ts";
import { overTime } from "./time.ts";
import type { Range } from "./zoom.ts";

type Style = Pick<Measure, "show" | "tick" | "share">;

const SHARE: Style = { show: (value) => percent(value), tick: (value) => `${Number((value * 100).toFixed(2))} %`, share: true };
const NUMBER: Style = { show: figure, tick: brief, share: false };
const ofHundred = (value: number) => figure(value * 100);
/** What is counted on a hundred of something else. */
const HUNDREDTHS: Style = { show: ofHundred, tick: ofHundred, share: false };

/** How the measures of docs/guide/repeat-a-figure.md are written; the others are numbers. */
const STYLES: Record<string, Style> = {
  hit_ratio: SHARE,
  read_request_miss_ratio: SHARE,
  disk_use: SHARE,
  write_back_ratio: HUNDREDTHS,
  transfers_per_reference: HUNDREDTHS,
  bytes_read: { show: bytes, tick: bytes, share: false },
};

/** Where more is better. */
const GAINS = new Set(["hit_ratio", "refault_distance_to_clock"]);

/** The traces of an experiment, each with its rows. */
export function groupsOf(experiment: Experiment, rows: Row[]): Group[] {
  return experiment.traces.flatMap(({ from, values }) =>
    groups(rows.slice(from, from + values.length)).map((group) => ({ ...group, byShare: experiment.axis === "share" })),
  );
}

/** The section of an experiment; `detail` shows all there is of one of its traces. */
export function experimentSection(experiment: Experiment, rows: Row[], id: string, detail: (group: Group, id: string) => HTMLElement): HTMLElement {
  const all = groupsOf(experiment, rows);
  const measure = measureOf(experiment, rows);
  const said = (label: string, text: string | undefined) => (text ? h("div", {}, h("h3", {}, label), h("p", {}, text)) : null);
  return h(
    "section",
    { id },
    h("h2", {}, name(experiment.title)),
    h("p", { class: "soft" }, name(experiment.source)),
    h("div", { class: "sides" }, said("The paper", experiment.claim), said("Here", experiment.finding)),
    beside(experiment),
    multiples(experiment, all, measure),
    ...experiment.traces.map(({ from, series }) => overTime(series ?? [], rows, experiment.traces.length > 1 ? `Over time: ${fileName(rows[from]!.trace)}` : "Over time")),
    ...all.map((group, at) => h("details", {}, h("summary", {}, "All of ", name(fileName(group.trace))), detail(group, `${id}-${at}`))),
  );
}

/** What the experiment measures, by row: the command has worked it out for the classes that it counts. */
function measureOf(experiment: Experiment, rows: Row[]): Measure {
  const values = new Map<object, number>();
  for (const { from, values: told } of experiment.traces)
    told.forEach((value, at) => value !== null && values.set(rows[from + at]!, value));
  const label = experiment.measured;
  return { label: label.slice(0, 1).toUpperCase() + label.slice(1), of: (counts) => values.get(counts), ...(STYLES[experiment.measure] ?? NUMBER) };
}

/** The figure itself: a small chart a trace. */
function multiples(experiment: Experiment, all: Group[], measure: Measure): HTMLElement | null {
  const first = all[0];
  if (first === undefined) return null;
  const choices = new Choices(first);
  const better = first.series.findIndex((series) => series.name === experiment.compare[0]?.better);
  if (better >= 0) choices.interest = better;
  const values = all.flatMap((group) => group.series.flatMap((series) => series.rows.flatMap((row) => measure.of(row) ?? [])));
  const most = Math.max(0, ...values);
  const [from, to] = around(values);
  const style = { measure, large: all.length === 1, ascending: !GAINS.has(experiment.measure), ...(measure.share && most > 0 && all.length > 1 ? { range: [Math.max(0, from), Math.min(1, to)] as Range } : {}) };
  const grid = h("div", { class: all.length > 1 ? "panels wide" : "panels one" });
  for (const group of all) {
    const references = group.series[0]!.rows[0]!.references;
    grid.append(panel(group, choices, fileName(group.trace), `${brief(references)} references`, (row) => row, style));
  }
  const axis = experiment.axis === "share" ? "share of the footprint" : "cache size";
  const scale = all.length < 2 ? "" : measure.share ? ", all on one scale" : ", each on its own scale";
  const sizes = new Set(first.series.flatMap((series) => series.rows.map((row) => row.size_blocks)));
  const caption = sizes.size > 1 ? `By ${axis}${scale}.` : `At ${experiment.sizes}.`;
  return h("figure", { class: "part multiples" }, h("h3", {}, measure.label), h("figcaption", {}, caption), grid, legend(first, choices));
}

/** The way to each experiment of a page with several. */
export function contents(experiments: Experiment[], id: (at: number) => string): HTMLElement | null {
  if (experiments.length < 2) return null;
  const entries = experiments.map((experiment, at) =>
    h("li", {}, h("a", { href: `#${id(at)}` }, name(experiment.title)), h("div", { class: "soft" }, name(experiment.source))),
  );
  return h("nav", { "aria-label": "Experiments" }, h("p", { class: "soft" }, `${count(experiments.length)} experiments`), h("ol", { class: "contents" }, ...entries));
}
