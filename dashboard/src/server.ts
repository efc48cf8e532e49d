// The requests of the page of directories to its server.

import type { Row } from "./data.ts";

/** What the page begins with. */
export interface Begin {
  version: number;
  hotset: string;
  directories: string[];
  schemes: string[];
  policies: string;
  sizes: string;
}

/** A file that was found. */
export interface Item {
  name: string;
  kind: "results" | "report" | "trace";
  format?: string;
  bytes: number;
  changed: number;
}

export interface Found {
  items: Item[];
  is_cut: boolean;
}

/** A replay. */
export interface Run {
  number: number;
  state: "waiting" | "running" | "done" | "stopped";
  command: string;
  schemes: number;
  done: number;
  words: string[];
  all_rows: number;
  rows: Row[];
}

/** The status of a mount or a steering process. */
export interface Status {
  policy: string;
  references: number;
  hits?: number;
  misses?: number;
  /** Of a steering process: the misses of a model of the kernel alone. */
  kernel_misses?: number;
  /** Of a mount. */
  memory_bytes?: number;
  bytes_read?: number;
  /** Of a steering process: the division of memory, in bytes, and its state. */
  memory?: { policy: number };
  pages_read?: number;
  state?: string;
}

/** The last look at all caches that run. */
export interface Seen {
  looks: number;
  living: { path: string; status: Status }[];
}

async function answer<T>(path: string, query: Record<string, string>, method: string): Promise<T> {
  // Relative to the address of the page, which has the secret in it.
  const told = await fetch(`${path}?${new URLSearchParams(query)}`, { method, cache: "no-store" });
  if (!told.ok) throw new Error(`${path}: the server answered ${told.status}`);
  return (await told.json()) as T;
}

/** Asks for something. */
export function ask<T>(path: string, query: Record<string, string> = {}): Promise<T> {
  return answer<T>(path, query, "GET");
}

/** Has something done. */
export function change<T>(path: string, query: Record<string, string>): Promise<T> {
  return answer<T>(path, query, "POST");
}

/** Does something again and again, `seconds` apart, while the page is looked at; not again before it is done. */
export function again(seconds: number, what: () => Promise<void>): void {
  const next = () => setTimeout(() => void step(), 1000 * seconds);
  const step = async () => {
    if (!document.hidden) await what();
    next();
  };
  void step();
}
