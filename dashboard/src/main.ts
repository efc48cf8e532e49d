// The page: reads the data that the command put into it and draws what is there.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { adviceSection } from "./advice.ts";
import { type Advice, type Experiment, type Inspection, type Pattern, type Report, type Row, type Stretch, type TraceFile, type Trial } from "./data.ts";
import { fileName, h, header, name } from "./dom.ts";
import { contents, experimentSection } from "./experiment.ts";
import { count } from "./format.ts";
import { inspectionSection } from "./inspection.ts";
import { nextSteps } from "./next.ts";
import { section, tracesOf } from "./traces.ts";
import { trialSection } from "./trial.ts";

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

function ofExperiments(experiments: Experiment[], rows: Row[]): (Node | null)[] {
  const id = (at: number) => `experiment-${at}`;
  const sections = experiments.map((experiment, at) => experimentSection(experiment, rows, id(at), (group, id) => section(group, id, rows, [])));
  document.title = experiments.length === 1 ? experiments[0]!.title.slice(0, 100) : `${experiments.length} experiments`;
  return [header("What the papers found, and what we find"), contents(experiments, id), ...sections];
}

function ofTraces(rows: Row[], series: Stretch[]): (Node | null)[] {
  const { traces, sections } = tracesOf(rows, series);
  document.title = traces.length === 1 ? fileName(traces[0]!).slice(0, 100) : `${traces.length} traces`;
  return [header("What each cache would have given"), ...sections];
}

function ofInspection(seen: Inspection, pattern: Pattern | undefined): (Node | null)[] {
  document.title = fileName(seen.trace).slice(0, 100);
  return [header("What is in the trace"), inspectionSection(seen, pattern)];
}

function ofAdvice(advice: Advice[]): (Node | null)[] {
  document.title = advice.length === 1 ? fileName(advice[0]!.trace).slice(0, 100) : `${advice.length} traces`;
  return [header("How much memory, and which policy"), ...advice.map(adviceSection)];
}

function ofTrial(trial: Trial): (Node | null)[] {
  document.title = trial.command.slice(0, 100);
  return [header("What each candidate gains"), trialSection(trial)];
}

function contentOf({ advice, experiments, inspection, pattern, trial, rows = [], series = [] }: Report): (Node | null)[] {
  if (trial) return ofTrial(trial);
  if (advice) return ofAdvice(advice);
  if (experiments) return ofExperiments(experiments, rows);
  return inspection ? ofInspection(inspection, pattern) : ofTraces(rows, series);
}

function page(report: Report): Node[] {
  const parts = contentOf(report);
  document.title += " · hotset";
  return [...parts, nextSteps(report), origin(report)].filter((part) => part !== null);
}

const report = JSON.parse(document.getElementById("report")!.textContent!) as Report;
document.getElementById("page")!.replaceChildren(...page(report));
