// The results of traces: each separately, and all side by side.

import { bars } from "./bars.ts";
import { Choices, curves } from "./curves.ts";
import { groups, type Group, type Row, type Stretch } from "./data.ts";
import { fileName, h, name } from "./dom.ts";
import { storage } from "./io.ts";
import { learnt } from "./learnt.ts";
import { panel, panels, ratioBars } from "./panels.ts";
import { memorySaved } from "./saved.ts";
import { table } from "./table.ts";
import { overTime } from "./time.ts";
import { extent, figures, lede, tiles } from "./words.ts";

/** All results of one trace. */
export function section(group: Group, id: string, rows: Row[], series: Stretch[]): HTMLElement {
  const stretches = series.filter((stretch) => stretch.trace === group.trace);
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
    overTime(stretches, rows),
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

/** Sections of all traces, and what those are called. */
export function tracesOf(rows: Row[], series: Stretch[]): { traces: string[]; sections: (Node | null)[] } {
  const all = groups(rows);
  const traces = [...new Set([...rows, ...series].map(({ trace }) => trace))];
  const told = new Set(all.map(({ trace }) => trace));
  const alone = traces.filter((trace) => !told.has(trace));
  const sections = [
    overview(all),
    ...all.map((group, at) => section(group, `trace-${at}`, rows, series)),
    ...alone.map((trace) => h("section", {}, h("h2", {}, name(fileName(trace), "name path")), overTime(series.filter((stretch) => stretch.trace === trace), rows))),
  ];
  return { traces, sections };
}
