// What happens over time: how often each application hits, what it holds, and when the cache is divided anew.

import { Chart, swatch, type Drawing, type Line, type Point, type Role } from "./chart.ts";
import type { Row, Stretch } from "./data.ts";
import { choice, h, name } from "./dom.ts";
import { brief, count, duration, percent } from "./format.ts";
import { queues } from "./queue.ts";
import { colour, hue, HUES, onTheme } from "./theme.ts";
import { Zoom } from "./zoom.ts";

/** Stretches of one application, in order. */
interface App {
  name: string;
  stretches: Stretch[];
}

/** The figure of one trace; nothing where no series was recorded. Its rows tell what applications were promised. */
export function overTime(all: Stretch[], rows: Row[], title = "Over time"): HTMLElement | null {
  const cells = [...Map.groupBy(all, (one) => JSON.stringify([one.policy, one.size_blocks])).values()];
  if (cells.length === 0) return null;
  const body = h("div", {});
  const show = (at: number) => body.replaceChildren(...cell(cells[at]!, promisesOf(cells[at]![0]!, rows)));
  show(0);
  const labels = cells.map(([first]) => `${first!.policy}, ${count(first!.size_blocks)} blocks`);
  const bar = cells.length > 1 ? h("div", { class: "bar" }, choice("Scheme", labels, 0, show)) : null;
  return h("figure", { class: "part time" }, h("h3", {}, name(title)), h("p", { class: "soft" }, cells.length > 1 ? "" : labels[0]!), bar, body);
}

/** Hits per reference that applications were promised, where these stretches are from. */
function promisesOf(one: Stretch, rows: Row[]): Map<string, number> {
  const row = rows.findLast((row) => row.trace === one.trace && row.policy === one.policy && row.size_blocks === one.size_blocks);
  return new Map(row?.apps?.flatMap(({ name, promised }) => (promised === undefined ? [] : [[name, promised]])));
}

/** Two charts of one scheme at one size, and the legend that switches applications in both. */
function cell(stretches: Stretch[], promises: Map<string, number>): HTMLElement[] {
  const apps = [...Map.groupBy(stretches, (one) => one.app)].map(([name, of]): App => ({ name, stretches: of }));
  const total = (app: App) => app.stretches.reduce((sum, one) => sum + one.references, 0);
  const totals = new Map(apps.map((app) => [app, total(app)]));
  apps.sort((a, b) => totals.get(b)! - totals.get(a)!);
  const hidden = new Set<App>();
  const divides = stretches.some((one) => one.room_blocks !== undefined);
  const marks = [...new Set(stretches.filter((one) => one.repartitions > 0).map(end))];
  const common = { log: false, binary: false, marks, showX: showEnd(stretches) };
  const timeTitle = stretches[0]?.end_seconds === undefined ? "References since the first" : "Time since the first request";
  const ends = [Math.min(...stretches.map(end)), Math.max(...stretches.map(end))];
  const line = (app: App, limit: string | undefined, points: Point[]): Line => {
    const at = apps.indexOf(app);
    const own: Role = at === 0 ? "interest" : at <= HUES ? "coloured" : "grey";
    return { name: limit === undefined ? app.name : `${limit} ${app.name}`, role: limit === undefined ? own : "limit", colour: inkOf(at), shown: !hidden.has(app), points };
  };
  const hits = (): Drawing => ({
    ...common,
    label: "Hit ratio of each application over time",
    titles: { x: timeTitle, y: "Hit ratio of references, %" },
    lines: [
      ...apps.map((app) => line(app, undefined, app.stretches.filter((one) => one.references > 0).map((one) => point(one, one.hits / one.references)))),
      ...apps.flatMap((app) => {
        const rate = promises.get(app.name);
        return rate === undefined ? [] : [line(app, "promised to", ends.map((x) => ({ x, y: rate })))];
      }),
    ],
    share: true,
    showY: percent,
    tickY: (share) => `${Number((share * 100).toFixed(2))} %`,
  });
  const held = (): Drawing => ({
    ...common,
    label: "Blocks held by each application over time",
    titles: { x: timeTitle, y: "Blocks in memory" },
    lines: [
      ...apps.map((app) => line(app, undefined, app.stretches.map((one) => point(one, one.resident_blocks)))),
      ...(divides ? apps.map((app) => line(app, "room of", app.stretches.flatMap((one) => (one.room_blocks === undefined ? [] : [point(one, one.room_blocks)])))) : []),
    ],
    share: false,
    showY: count,
    tickY: brief,
  });
  const zoom = new Zoom();
  const charts = [new Chart(hits(), 260, zoom), new Chart(held(), 260, zoom)] as const;
  const redraw = () => {
    charts[0].draw(hits());
    charts[1].draw(held());
  };
  const legend = h("ul", { class: "legend", "aria-label": "Applications: press to hide or show" });
  apps.forEach((app, at) => legend.append(h("li", {}, entry(app.name, at, (shown) => {
    if (shown) hidden.delete(app);
    else hidden.add(app);
    redraw();
  }))));
  const division = marks.length > 0 ? " Strokes at the lower edge: the cache was divided anew." : "";
  return [
    h("figcaption", {}, `Hit ratio of each application, stretch by stretch.${promises.size > 0 ? " Dotted: its promise." : ""}${division}`),
    charts[0].element,
    h("figcaption", {}, `Blocks in memory that were read for each application, at the end of each stretch.${divides ? " Dotted: as many as it may have." : ""}`),
    charts[1].element,
    legend,
    ...queues(stretches, end, common.showX, timeTitle),
  ];
}

function entry(app: string, at: number, switched: (shown: boolean) => void): HTMLElement {
  const mark = (): Line => ({ name: app, role: "coloured", colour: inkOf(at), shown: true, points: [] });
  const button = h("button", { type: "button", "aria-pressed": "true" }, swatch(mark()), name(app));
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    switched(shown);
  });
  onTheme(() => button.firstElementChild!.replaceWith(swatch(mark())));
  return button;
}

/** The most referenced has the accent, those that no colour is left for are grey. */
function inkOf(at: number): string {
  return at === 0 ? colour("--accent") : at <= HUES ? hue(at - 1) : colour("--faint");
}

function end(one: Stretch): number {
  return one.end_seconds ?? one.end_references ?? 0;
}

function showEnd(stretches: Stretch[]): (x: number) => string {
  return stretches[0]?.end_seconds === undefined ? brief : (seconds) => (seconds < 120 ? `${Number(seconds.toFixed(2))} s` : duration(seconds));
}

function point(one: Stretch, y: number): Point {
  const room = one.room_blocks === undefined ? "" : ` of ${count(one.room_blocks)} that it may have`;
  const promise = one.flagged ? "; its promise cannot be kept" : "";
  const divided = one.repartitions === 0 ? "" : `; the cache was divided anew ${one.repartitions === 1 ? "once" : `${count(one.repartitions)} times`}`;
  return { x: end(one), y, exact: `${count(one.hits)} hits of ${count(one.references)} references; holds ${count(one.resident_blocks)} blocks${room}${promise}${divided}` };
}
