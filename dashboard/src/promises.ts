// What applications were promised, and whether that was met: as lines, and in words, so that no colour is needed to tell.

import type { Line } from "./chart.ts";
import { showSize } from "./curves.ts";
import { size, type Group, type Named, type Row } from "./data.ts";
import { h, name } from "./dom.ts";
import { count, duration, percent } from "./format.ts";
import { colour } from "./theme.ts";

/** A row, and what it counts of the application. */
interface Told {
  row: Row;
  app: Named;
}

function promised(group: Group, of: (row: Row) => Named | undefined): Told[] {
  const rows = group.series.flatMap((series) => series.rows);
  return rows.flatMap((row) => {
    const app = of(row);
    return app?.promised === undefined ? [] : [{ row, app }];
  });
}

/** The promises to an application, a line each across all sizes of the group. */
export function promiseLines(group: Group, of: (row: Row) => Named | undefined): Line[] {
  const sizes = group.series.flatMap((series) => series.rows.map((row) => size(row, group)));
  const ends = [Math.min(...sizes), Math.max(...sizes)];
  const rates = [...new Set(promised(group, of).map(({ app }) => app.promised!))];
  return rates.map((rate) => ({
    name: `promised ${percent(rate)}`,
    role: "limit",
    colour: colour("--ink"),
    shown: true,
    points: ends.map((x) => ({ x, y: rate })),
  }));
}

/** What became of the promises to an application: of each scheme the sizes at which they were met, and those at which not, and why. */
export function promiseWords(group: Group, of: (row: Row) => Named | undefined): HTMLElement | null {
  const told = promised(group, of);
  if (told.length === 0) return null;
  const at = ({ row }: Told) => `${showSize(group)(size(row, group))}${group.inBytes || group.byShare ? "" : " blocks"}`;
  const items = [...Map.groupBy(told, ({ row }) => row.policy)].flatMap(([policy, here]) => {
    const met = here.filter(({ app }) => app.promise_met);
    const missed = here.filter(({ app }) => !app.promise_met);
    const rates = [...new Set(here.map(({ app }) => percent(app.promised!)))].join(", ");
    const list = met.length === 0 ? [] : [line("met", `✓ met at ${met.map(at).join(", ")}`)];
    list.push(...missed.map((one) => line("missed", `✗ ${at(one)}: ${missedWords(one.app)}`)));
    return [h("li", {}, `promised ${rates} by `, name(policy)), ...list];
  });
  return h("ul", { class: "promises" }, ...items);
}

function line(kind: string, text: string): HTMLElement {
  return h("li", { class: kind }, text);
}

/** Since when a promise is missed, and with how much it would be kept. */
export function missedWords({ hit_ratio, missed_since_seconds: seconds, missed_since_references: references, needs_blocks: needs, room_blocks: has, flagged }: Named): string {
  const since = seconds !== undefined ? ` since ${duration(seconds)}` : references !== undefined ? ` since reference ${count(references)}` : "";
  const room = `has ${has === undefined ? "none" : count(has)}`;
  const enough = needs === undefined ? "" : `: ${room}, and ${count(needs)} blocks were taken to be enough`;
  const why = !flagged ? enough : needs === undefined ? `: no size is known to do, ${room}` : `: needs ${count(needs)} blocks, ${room}`;
  return `missed${since}${why} (hits ${percent(hit_ratio)})`;
}
