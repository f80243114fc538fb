// The frame: rail, state of the connection, the place where views stand.

import { api } from './api.js';
import { fill, h, say } from './dom.js';
import { bind } from './keys.js';
import { go, here } from './router.js';
import { state, watch } from './store.js';
import { plural } from './text.js';
import { empty } from './widgets/bits.js';
import { icon } from './widgets/icon.js';
import { toast } from './widgets/toast.js';
import { help } from './views/help.js';
import { newTask } from './views/new-task.js';

const NAV = [
  ['/', 'Board', 'board', 'b'],
  ['/inbox', 'Inbox', 'inbox', 'i'],
  ['/agents', 'Agents', 'agents', 'a'],
  ['/traces', 'Traces', 'traces', 't'],
  ['/usage', 'Usage', 'usage', 'u'],
];

const THEMES = ['system', 'light', 'dark'];
const THEME_ICON = { system: 'system', light: 'sun', dark: 'moon' };

function themeButton() {
  const root = document.documentElement;
  const button = h('button', { class: 'button plain square', type: 'button' });
  const show = () => {
    const theme = root.dataset.theme ?? 'system';
    button.setAttribute('aria-label', `Theme: ${theme}. Change`);
    button.title = `Theme: ${theme}`;
    fill(button, icon(THEME_ICON[theme]));
  };
  const next = () => {
    const theme = THEMES[(THEMES.indexOf(root.dataset.theme ?? 'system') + 1) % THEMES.length];
    if (theme === 'system') delete root.dataset.theme;
    else root.dataset.theme = theme;
    try {
      localStorage.setItem('windlass.theme', theme);
    } catch {
      // Then it holds for this page only.
    }
    show();
  };
  button.addEventListener('click', next);
  bind('t', next);
  show();
  return button;
}

// Gives the cookie back: the next who sits here needs the link.
function leaveButton() {
  const leave = () => api.leave().then(() => location.reload(), (error) => toast('bad', error.message));
  return h('button', { class: 'button plain square', type: 'button', 'aria-label': 'Sign out', title: 'Sign out', on: { click: leave } }, icon('leave'));
}

const WORDS = { connecting: 'connecting…', live: 'live', down: 'disconnected', stale: 'store not reachable' };

function linkState() {
  const words = h('span');
  const node = h('div', { class: 'link', role: 'status' }, h('span', { class: 'dot' }), words);
  const show = () => {
    node.dataset.link = state.link;
    const worker = state.health?.worker;
    const crew = !state.health ? '' : worker ? ` · ${worker.running} of ${plural(worker.concurrency, 'worker')} busy` : ' · no worker here';
    say(words, WORDS[state.link] + (state.link === 'live' ? crew : ''));
  };
  watch(['link', 'tasks'], show);
  show();
  return node;
}

function outage(reconnect) {
  const words = h('span');
  const button = h('button', { class: 'button', type: 'button', on: { click: reconnect } }, 'Try now');
  const node = h('div', { class: 'outage', role: 'alert', hidden: true }, icon('warn'), words, button);
  watch(['link'], () => {
    node.hidden = state.link === 'live' || state.link === 'connecting';
    node.dataset.link = state.link;
    button.hidden = state.link === 'stale';
    say(words, state.link === 'stale'
      ? `The server cannot reach its store: ${state.reason ?? 'no reason given'}. What you see may be old.`
      : 'Disconnected from the server. What you see may be old; it catches up when the server is back.');
  });
  return node;
}

function rail() {
  const badge = h('span', { class: 'badge', hidden: true });
  const items = NAV.map(([path, name, mark]) => h('li', {},
    h('a', { href: `#${path}`, data: { path } }, icon(mark), name, path === '/inbox' && badge)));
  const count = () => {
    const open = state.blockers.length + state.approvals.length;
    badge.hidden = open === 0;
    say(badge, String(open));
    badge.setAttribute('aria-label', `${open} waiting`);
    document.title = `${open ? `(${open}) ` : ''}${document.body.dataset.title ?? 'Windlass'}`;
  };
  watch(['inbox', 'title'], count);
  const add = h('button', { class: 'button main new', type: 'button', 'aria-keyshortcuts': 'n', on: { click: () => newTask() } }, icon('plus'), 'New task', h('kbd', { 'aria-hidden': 'true' }, 'n'));
  const keysButton = h('button', { class: 'button plain square help', type: 'button', 'aria-label': 'Keyboard shortcuts', title: 'Keyboard shortcuts (?)', on: { click: help } }, icon('keyboard'));
  return h('header', { class: 'rail' },
    h('a', { class: 'brand', href: '#/' }, h('img', { src: '/mark.svg', alt: '' }), 'Windlass'),
    add,
    h('nav', { 'aria-label': 'Views' }, h('ul', {}, items)),
    h('div', { class: 'foot' }, linkState(), h('div', { class: 'row' }, themeButton(), keysButton, leaveButton())));
}

// Draws the frame and shows the view that the address names, now and whenever it changes.
export function frame(reconnect) {
  const main = h('main', { id: 'main', tabindex: '-1' });
  const skip = h('a', { class: 'skip', href: '#main', on: { click: (event) => { event.preventDefault(); main.focus(); } } }, 'To the content');
  fill(document.body, skip, h('div', { class: 'shell' }, rail(), h('div', { class: 'page' }, outage(reconnect), main)));

  let shown = null;
  const show = (first) => {
    const { path, view, params } = here();
    for (const link of document.querySelectorAll('.rail nav a')) {
      const own = link.dataset.path;
      const current = own === '/' ? path === '/' || path.startsWith('/tasks') || path === '/new' : path.startsWith(own);
      if (current) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    if (shown?.view === view && shown.made.turn?.(params)) return;
    shown?.made.leave?.();
    const made = view ? view(params) : { title: 'Nothing here', node: nowhere() };
    shown = { view, made };
    document.body.dataset.title = `${made.title} · Windlass`;
    fill(main, made.node);
    document.title = document.body.dataset.title;
    watchTitle();
    if (!first) {
      window.scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
    if (path === '/new') newTask();
  };
  window.addEventListener('hashchange', () => show(false));
  bindKeys();
  show(true);
}

function nowhere() {
  return h('div', {}, h('h1', { class: 'spoken' }, 'Nothing here'), empty('anchor', 'There is nothing at this address', h('p', {}, h('a', { href: '#/' }, 'To the board'))));
}

function watchTitle() {
  const open = state.blockers.length + state.approvals.length;
  if (open) document.title = `(${open}) ${document.body.dataset.title}`;
}

function bindKeys() {
  bind('n', () => newTask());
  bind('?', help);
  for (const [path, , , key] of NAV) bind(`g ${key}`, () => go(path));
}
