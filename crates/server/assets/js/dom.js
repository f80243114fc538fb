// Creates elements. Text always becomes a text node with its control characters escaped; markup cannot be passed.

import { escapeControl } from './text.js';

const LINK = /^(#\S*|\/?[\w.-]+(\/[\w.-]+)*)$/;

function set(node, name, value) {
  if (value == null || value === false) return;
  if (name === 'on') {
    for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
  } else if (name === 'data') {
    for (const [key, text] of Object.entries(value)) if (text != null) node.dataset[key] = escapeControl(text);
  } else if (name === 'vars') {
    // Sizes are set through custom properties only, which the strict content security policy allows.
    for (const [key, text] of Object.entries(value)) node.style.setProperty(`--${key}`, text);
  } else if (name === 'value' || name === 'checked' || name === 'disabled' || name === 'open' || name === 'hidden') {
    node[name] = value;
  } else if (name === 'style' || name.startsWith('on') || name === 'srcdoc') {
    throw new Error(`attribute not allowed: ${name}`);
  } else if ((name === 'href' || name === 'src') && !LINK.test(value)) {
    throw new Error('external links are not allowed');
  } else {
    node.setAttribute(name, value === true ? '' : escapeControl(value));
  }
}

// Appends nodes, text, or nested lists of both. Skips null and false.
export function append(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child == null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(escapeControl(child)));
  }
  return node;
}

export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  return append(node, ...children);
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, escapeControl(String(value)));
  return append(node, ...children);
}

// Replaces a node's children.
export function fill(node, ...children) {
  node.replaceChildren();
  return append(node, ...children);
}

// Sets a node's text if it differs from the current text.
export function setText(node, text) {
  const escaped = escapeControl(text ?? '');
  if (node.textContent !== escaped) node.textContent = escaped;
}

const lists = new WeakMap();

// Updates a parent's children to match a list of items. A child stays as long as its key is in the list, so it
// keeps its focus, its scroll position and its input. `make` returns `{ node, update(item), onRemove() }`; both
// functions are optional.
export function reconcile(parent, items, keyOf, make) {
  const old = lists.get(parent) ?? new Map();
  const next = new Map();
  const focus = document.activeElement;
  let position = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const row = old.get(key) ?? make(item);
    next.set(key, row);
    row.update?.(item);
    if (row.node === position) {
      position = position.nextElementSibling;
    } else {
      parent.insertBefore(row.node, position);
    }
  }
  for (const [key, row] of old) {
    if (!next.has(key)) {
      row.node.remove();
      row.onRemove?.();
    }
  }
  if (focus && focus !== document.activeElement && focus.isConnected) focus.focus({ preventScroll: true });
  lists.set(parent, next);
}
