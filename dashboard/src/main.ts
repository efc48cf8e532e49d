// The page: reads the data that the command put into it and draws what is there.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { adviceSection } from "./advice.ts";
import { bars } from "./bars.ts";
import { Choices, curves } from "./curves.ts";
import { groups, type Advice, type Experiment, type Group, type Inspection, type Pattern, type Report, type Row, type Stretch, type TraceFile } from "./data.ts";
import { fileName, h, name } from "./dom.ts";
import { contents, experimentSection } from "./experiment.ts";
import { count } from "./format.ts";
import { inspectionSection } from "./inspection.ts";
import { learnt } from "./learnt.ts";
import { storage } from "./io.ts";
import { nextSteps } from "./next.ts";
import { panels, panel, ratioBars } from "./panels.ts";
import { memorySaved } from "./saved.ts";
import { table } from "./table.ts";
import { overTime } from "./time.ts";
import { extent, figures, lede, tiles } from "./words.ts";

/** All that the results tell of one trace. */
function section(group: Group, id: string): HTMLElement {
  const stretches = (report.series ?? []).filter((stretch) => stretch.trace === group.trace);
  const choices = new Choices(group);
  const words = lede(group);
  const oneSize = group.series.every((series) => series.rows.length < 2);
  return h(
    "section",
    { id },
    h("h2", {}, name(fileName(group.trace), "name path")),
    h("p", { class: "soft" }, extent(group)),
    words === undefined ? null : h("p", { class: "lede" }, words),
    tiles(figures(group)),
    oneSize ? h("figure", { class: "part" }, h("h3", {}, "Hit ratio"), bars(ratioBars(group, choices, (row) => row), 1)) : curves(group, choices),
    oneSize ? null : memorySaved(group, choices),
    storage(group, choices),
    panels(group, choices, "By application", (row) => row.apps),
    panels(group, choices, "By class of data", (row) => row.classes),
    overTime(stretches, report.rows ?? []),
    learnt(group),
    table(group),
  );
}

/** All traces side by side, where there are several. */
function overview(all: Group[]): HTMLElement | null {
  if (all.length < 2) return null;
  const grid = h("div", { class: "panels" });
  all.forEach((group, at) => {
    const small = panel(group, new Choices(group), fileName(group.trace), extent(group), (row) => row);
    const title = small.querySelector("h4")!;
    title.replaceChildren(h("a", { href: `#trace-${at}` }, ...title.childNodes));
    grid.append(small);
  });
  return h("section", {}, h("h2", {}, "Trace by trace"), h("p", { class: "soft" }, "Hit ratio by cache size, all on one scale."), grid);
}

function origin(report: Report): HTMLElement {
  const seeds = [...new Set((report.rows ?? []).map((row) => row.seed))];
  const list = h("dl", { class: "facts" }, h("dt", {}, "Command"), h("dd", {}, h("code", {}, report.command)));
  list.append(h("dt", {}, "Version"), h("dd", {}, `hotset ${report.hotset}`));
  if (seeds.length > 0) list.append(h("dt", {}, seeds.length > 1 ? "Seeds" : "Seed"), h("dd", {}, seeds.join(", ")));
  const file = (kind: string, { name: path, bytes, xxh3 }: TraceFile) => {
    const facts = bytes === undefined ? "" : `${count(bytes)} bytes, XXH3 ${xxh3 ?? ""}`;
    list.append(h("dt", {}, kind), h("dd", {}, name(path), h("div", { class: "soft" }, facts)));
  };
  report.results?.forEach((results) => file("Results", results));
  report.traces.forEach((trace) => file("Trace", trace));
  return h("section", {}, h("h2", {}, "How this was made"), list);
}

function header(title: string): HTMLElement {
  return h("header", {}, h("p", { class: "brand" }, "hotset"), h("h1", {}, title));
}

function ofExperiments(experiments: Experiment[], rows: Row[]): (Node | null)[] {
  const id = (at: number) => `experiment-${at}`;
  const sections = experiments.map((experiment, at) => experimentSection(experiment, rows, id(at), section));
  document.title = experiments.length === 1 ? experiments[0]!.title.slice(0, 100) : `${experiments.length} experiments`;
  return [header("What the papers found, and what we find"), contents(experiments, id), ...sections];
}

function ofTraces(rows: Row[], series: Stretch[]): (Node | null)[] {
  const all = groups(rows);
  const traces = [...new Set([...rows, ...series].map(({ trace }) => trace))];
  document.title = traces.length === 1 ? fileName(traces[0]!).slice(0, 100) : `${traces.length} traces`;
  const told = new Set(all.map(({ trace }) => trace));
  const alone = traces.filter((trace) => !told.has(trace));
  return [
    header("What each cache would have given"),
    overview(all),
    ...all.map((group, at) => section(group, `trace-${at}`)),
    ...alone.map((trace) => h("section", {}, h("h2", {}, name(fileName(trace), "name path")), overTime(series.filter((stretch) => stretch.trace === trace), rows))),
  ];
}

function ofInspection(seen: Inspection, pattern: Pattern | undefined): (Node | null)[] {
  document.title = fileName(seen.trace).slice(0, 100);
  return [header("What is in the trace"), inspectionSection(seen, pattern)];
}

function ofAdvice(advice: Advice[]): (Node | null)[] {
  document.title = advice.length === 1 ? fileName(advice[0]!.trace).slice(0, 100) : `${advice.length} traces`;
  return [header("How much memory, and which policy"), ...advice.map(adviceSection)];
}

function contentOf({ advice, experiments, inspection, pattern, rows = [], series = [] }: Report): (Node | null)[] {
  if (advice) return ofAdvice(advice);
  if (experiments) return ofExperiments(experiments, rows);
  return inspection ? ofInspection(inspection, pattern) : ofTraces(rows, series);
}

function page(report: Report): Node[] {
  const parts = contentOf(report);
  document.title += " · hotset";
  return [...parts, origin(report), nextSteps(report)].filter((part) => part !== null);
}

const report = JSON.parse(document.getElementById("report")!.textContent!) as Report;
document.getElementById("page")!.replaceChildren(...page(report));
