// Makes elements. Text only ever becomes a text node, with nothing hidden in it; there is no way to pass markup.

import { visible } from './text.js';

const LINK = /^(#\S*|\/?[\w.-]+(\/[\w.-]+)*)$/;

function set(node, name, value) {
  if (value == null || value === false) return;
  if (name === 'on') {
    for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
  } else if (name === 'data') {
    for (const [key, text] of Object.entries(value)) if (text != null) node.dataset[key] = visible(text);
  } else if (name === 'vars') {
    // The only way to a size: a custom property, which the strict policy allows.
    for (const [key, text] of Object.entries(value)) node.style.setProperty(`--${key}`, text);
  } else if (name === 'value' || name === 'checked' || name === 'disabled' || name === 'open' || name === 'hidden') {
    node[name] = value;
  } else if (name === 'style' || name.startsWith('on') || name === 'srcdoc') {
    throw new Error(`no ${name} here`);
  } else if ((name === 'href' || name === 'src') && !LINK.test(value)) {
    throw new Error('links stay inside');
  } else {
    node.setAttribute(name, value === true ? '' : visible(value));
  }
}

// Appends what is there: nodes, text, lists of both; nothing for null and false.
export function put(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child == null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return node;
}

export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  return put(node, ...children);
}

// Gives a node other children.
export function fill(node, ...children) {
  node.replaceChildren();
  return put(node, ...children);
}

// Changes a node's text, if it is another.
export function say(node, text) {
  const shown = visible(text ?? '');
  if (node.textContent !== shown) node.textContent = shown;
}

const lists = new WeakMap();

// Keeps a parent's children in step with items. A child lives as long as its key, so it keeps its focus, its
// scroll and what is typed into it. `make` gives `{ node, update(item) }`.
export function keep(parent, items, keyOf, make) {
  const old = lists.get(parent) ?? new Map();
  const next = new Map();
  const focus = document.activeElement;
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const row = old.get(key) ?? make(item);
    next.set(key, row);
    row.update?.(item);
    if (row.node === place) {
      place = place.nextElementSibling;
    } else {
      parent.insertBefore(row.node, place);
    }
  }
  for (const [key, row] of old) {
    if (!next.has(key)) {
      row.node.remove();
      row.gone?.();
    }
  }
  if (focus && focus !== document.activeElement && focus.isConnected) focus.focus({ preventScroll: true });
  lists.set(parent, next);
}
