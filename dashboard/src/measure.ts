// The figures of a row that can be drawn.

import { brief, bytes, figure, percent } from "./format.ts";
import type { Counts, Row } from "./data.ts";

/** A figure of counts, and how it is written. */
export interface Measure {
  label: string;
  of(counts: Counts): number | undefined;
  show(value: number): string;
  /** In few characters, on an axis. */
  tick(value: number): string;
  /** A share, drawn from 0 to at most 1. */
  share: boolean;
}

type Part = (counts: Counts) => [part: number | undefined, whole: number | undefined];

const parts: [string, Part][] = [
  ["references", (c) => [c.misses, c.references]],
  ["requests", (c) => [c.request_misses, c.requests]],
  ["read requests", (c) => [c.read_request_misses, c.read_requests]],
  ["bytes", missedBytes],
];

/** Reads at block level, if there are also writes: a write that finds its block saves no access. */
const ofReads: Part = ({ references, read_references: reads, read_hits: hits }) =>
  reads === undefined || hits === undefined || reads === references ? [undefined, undefined] : [reads - hits, reads];

/** Blocks differ in size only where classes do: elsewhere bytes say what references say. */
function missedBytes(counts: Counts): [number | undefined, number | undefined] {
  const classes = (counts as Row).classes ?? [];
  const sum = (field: "misses" | "references") =>
    classes.reduce((total, one) => total + one[field] * (one.block_bytes ?? 0), 0);
  if (classes.length > 0) return [sum("misses"), sum("references")];
  const block = (counts as Row).block_bytes;
  return block === undefined ? [undefined, undefined] : [counts.misses * block, counts.references * block];
}

function ratio(name: string, part: Part, hits: boolean): Measure {
  const tick = (value: number) => `${Number((value * 100).toFixed(2))} %`;
  const of = (counts: Counts) => {
    const [missed, whole] = part(counts);
    if (missed === undefined || whole === undefined || whole === 0) return undefined;
    return (hits ? whole - missed : missed) / whole;
  };
  return { label: `${hits ? "Hit" : "Miss"} ratio of ${name}`, of, show: (value) => percent(value), tick, share: true };
}

function amount(label: string, of: (row: Row) => number | undefined, show = figure, tick = brief): Measure {
  return { label, of: (counts) => of(counts as Row), show, tick, share: false };
}

/** What is written along its axis. */
export function titleOf({ label, share }: Pick<Measure, "label" | "share">): string {
  return share ? `${label}, %` : label;
}

/** The measure of panels, and the initial one of a page without writes. */
export const HIT_RATIO = ratio("references", parts[0]![1], true);

const ALL: Measure[] = [
  ratio("reads", ofReads, true),
  ratio("reads", ofReads, false),
  HIT_RATIO,
  ratio("references", parts[0]![1], false),
  ...parts.slice(1).flatMap(([name, part]) => [ratio(name, part, true), ratio(name, part, false)]),
  amount("Blocks written back", (row) => row.write_backs),
  amount("Accesses to storage", (row) => row.disk_accesses),
  amount("Bytes read from storage", (row) => row.bytes_read, bytes, bytes),
  amount("Seconds to finish", (row) => row.finish_seconds),
  amount("Milliseconds a request", (row) => row.mean_service_ms),
  amount("Faults per million references", (row) => row.faults_per_million_references),
  amount("Faults per million instructions", (row) => row.faults_per_million_instructions),
  amount("Refault distance by that of clock", (row) => row.refault_distance_to_clock),
];

/** The measures that at least one of these rows tells. */
export function measures(rows: Row[]): Measure[] {
  return ALL.filter((measure) => rows.some((row) => measure.of(row) !== undefined));
}
