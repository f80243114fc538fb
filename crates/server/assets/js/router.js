// Selects the view by the fragment of the address.

const routes = [];

// Adds a route. In a pattern, `:name` matches any path segment and `#name` matches a number.
export function route(pattern, view) {
  const names = [];
  const source = pattern.replace(/([:#])(\w+)/g, (_, kind, name) => {
    names.push(name);
    return kind === '#' ? '(\\d+)' : '([^/]+)';
  });
  routes.push({ regex: new RegExp(`^${source}$`), names, view });
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function currentRoute() {
  const path = location.hash.startsWith('#/') ? location.hash.slice(1) : '/';
  for (const { regex, names, view } of routes) {
    const match = path.match(regex);
    if (match) {
      return { path, view, params: Object.fromEntries(names.map((name, index) => [name, decodePart(match[index + 1])])) };
    }
  }
  return { path, view: null, params: {} };
}

export function navigate(path) {
  if (location.hash === `#${path}`) window.dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = path;
}
