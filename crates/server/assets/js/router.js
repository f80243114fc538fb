// Which view stands in the page, by what follows the # in its address.

const routes = [];

// In a pattern `:name` stands for any part of a path, `#name` for a number.
export function route(pattern, view) {
  const names = [];
  const source = pattern.replace(/([:#])(\w+)/g, (_, kind, name) => {
    names.push(name);
    return kind === '#' ? '(\\d+)' : '([^/]+)';
  });
  routes.push({ shape: new RegExp(`^${source}$`), names, view });
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function here() {
  const path = location.hash.startsWith('#/') ? location.hash.slice(1) : '/';
  for (const { shape, names, view } of routes) {
    const match = path.match(shape);
    if (match) {
      return { path, view, params: Object.fromEntries(names.map((name, at) => [name, decoded(match[at + 1])])) };
    }
  }
  return { path, view: null, params: {} };
}

export function go(path) {
  if (location.hash === `#${path}`) window.dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = path;
}
