// Replays: the requested ones, their progress and their results so far.

import type { Row } from "./data.ts";
import { h, name } from "./dom.ts";
import { again, ask, change, type Begin, type Run } from "./server.ts";
import { tracesOf } from "./traces.ts";

/** Seconds between two looks at a replay. */
const LOOK = 0.5;

/** Requests that are replayed, in words. */
const OPS = [["all", "reads and writes"], ["reads", "reads"], ["writes", "writes"]] as const;

/** A form to ask by, a line for each replay, and the results of all of them. */
export class Replays {
  readonly element: HTMLElement;
  private readonly trace = h("select", { required: "" });
  private readonly policies: HTMLInputElement;
  private readonly sizes: HTMLInputElement;
  private readonly ops = h("select", {});
  private readonly said = h("p", { class: "differs", role: "alert" });
  private readonly lines = h("ul", { class: "runs" });
  private readonly results = h("div", { id: "results-of-replays" });
  private readonly rows = new Map<number, Row[]>();
  /** Lines of the replays that wait or run. */
  private readonly under = new Map<number, Line>();

  constructor(begin: Begin) {
    this.policies = h("input", { value: begin.policies, list: "schemes", size: "60", autocomplete: "off", spellcheck: "false" });
    this.sizes = h("input", { value: begin.sizes, size: "30", autocomplete: "off", spellcheck: "false" });
    OPS.forEach(([value, words]) => this.ops.append(h("option", { value }, words)));
    const schemes = h("datalist", { id: "schemes" }, ...begin.schemes.map((scheme) => h("option", { value: scheme })));
    const form = h(
      "form",
      { class: "ask" },
      labelled("Trace", this.trace),
      labelled("Schemes", this.policies),
      labelled("Sizes", this.sizes),
      labelled("Requests", this.ops),
      h("button", { type: "submit", class: "act" }, "Replay"),
      schemes,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.begin();
    });
    const about = h("p", { class: "soft" }, "Schemes and sizes as the command takes them: lru,arc,s3-fifo(small=5%), and 64M, 1000 blocks, 10% or 16M..1G*2.");
    this.element = h("section", { id: "replays" }, h("h2", {}, "Replay a trace"), about, form, this.said, this.lines, this.results);
    again(LOOK, () => this.look());
  }

  /** Traces to choose from. */
  offer(traces: string[]): void {
    const chosen = this.trace.value;
    this.trace.replaceChildren(...traces.map((trace) => h("option", { value: trace }, trace)));
    if (traces.includes(chosen)) this.trace.value = chosen;
  }

  /** Has a trace chosen, and the schemes next. */
  choose(trace: string): void {
    this.trace.value = trace;
    this.element.scrollIntoView({ block: "start" });
    this.policies.focus();
  }

  private async begin(): Promise<void> {
    const wanted = { trace: this.trace.value, policies: this.policies.value, sizes: this.sizes.value, ops: this.ops.value };
    try {
      const told = await change<{ number?: number; error?: string }>("run", wanted);
      this.said.textContent = told.error ?? "";
      if (told.number === undefined) return;
      const { number } = told;
      const stop = () => void change("stop", { number: String(number) }).catch((error: unknown) => (this.said.textContent = String(error)));
      const line = new Line(stop);
      this.rows.set(number, []);
      this.under.set(number, line);
      this.lines.prepend(line.element);
    } catch (error) {
      this.said.textContent = String(error);
    }
  }

  private async look(): Promise<void> {
    let isNew = false;
    for (const [number, line] of [...this.under]) {
      const rows = this.rows.get(number)!;
      try {
        const run = await ask<Run>("run", { number: String(number), from: String(rows.length) });
        rows.push(...run.rows);
        isNew ||= run.rows.length > 0;
        if (run.state === "done" || run.state === "stopped") this.under.delete(number);
        line.show(run);
      } catch (error) {
        this.under.delete(number);
        line.fail(String(error));
      }
    }
    if (isNew) this.draw();
  }

  /** All rows that there are. A trace of which other requests were replayed is another one. */
  private draw(): void {
    const of = (row: Row & { filter?: string }) => (row.filter === undefined ? row : { ...row, trace: `${row.trace}, ${row.filter}` });
    const rows = [...this.rows.values()].flat().map(of);
    this.results.replaceChildren(...tracesOf(rows, []).sections.filter((section) => section !== null));
  }
}

/**
 * The line of one replay. Its button stays the same element, in the same place, while it is shown: the browser drops a click
 * whose button is replaced, or moves away, between press and release. So it comes before the words, which change their width.
 */
class Line {
  readonly element = h("li", {}, "…");
  private readonly command = h("code", {});
  private readonly bar = h("progress", { "aria-label": "Schemes that are done" });
  private readonly state = h("span", {});
  private readonly button = h("button", { type: "button", class: "act" }, "Stop");
  private readonly words = h("div", {});

  constructor(stop: () => void) {
    this.button.addEventListener("click", stop);
  }

  show(run: Run): void {
    const states = { waiting: "waits", running: `${run.done} of ${run.schemes} schemes`, done: "done", stopped: `stopped after ${run.done} of ${run.schemes} schemes` };
    this.command.replaceChildren(name(run.command));
    this.bar.max = run.schemes;
    this.bar.value = run.done;
    this.state.textContent = ` ${states[run.state]} `;
    this.words.replaceChildren(...run.words.map((word) => h("p", { class: "soft" }, name(word))));
    if (!this.button.isConnected) this.element.replaceChildren(this.command, this.button, " ", this.bar, this.state, this.words);
    if (run.state === "done" || run.state === "stopped") this.button.remove();
  }

  fail(why: string): void {
    this.element.replaceChildren(why);
  }
}

function labelled(label: string, field: HTMLElement): HTMLElement {
  return h("label", { class: "choice" }, h("span", {}, label), field);
}
