// The data of the page (docs/guide/look-at-results.md), and how rows become lines.

export type { Counts, Row } from "./rows.ts";
import type { AppCounts, Counts, NamedClass, Row, SeriesRow } from "./rows.ts";

/** The counts of an application or a class; of an application also what it was promised, and what became of that. */
export type Named = Counts & { name: string } & Partial<AppCounts & NamedClass>;

/** What a scheme has learnt of some blocks. */
export interface Learnt {
  app?: string;
  files?: string;
  file?: string;
  came: string;
  room_percent: number;
  references_percent: number;
  /** Ages in references, and the chance of a use from each to the next. */
  reuse: [number, number][];
  treatment: "keep" | "keep_some" | "let_pass" | { keep_for: number };
}

/** One application in one stretch of time, under one scheme of one size. */
export type Stretch = SeriesRow;

/** A file that results were made from. */
export interface TraceFile {
  name: string;
  bytes?: number;
  xxh3?: string;
}

/** Two policies compared over an experiment: gains in its unit, and what the paper says. */
export interface Comparison {
  better: string;
  than: string;
  /** The sizes that it is about, behind the names. */
  range?: string;
  mean?: number;
  most?: number;
  least?: number;
  paper_mean?: number;
  paper_most?: number;
  /** Half of the 95 % confidence interval of the mean. */
  within?: number;
  /** Percent of the cache saved at equal hit ratio. */
  saved?: number;
  paper_saved?: number;
  verdict?: string;
  traces: { trace: string; mean?: number; agrees?: "yes" | "no" | "same"; way?: number }[];
}

/** A paper's figure, made again. */
export interface Experiment {
  title: string;
  source: string;
  claim?: string;
  finding?: string;
  sizes: string;
  axis: "share" | "size";
  measure: string;
  measured: string;
  unit: string;
  /** Of each trace the number of its first row, the measure's value in each of its rows, and what happened over time. */
  traces: { from: number; values: (number | null)[]; series?: Stretch[] }[];
  compare: Comparison[];
}

/** What is done by an application or to a kind of data. */
export interface Share {
  name: string;
  requests: number;
  references: number;
  bytes_read: number;
  bytes_written: number;
}

/** The first of many. */
export interface Ranked<T> {
  total: number;
  top: T[];
}

/** What is in a trace. */
export interface Inspection {
  trace: string;
  format: string;
  requests: number;
  references: number;
  distinct_blocks: number;
  footprint_bytes?: number;
  sampling_rate?: number;
  time_span_s?: number;
  block_bytes?: number;
  sequences?: { sequential_share: number };
  operations?: { name: string; requests: number; failed: number; bytes?: number }[];
  request_sizes?: { min: number; max: number; median: number; bins: { from: number; to: number; requests: number }[] };
  reuse?: { first_uses: number; bins: { from: number; to: number; references: number }[] };
  kinds?: Share[];
  apps?: Ranked<Share>;
  /** The ranking that was asked for. */
  ranked?: Ranked<Share> & { by: string };
  files?: Ranked<{ path: string; references: number; share: number; distinct_blocks?: number; read_requests: number; write_requests: number }>;
}

/** Which blocks are referenced when: a grid of counts a kind, each written as pairs of a gap and a count. */
export interface Pattern {
  references: number;
  blocks: number;
  columns: number;
  references_per_column: number;
  blocks_per_row: number;
  kinds: { name: string; points: number[] }[];
  /** What the rows are of: names of files, and of each row in turn file, least and greatest block in it, and how many. */
  places?: { files: string[]; rows: number[][] };
}

/** Advice on a trace. Hits and reads leave repeats out. */
export interface Advice {
  trace: string;
  reads: number;
  block_bytes?: number;
  today: string;
  policy: string;
  bound: string;
  memory?: { size_blocks: number; size_bytes?: number };
  sizes: { size_blocks: number; size_bytes?: number; today_hits: number; hits: number; bound_hits: number }[];
  /** What there is to say. */
  paragraphs: string[];
  steps: { next: string[]; checks: string[] };
}

/** A figure of the kernel alone and of a candidate, and the mean that the candidate saves with half of its interval. */
export interface Gain {
  kernel: number;
  steered: number;
  saved: number;
  half: number | null;
}

/** A command under each candidate. */
export interface Trial {
  command: string;
  memory_bytes: number;
  rounds: number;
  /** Bytes are missing where the kernel does not count them. */
  candidates: { name: string; seconds: Gain; read_bytes?: Gain }[];
  conclusion: string;
  /** The command that makes the best candidate permanent. */
  permanent?: string;
}

/** All that is on a page. */
export interface Report {
  version: number;
  hotset: string;
  command: string;
  traces: TraceFile[];
  /** Files that results were read from. */
  results?: TraceFile[];
  rows?: Row[];
  series?: Stretch[];
  experiments?: Experiment[];
  inspection?: Inspection;
  pattern?: Pattern;
  advice?: Advice[];
  trial?: Trial;
  /** The options with which other commands read the trace as this one did. */
  reading?: string[];
}

/** A scheme on a trace: its rows by size. */
export interface Series {
  name: string;
  rows: Row[];
}

/** Results on one trace cut in one way. */
export interface Group {
  trace: string;
  inBytes: boolean;
  /** Sizes lie on the axis as shares of the footprint. */
  byShare?: boolean;
  series: Series[];
}

/** Rows by trace and block size, then by scheme, in the order of their first appearance. */
export function groups(rows: Row[]): Group[] {
  const byTrace = Map.groupBy(rows, (row) => JSON.stringify([row.trace, row.block_bytes ?? null]));
  return [...byTrace.values()].map((of) => ({
    trace: of[0]!.trace,
    inBytes: of.every((row) => row.size_bytes !== undefined),
    series: series(of),
  }));
}

function series(rows: Row[]): Series[] {
  const seeds = new Set(rows.map((row) => row.seed)).size > 1;
  const name = (row: Row) => (seeds ? `${row.policy}, seed ${row.seed}` : row.policy);
  return [...Map.groupBy(rows, name)].map(([name, of]) => {
    // The same cell twice is shown once: the one that came last.
    const bySize = new Map(of.map((row) => [row.size_blocks, row]));
    return { name, rows: [...bySize.values()].sort((a, b) => a.size_blocks - b.size_blocks) };
  });
}

/** True for the schemes that know the future: no choices. */
export function knowsFuture(policy: string): boolean {
  return isBound(policy) || /^(karma|best)([(,]|$)/.test(policy);
}

/** True for those that no scheme without the future can pass. */
export function isBound(policy: string): boolean {
  return /^opt(-bypass)?([(,]|$)/.test(policy);
}

/** True for the scheme that all others are held against. */
export function isBaseline(policy: string): boolean {
  return /^lru(,|$)/.test(policy);
}

/** A row's size as it lies on the axis. */
export function size(row: Row, group: Group): number {
  if (group.byShare && row.distinct_blocks) return row.size_blocks / row.distinct_blocks;
  return group.inBytes ? row.size_bytes! : row.size_blocks;
}
