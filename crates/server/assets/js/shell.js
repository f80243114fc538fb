// The page around the views: navigation rail, connection status, outage banner.

import { needsScope } from './access.js';
import { api } from './api.js';
import { fill, h, setText } from './dom.js';
import { bind } from './keys.js';
import { currentRoute, navigate } from './router.js';
import { state, watch } from './store.js';
import { plural } from './text.js';
import { emptyState } from './widgets/common.js';
import { projectSwitcher } from './widgets/project-switcher.js';
import { icon } from './widgets/icon.js';
import { toast } from './widgets/toast.js';
import { help } from './views/help.js';
import { newTask } from './views/new-task.js';

const NAV = [
  ['/', 'Board', 'board', 'b'],
  ['/goals', 'Goals', 'graph', 'o'],
  ['/inbox', 'Inbox', 'inbox', 'i'],
  ['/landings', 'Landing', 'land', 'l'],
  ['/agents', 'Agents', 'agents', 'a'],
  ['/traces', 'Traces', 'traces', 't'],
  ['/usage', 'Usage', 'usage', 'u'],
  ['/evaluations', 'Eval', 'check', 'e'],
  ['/projects', 'Projects', 'folder', 'p'],
];

const THEMES = ['system', 'light', 'dark'];
const THEME_ICON = { system: 'system', light: 'sun', dark: 'moon' };

function themeButton() {
  const root = document.documentElement;
  const button = h('button', { class: 'button plain', type: 'button' });
  const show = () => {
    const theme = root.dataset.theme ?? 'system';
    button.setAttribute('aria-label', `Theme: ${theme}. Change`);
    button.title = `Theme: ${theme} (t)`;
    fill(button, icon(THEME_ICON[theme]), h('span', { class: 'label' }, 'Theme'));
  };
  const next = () => {
    const theme = THEMES[(THEMES.indexOf(root.dataset.theme ?? 'system') + 1) % THEMES.length];
    if (theme === 'system') delete root.dataset.theme;
    else root.dataset.theme = theme;
    try {
      localStorage.setItem('windlass.theme', theme);
    } catch {
      // Without storage, the theme applies to this page only.
    }
    show();
  };
  button.addEventListener('click', next);
  bind('t', next);
  show();
  return button;
}

// Ends the session, so that the next visitor needs the link or a token.
function signOutButton() {
  const signOut = () => api.logout().then(() => location.reload(), (error) => toast('bad', error.message));
  return h('button', { class: 'button plain', type: 'button', title: 'Sign out', on: { click: signOut } }, icon('signOut'), h('span', { class: 'label' }, 'Sign out'));
}

const CONNECTION_LABELS = { connecting: 'connecting…', live: 'live', down: 'disconnected', stale: 'store unreachable' };

function connectionStatus() {
  const label = h('span');
  const node = h('div', { class: 'connection', role: 'status' }, h('span', { class: 'dot' }), label);
  const show = () => {
    node.dataset.connection = state.connection;
    const worker = state.health?.worker;
    const workers = !state.health ? '' : worker ? ` · ${worker.running} of ${plural(worker.concurrency, 'worker')} busy` : ' · no local workers';
    setText(label, CONNECTION_LABELS[state.connection] + (state.connection === 'live' ? workers : ''));
  };
  watch(['connection', 'tasks'], show);
  show();
  return node;
}

function outageBanner(reconnect) {
  const label = h('span');
  const button = h('button', { class: 'button', type: 'button', on: { click: reconnect } }, 'Reconnect now');
  const node = h('div', { class: 'outage', role: 'alert', hidden: true }, icon('warn'), label, button);
  watch(['connection'], () => {
    node.hidden = state.connection === 'live' || state.connection === 'connecting';
    node.dataset.connection = state.connection;
    button.hidden = state.connection === 'stale';
    setText(label, state.connection === 'stale'
      ? `The server cannot reach its store: ${state.reason ?? 'no reason given'}. The data shown may be outdated.`
      : 'Disconnected from the server. The data shown may be outdated; it updates when the server is back.');
  });
  return node;
}

function rail() {
  const badge = h('span', { class: 'badge', hidden: true });
  const items = NAV.map(([path, name, iconName]) => h('li', {},
    h('a', { href: `#${path}`, data: { path } }, icon(iconName), name, path === '/inbox' && badge)));
  const count = () => {
    const open = state.blockers.length + state.approvals.length;
    badge.hidden = open === 0;
    setText(badge, String(open));
    badge.setAttribute('aria-label', `${open} pending`);
    document.title = `${open ? `(${open}) ` : ''}${document.body.dataset.title ?? 'Windlass'}`;
  };
  watch(['inbox', 'title'], count);
  const add = needsScope('work', h('button', { class: 'button main new', type: 'button', 'aria-keyshortcuts': 'n', on: { click: () => newTask() } }, icon('plus'), 'New task', h('kbd', { 'aria-hidden': 'true' }, 'n')));
  const keysButton = h('button', { class: 'button plain help', type: 'button', 'aria-label': 'Keyboard shortcuts', title: 'Keyboard shortcuts (?)', on: { click: help } }, icon('keyboard'), h('span', { class: 'label' }, 'Keys'));
  return h('header', { class: 'rail' },
    h('a', { class: 'brand', href: '#/' }, h('img', { src: '/mark.svg', alt: '' }), 'Windlass'),
    projectSwitcher(), add,
    h('nav', { 'aria-label': 'Views' }, h('ul', {}, items)),
    h('div', { class: 'footer' }, connectionStatus(), h('div', { class: 'row' }, themeButton(), keysButton, signOutButton())));
}

// Mounts the shell and shows the view for the current address, also after each change of the address.
export function mountShell(reconnect) {
  const main = h('main', { id: 'main', tabindex: '-1' });
  const skip = h('a', { class: 'skip', href: '#main', on: { click: (event) => { event.preventDefault(); main.focus(); } } }, 'Skip to content');
  fill(document.body, skip, h('div', { class: 'shell' }, rail(), h('div', { class: 'page' }, outageBanner(reconnect), main)));

  let current = null;
  const show = (first) => {
    const { path, view, params } = currentRoute();
    for (const link of document.querySelectorAll('.rail nav a')) {
      const linkPath = link.dataset.path;
      const isCurrent = linkPath === '/' ? path === '/' || path.startsWith('/tasks') || path === '/new' : path === linkPath || path.startsWith(`${linkPath}/`);
      if (isCurrent) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    if (current?.view === view && current.page.setParams?.(params)) return;
    current?.page.leave?.();
    const page = view ? view(params) : { title: 'Not found', node: notFound() };
    current = { view, page };
    document.body.dataset.title = `${page.title} · Windlass`;
    fill(main, page.node);
    document.title = document.body.dataset.title;
    updateTitle();
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

function notFound() {
  return h('div', {}, h('h1', { class: 'sr-only' }, 'Not found'), emptyState('anchor', 'Page not found', h('p', {}, h('a', { href: '#/' }, 'Go to the board'))));
}

function updateTitle() {
  const open = state.blockers.length + state.approvals.length;
  if (open) document.title = `(${open}) ${document.body.dataset.title}`;
}

function bindKeys() {
  bind('n', () => newTask());
  bind('?', help);
  for (const [path, , , key] of NAV) bind(`g ${key}`, () => navigate(path));
}
