// The knowledge of a scheme on its blocks: the application, the time of return, and the decisions.

import type { Group, Learnt, Row } from "./data.ts";
import { choice, h, name } from "./dom.ts";
import { bytes, count, percent } from "./format.ts";

/** Lines of the table, at most. */
const MOST = 12;

/** Width and height of a curve. */
const CURVE = { width: 132, height: 26 };

/** A probability too small to show. */
const LEAST = 0.01;

/** The figure; nothing where no scheme tells. */
export function learnt(group: Group): HTMLElement | null {
  const told = group.series.flatMap(({ name: scheme, rows }) => rows.filter((row) => row.explained !== undefined).map((row) => ({ scheme, row })));
  if (told.length === 0) return null;
  const body = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Learnt state" });
  const show = (at: number) => body.replaceChildren(...lines(told[at]!.row));
  const middle = Math.floor((told.length - 1) / 2);
  show(middle);
  const size = (row: Row) => (row.size_bytes === undefined ? `${count(row.size_blocks)} blocks` : bytes(row.size_bytes));
  const label = ({ scheme, row }: (typeof told)[number]) => `${scheme}, ${size(row)}`;
  const bar = told.length > 1 ? h("div", { class: "bar" }, choice("Scheme and size", told.map(label), middle, show)) : null;
  const caption = "The state of the scheme at the end of the trace: the chance that a block is used at each age, in references since its last use, and the treatment of such blocks.";
  return h("figure", { class: "part learnt" }, h("h3", {}, "Learnt state"), h("figcaption", {}, caption), bar, body);
}

function lines(row: Row): HTMLElement[] {
  const all = row.explained!;
  const shown = all.slice(0, MOST);
  const ages = octaves(shown);
  const title = `Chance of use by age, 1 to ${count(2 ** (ages - 1))}`;
  const heading = (text: string, of = "") => h("th", { scope: "col", class: of }, text);
  const head = h("tr", {}, heading("Blocks"), heading("Came to be used", "words"), ...["Room", "References", title].map((text) => heading(text)), heading("Treatment", "words"));
  const share = (value: number) => h("td", {}, percent(value / 100, 1));
  const line = (one: Learnt) =>
    h("tr", {}, h("td", {}, name(whose(one))), h("td", { class: "words" }, one.came), share(one.room_percent), share(one.references_percent), h("td", {}, curve(one, ages)), h("td", { class: "words" }, done(one.treatment)));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...shown.map(line)));
  const rest = all.slice(MOST);
  if (rest.length === 0) return [table];
  const sum = (figure: (one: Learnt) => number) => percent(rest.reduce((sum, one) => sum + figure(one), 0) / 100, 1);
  const words = `${count(rest.length)} more, with ${sum((one) => one.room_percent)} of the room and ${sum((one) => one.references_percent)} of the references`;
  return [table, h("p", { class: "soft" }, words)];
}

/** Whose blocks they are. */
function whose({ app, file, files }: Learnt): string {
  if (file !== undefined) return file;
  const blocks = files ?? (app === undefined ? "all other blocks" : "other blocks");
  return app === undefined ? blocks : `${blocks} of ${app}`;
}

/** What is done with them. */
function done(treatment: Learnt["treatment"]): string {
  if (typeof treatment === "object") return `keeps them for ${count(treatment.keep_for)} references`;
  return { keep: "keeps them until they are used", keep_some: "keeps those that it has, lets others pass", let_pass: "lets them pass" }[treatment];
}

/** Octaves of ages from 1 on until nothing comes back any more. */
function octaves(shown: Learnt[]): number {
  const ages = shown.flatMap(({ reuse }) => reuse.filter(([, chance]) => chance >= LEAST).map(([age]) => age));
  return Math.floor(Math.log2(Math.max(1, ...ages))) + 1;
}

/** The chance of use in each octave of ages. */
function chances({ reuse }: Learnt, octaves: number): number[] {
  return Array.from({ length: octaves }, (_, octave) => {
    const within = reuse.filter(([age]) => age >= 2 ** octave && age < 2 ** (octave + 1));
    return 1 - within.reduce((none, [, chance]) => none * (1 - chance), 1);
  });
}

/** A column for each octave of ages, in words for those who do not see it. */
function curve(one: Learnt, octaves: number): Node {
  const values = chances(one, octaves);
  const most = Math.max(...values);
  const words = most < LEAST ? "hardly ever used again" : `most likely ${count(2 ** values.indexOf(most))} references after the last use, with a chance of ${percent(most)}`;
  const picture = svg("svg", { width: String(CURVE.width), height: String(CURVE.height), role: "img", "aria-label": words });
  const title = svg("title", {});
  title.textContent = words;
  const step = CURVE.width / octaves;
  const column = (value: number, at: number) => {
    const height = value < LEAST ? 0 : Math.max(1, value * CURVE.height);
    return svg("rect", { x: String(at * step), y: String(CURVE.height - height), width: String(step * 0.9), height: String(height) });
  };
  picture.append(title, ...values.map(column));
  return picture;
}

function svg(tag: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
