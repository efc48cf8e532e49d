// A trial of a command: what each candidate took, and what to do.

import { bars, type Bar } from "./bars.ts";
import type { Gain, Trial } from "./data.ts";
import { h, name } from "./dom.ts";
import { bytes, figure } from "./format.ts";

/** The section of a trial: the conclusion, the command that keeps it, and what each candidate took. */
export function trialSection(trial: Trial): HTMLElement {
  const { candidates, rounds } = trial;
  const interval = rounds > 1 ? " The 95 % interval of what is saved follows the sign ±." : "";
  return h(
    "section",
    {},
    h("h2", {}, name(trial.command, "name path")),
    h("p", { class: "lede" }, name(trial.conclusion)),
    trial.permanent === undefined ? null : h("div", { class: "next" }, h("h3", {}, "To keep it"), h("ul", { class: "steps" }, h("li", {}, h("code", {}, name(trial.permanent))))),
    drawn("Seconds", `Means of ${rounds} rounds, under a limit of ${bytes(trial.memory_bytes)} where nothing else is named.${interval}`, trial, (one) => one.seconds, (seconds) => `${figure(seconds)} s`),
    candidates.some((one) => one.read_bytes) ? drawn("Read from storage", "Bytes read by the command, and by prefetches for it.", trial, (one) => one.read_bytes, bytes) : null,
  );
}

/** A bar for each candidate, with what it saves against the first. */
function drawn(title: string, caption: string, { candidates }: Trial, of: (one: Trial["candidates"][number]) => Gain | undefined, show: (value: number) => string): HTMLElement | null {
  const told = candidates.flatMap((one) => {
    const gain = of(one);
    return gain ? [{ name: one.name, gain }] : [];
  });
  if (told.length === 0) return null;
  const items = told.map(({ name, gain }, at): Bar => {
    const half = gain.half === null ? "" : ` ± ${show(gain.half)}`;
    const sign = gain.saved < 0 ? "-" : "";
    const saved = at === 0 ? "" : ` · saves ${sign}${show(Math.abs(gain.saved))}${half}`;
    return { name, parts: [{ value: gain.steered, colour: "var(--accent)", label: show(gain.steered) }], figure: `${show(gain.steered)}${saved}` };
  });
  return h("figure", { class: "part" }, h("h3", {}, title), h("figcaption", {}, caption), bars(items, Math.max(...told.map(({ gain }) => gain.steered))));
}
