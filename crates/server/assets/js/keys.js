// Keyboard: single keys and pairs such as "g b". Nothing happens while somebody types or a dialog is open.

const bindings = new Map();
let prefix = null;
let forget = null;

// `keys` is "n", "?", "g b". Gives a function that takes the binding away.
export function bind(keys, act) {
  bindings.set(keys, act);
  return () => bindings.get(keys) === act && bindings.delete(keys);
}

function typing(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function listenToKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target) || document.querySelector('dialog[open]')) return;
    const pressed = prefix ? `${prefix} ${event.key}` : event.key;
    prefix = null;
    clearTimeout(forget);
    const act = bindings.get(pressed);
    if (act) {
      // A key that a link or button takes for itself stays theirs.
      event.preventDefault();
      act(event);
    } else if ([...bindings.keys()].some((keys) => keys.startsWith(`${event.key} `))) {
      prefix = event.key;
      forget = setTimeout(() => { prefix = null; }, 1500);
    }
  });
}
