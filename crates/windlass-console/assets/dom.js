// Elements made and updated in place; text only ever enters the page as text.

/** Makes an element from `tag.class.class`, its attributes and its children. */
export function el(spec, attributes, ...children) {
  const [tag, ...classes] = spec.split('.');
  const node = document.createElement(tag || 'div');
  if (classes.length > 0) node.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes ?? {})) set(node, name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Makes an SVG element with its attributes and children. */
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Sets or removes an attribute, only if that changes it. A function is a listener. */
export function set(node, name, value) {
  if (typeof value === 'function') node.addEventListener(name, value);
  else if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else {
    const wanted = value === true ? '' : String(value);
    if (node.getAttribute(name) !== wanted) node.setAttribute(name, wanted);
  }
}

/** Replaces the text of an element, only if that changes it. */
export function text(node, value) {
  const wanted = String(value);
  // The last text is kept beside the node: reading `textContent` walks the tree.
  if (node.shownText !== wanted) {
    node.shownText = wanted;
    node.textContent = wanted;
  }
}

/** Shows or hides an element. */
export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

/**
 * Keeps the children of a parent equal to a list of items: makes, updates, moves and removes only
 * what changed, so that focus, selection and scroll position stay where they are.
 */
export class KeyedList {
  constructor(parent, { key, make, update }) {
    Object.assign(this, { parent, key, make, update });
    this.rows = new Map();
  }

  render(items) {
    const wanted = new Set();
    let after = null;
    for (const item of items) {
      const key = this.key(item);
      wanted.add(key);
      let row = this.rows.get(key);
      if (row === undefined) {
        row = this.make(item);
        this.rows.set(key, row);
      }
      const expected = after === null ? this.parent.firstChild : after.nextSibling;
      if (row.node !== expected) this.parent.insertBefore(row.node, expected);
      after = row.node;
      this.update(row, item);
    }
    for (const [key, row] of this.rows) {
      if (wanted.has(key)) continue;
      row.node.remove();
      row.destroy?.();
      this.rows.delete(key);
    }
  }
}
