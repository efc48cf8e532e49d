// Elements. Whatever a trace calls itself, its files or its applications is set as text and never read as markup.

type Child = Node | string | null | undefined;

/** An element with attributes and children; a string becomes a text node, null is left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A name from a trace: in one line, whole in its title, and never turning the direction of the text around it. */
export function name(text: string, className = "name"): HTMLElement {
  return h("bdi", { class: className, title: text }, text);
}

/** A labelled choice; `changed` hears the number of the option chosen. */
export function choice(label: string, options: string[], chosen: number, changed: (at: number) => void): HTMLElement {
  const select = h("select", {});
  options.forEach((option, at) => select.append(h("option", { value: String(at) }, clip(option, 80))));
  select.selectedIndex = chosen;
  select.addEventListener("change", () => changed(select.selectedIndex));
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

/** A text of at most `length` characters. */
export function clip(text: string, length: number): string {
  const start = text.slice(0, 2 * length + 2);
  const characters = Array.from(start);
  return characters.length <= length && start.length === text.length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** The end of a text, of at most `length` characters. */
export function clipStart(text: string, length: number): string {
  const characters = Array.from(text.slice(-2 * length - 2));
  return text.length <= length ? text : `…${characters.slice(1 - length).join("")}`;
}

/** The last component of a path: the name of a trace in headings. */
export function fileName(path: string): string {
  return path.split("/").filter((part) => part !== "").pop() ?? path;
}

/** What a page begins with. */
export function header(title: string): HTMLElement {
  return h("header", {}, h("p", { class: "brand" }, "hotset"), h("h1", {}, title));
}
