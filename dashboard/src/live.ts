// The page of directories: what there is, replays that are asked for here, and caches that run.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { h, header, name } from "./dom.ts";
import { Library } from "./library.ts";
import { Replays } from "./replays.ts";
import { again, ask, type Begin, type Found } from "./server.ts";
import { Watch } from "./watch.ts";

/** Seconds between two looks into the directories. */
const LOOK = 5;

const begin = JSON.parse(document.getElementById("report")!.textContent!) as Begin;
const replays = new Replays(begin);
const library = new Library((trace) => replays.choose(trace));
const where = h("p", { class: "soft" }, ...begin.directories.flatMap((directory) => [name(directory), " "]), `hotset ${begin.hotset}`);
document.title = "Results and traces · hotset";
document.getElementById("page")!.replaceChildren(header("Results and traces"), where, library.element, replays.element, new Watch().element);

again(LOOK, async () => {
  try {
    const found = await ask<Found>("items");
    library.show(found);
    replays.offer(found.items.filter(({ kind }) => kind === "trace").map((item) => item.name));
  } catch {
    // The list of running caches says if none answers.
  }
});
