// The paper's findings and ours: a line a comparison.

import type { Comparison, Experiment } from "./data.ts";
import { h, name } from "./dom.ts";

/** A gain as it is written: always with its sign. */
export function signed(gain: number): string {
  return `${gain < 0 ? "−" : "+"}${Math.abs(gain).toFixed(1)}`;
}

function title(one: Comparison): string {
  return `${one.better} against ${one.than}${one.range ?? ""}`;
}

/** The figure; nothing where nothing is compared. */
export function beside(experiment: Experiment): HTMLElement | null {
  const told = experiment.compare.filter((one) => one.mean !== undefined);
  if (told.length === 0) return null;
  const gains = told.flatMap((one) => [one.mean!, one.most!, one.least!, ...(one.paper_mean === undefined ? [] : [one.paper_mean])]);
  const [low, high] = [Math.min(0, ...gains), Math.max(0, ...gains)];
  const width = high - low || 1;
  const place = (gain: number) => (100 * (gain - low)) / width;
  const list = h("div", { class: "beside" });
  for (const one of told) list.append(...line(one, place));
  const papers = told.some((one) => one.paper_mean !== undefined);
  const caption = h(
    "figcaption",
    {},
    `Gain in ${experiment.unit}, every trace counting alike. `,
    mark("ours"),
    ` our mean${papers ? ", " : ""}`,
    ...(papers ? [mark("paper"), " the paper’s"] : []),
    `; the line goes from the least to the greatest gain at any size on any trace.${told.some((one) => one.within !== undefined) ? " ±: half of the 95 % confidence interval of the mean, were the traces drawn at random." : ""}`,
  );
  return h("figure", { class: "part" }, h("h3", {}, papers ? "The paper’s figures beside ours" : "How they compare"), caption, list, byTrace(told));
}

function mark(kind: "ours" | "paper"): HTMLElement {
  return h("i", { class: `mark ${kind}` });
}

function line(one: Comparison, place: (gain: number) => number): HTMLElement[] {
  const at = (element: HTMLElement, gain: number) => {
    element.style.left = `${place(gain)}%`;
    return element;
  };
  const range = at(h("i", { class: "range", title: `least ${signed(one.least!)}, greatest ${signed(one.most!)}` }), one.least!);
  range.style.width = `${place(one.most!) - place(one.least!)}%`;
  const track = h("div", { class: "track", "aria-hidden": "true" }, at(h("i", { class: "zero" }), 0), range);
  if (one.paper_mean !== undefined) track.append(at(mark("paper"), one.paper_mean));
  track.append(at(mark("ours"), one.mean!));
  const within = one.within === undefined ? "" : ` ± ${one.within.toFixed(1)}`;
  const paper = one.paper_mean === undefined ? "" : `paper ${signed(one.paper_mean)}`;
  const figures = h("div", { class: "figures" }, h("span", {}, h("b", {}, signed(one.mean!)), h("span", { class: "soft" }, within)), h("span", { class: "soft" }, paper));
  return [name(title(one), "label"), track, figures, h("div", { class: "soft verdict" }, [one.verdict, savedBy(one)].filter(Boolean).join("; "))];
}

/** How much smaller the cache may be. */
function savedBy({ saved, paper_saved: paper }: Comparison): string | undefined {
  const percent = (share: number) => `${share.toFixed(1)} %`;
  return saved === undefined ? undefined : `cache saved ${percent(saved)}${paper === undefined ? "" : `, paper ${percent(paper)}`}`;
}

/** Gains trace by trace, where the paper tells which way they go there or a bound was run. */
function byTrace(told: Comparison[]): HTMLElement | null {
  const shown = told.filter((one) => one.traces.some((trace) => trace.agrees !== undefined || trace.way !== undefined));
  if (shown.length === 0) return null;
  const head = h("tr", {}, h("th", { scope: "col" }, "trace"), ...shown.map((one) => h("th", { scope: "col" }, name(title(one)))));
  const cell = (trace: Comparison["traces"][number] | undefined) => {
    if (trace?.mean === undefined) return h("td", {}, "");
    const sign = trace.agrees === undefined ? "" : { yes: "as the paper", no: "not as the paper", same: "no difference" }[trace.agrees];
    const way = trace.way === undefined ? "" : `${(100 * trace.way).toFixed(0)} % of the way to the bound`;
    return h("td", trace.agrees === "no" ? { class: "differs" } : {}, signed(trace.mean), h("div", { class: "soft" }, [sign, way].filter(Boolean).join(", ")));
  };
  const lines = shown[0]!.traces.map((trace, at) => h("tr", {}, h("td", {}, name(trace.trace)), ...shown.map((one) => cell(one.traces[at]))));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...lines));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Gains by trace" }, table);
}
