// Advice on a trace: the command's advice, and the curves that it is based on.

import { Chart, type Line, type Role } from "./chart.ts";
import type { Advice } from "./data.ts";
import { fileName, h, name } from "./dom.ts";
import { bytes, count, percent } from "./format.ts";
import { adviceSteps } from "./next.ts";
import { colour, hue } from "./theme.ts";

type AtSize = Advice["sizes"][number];

/** The section of a trace. */
export function adviceSection(advice: Advice): HTMLElement {
  const [first, ...others] = advice.paragraphs;
  return h(
    "section",
    {},
    h("h2", {}, name(fileName(advice.trace), "name path")),
    h("p", { class: "soft" }, name(first ?? "")),
    h("div", { class: "next" }, h("h3", {}, "What to do next"), adviceSteps(advice)),
    ...others.map((text) => h("p", { class: "advice" }, name(text))),
    advice.sizes.length > 1 ? curves(advice) : null,
  );
}

/** What runs today, the policy to have and the bound, by memory, with the memory to have marked. */
function curves({ sizes, reads, today, policy, bound, memory, block_bytes: block }: Advice): HTMLElement {
  const inBytes = sizes.every((at) => at.size_bytes !== undefined) && block !== undefined;
  const size = (at: { size_blocks: number; size_bytes?: number }) => (inBytes ? at.size_bytes! : at.size_blocks);
  const line = (name: string, role: Role, colour: string, hits: (at: AtSize) => number): Line => {
    const points = sizes.map((at) => ({ x: size(at), y: hits(at) / reads, exact: `${count(hits(at))} hits of ${count(reads)} reads, repeats left out` }));
    return { name, role, colour, shown: true, points };
  };
  const drawing = () => ({
    label: "Hit ratio of reads by memory.",
    titles: { x: inBytes ? "Memory in bytes (1K = 1024)" : "Memory in blocks", y: "Hit ratio of reads, %" },
    lines: [
      ...(policy === today ? [] : [line(policy, "coloured", hue(0), (at) => at.hits)]),
      line(today, "interest", colour("--accent"), (at) => at.today_hits),
      line(bound, "bound", colour("--soft"), (at) => at.bound_hits),
    ],
    log: true,
    binary: true,
    share: true,
    ...(memory === undefined ? {} : { marks: [size(memory)] }),
    showX: inBytes ? bytes : (blocks: number) => count(Math.round(blocks)),
    showY: percent,
    tickY: (share: number) => `${Number((share * 100).toFixed(2))} %`,
  });
  const caption = `Hits per read, repeats left out.${memory === undefined ? "" : ` The stroke at the lower edge: ${drawing().showX(size(memory))}, which is enough for ${today}.`}`;
  return h("figure", { class: "part" }, h("h3", {}, "What memory gives"), h("figcaption", {}, caption), new Chart(drawing(), 320).element);
}
