// Keyboard shortcuts: single keys and pairs such as "g b". Disabled while the user types or a dialog is open.

const bindings = new Map();
let prefix = null;
let prefixTimer = null;

// Binds keys such as "n", "?" or "g b" to an action. Returns a function that removes the binding.
export function bind(keys, action) {
  bindings.set(keys, action);
  return () => bindings.get(keys) === action && bindings.delete(keys);
}

function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function listenToKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
    const pressed = prefix ? `${prefix} ${event.key}` : event.key;
    prefix = null;
    clearTimeout(prefixTimer);
    const action = bindings.get(pressed);
    if (action) {
      // Stops the default action, e.g. scrolling with the arrow keys.
      event.preventDefault();
      action(event);
    } else if ([...bindings.keys()].some((keys) => keys.startsWith(`${event.key} `))) {
      prefix = event.key;
      prefixTimer = setTimeout(() => { prefix = null; }, 1500);
    }
  });
}
