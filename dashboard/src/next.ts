// What to do next: the measures of advice, or the next commands, as a shell takes them.

import type { Advice, Report, Row } from "./data.ts";
import { fileName, h, name } from "./dom.ts";

/** Traces for which commands are shown; the same commands work for others. */
const TRACES = 3;

interface Step {
  /** What it tells. */
  why?: string;
  line: string;
}

/** The section behind the results. Advice and trials have their steps in front. */
export function nextSteps(report: Report): HTMLElement | null {
  if (report.advice || report.trial) return null;
  const lists = ofTraces(report);
  const several = lists.length > 1;
  return h(
    "section",
    { class: "next" },
    h("h2", {}, "What to do next"),
    ...lists.flatMap(({ trace, steps }) => [several ? h("h3", {}, name(fileName(trace))) : null, list(steps)]),
  );
}

/** The measures of advice, and how to verify them. */
export function adviceSteps({ steps }: Advice): HTMLElement {
  return list([...steps.next.map((line) => ({ line })), ...steps.checks.map((line) => ({ why: "To verify", line }))]);
}

function list(steps: Step[]): HTMLElement {
  return h("ul", { class: "steps" }, ...steps.map(({ why, line }) => h("li", {}, why === undefined ? null : `${why}: `, h("code", {}, name(line)))));
}

function ofTraces({ traces: files, inspection, experiments, rows = [], series = [], reading = [] }: Report): { trace: string; steps: Step[] }[] {
  if (inspection) return [{ trace: inspection.trace, steps: afterInspection(command(inspection.trace, reading)) }];
  // An experiment calls traces by the names of its file, which may lie elsewhere.
  const named = experiments ? files.map(({ name }) => name) : [...rows, ...series].map(({ trace }) => trace);
  const traces = [...new Set(named)].slice(0, TRACES);
  return traces.map((trace) => {
    const here = rows.filter((row) => row.trace === trace);
    const at = command(trace, reading);
    return { trace, steps: here.some(isOfMemory) ? ofMemory(at) : afterRows(at, here, series.length > 0) };
  });
}

/** A command on a trace, read as it was here. */
function command(trace: string, reading: string[]): (name: string, ...options: string[]) => string {
  // What came from standard input has gone by.
  const path = trace === "-" ? "TRACE" : trace;
  return (name, ...options) => ["hotset", name, path, ...reading, ...options].map(quoted).join(" ");
}

type Command = ReturnType<typeof command>;

function afterInspection(at: Command): Step[] {
  return [
    { why: "How much memory is enough, which policy, and what to do", line: at("advise") },
    { why: "What each policy would have hit, at six sizes, as a page", line: at("simulate", "--report", "simulate.html") },
    { why: "The hit ratio at every size", line: at("curve", "--report", "curve.html") },
  ];
}

function afterRows(at: Command, rows: Row[], hasSeries: boolean): Step[] {
  const steps: Step[] = [{ why: "How much memory is enough, which policy, and what to do", line: at("advise", "--report", "advice.html") }];
  const divided = rows.find((row) => row.apps?.some((app) => app.promise_met === false)) ?? rows.find((row) => row.apps?.some((app) => app.room_blocks !== undefined));
  if (divided && !hasSeries) {
    const of = ["--policy", divided.policy, "--size", `${divided.size_blocks} blocks`];
    steps.push({ why: "What each application hits and holds over time, where the cache is divided", line: at("simulate", ...of, "--series", "series.jsonl", "--report", "series.html") });
  }
  const sizes = new Set(rows.map((row) => row.size_blocks));
  if (sizes.size === 1) {
    const policies = [...new Set(rows.map((row) => row.policy))].join(",");
    steps.push({ why: "The same from small to all that there is", line: at("simulate", "--policy", policies, "--size", "1%..100%*2", "--report", "sizes.html") });
  }
  steps.push({ why: "The files and blocks of the trace, and when they are referenced", line: at("inspect", "--report", "trace.html") });
  return steps;
}

function isOfMemory(row: Row): boolean {
  return row.faults_per_million_references !== undefined;
}

function ofMemory(at: Command): Step[] {
  return [{ why: "All policies for pages, from little memory to all that is used", line: at("simulate", "--policy", "all", "--size", "10%..100%*2", "--report", "memory.html") }];
}

/** A word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w./,%=+:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
