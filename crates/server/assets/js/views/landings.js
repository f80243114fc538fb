// The landing queue: changes that wait for their target branches, one at a time for each branch.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { inProject } from '../projects.js';
import { coalesce, listen, state, watch } from '../store.js';
import { plural, shortHash } from '../text.js';
import { emptyState, failure, loading, pill, timeElement } from '../widgets/common.js';
import { taskLink } from '../inbox/task-link.js';

const STATES = { queued: ['Queued', 'none'], landing: ['Landing', 'live'], landed: ['Landed', 'good'], returned: ['Returned', 'warn'] };
const SHOWN_ENDED = 50;
const SHOWN_CASES = 5;
const REFRESH_MS = 10_000;

function details(landing) {
  const waits = landing.waits_for ?? [];
  const cases = landing.cases ?? [];
  return [
    waits.length > 0 && h('p', { class: 'small muted' }, 'waits for ', waits.map((id, index) => [index > 0 && ', ', h('a', { href: `#/tasks/${id}` }, `#${id}`)])),
    landing.reason && h('p', { class: 'small wrap' }, landing.reason),
    cases.length > 0 && h('ul', { class: 'cases small' }, cases.slice(0, SHOWN_CASES).map((name) => h('li', {}, h('code', {}, name))), cases.length > SHOWN_CASES && h('li', { class: 'muted' }, `and ${cases.length - SHOWN_CASES} more`)),
    landing.commit && h('p', { class: 'small muted' }, 'commit ', h('code', { title: landing.commit }, shortHash(landing.commit))),
  ];
}

function row(landing, position) {
  return h('li', { class: 'landing', data: { state: landing.state, task: landing.task } },
    h('span', { class: 'num position' }, position == null ? '' : String(position)),
    h('div', { class: 'landing-main' }, taskLink(landing.task), details(landing)),
    pill(...(STATES[landing.state] ?? [landing.state, 'none'])),
    h('span', { class: 'small muted by truncate' }, landing.by),
    timeElement(landing.ended_at ?? landing.created_at, { small: true }));
}

function show(landings) {
  const shown = landings.filter((landing) => inProject(state.tasks.get(landing.task)));
  if (shown.length === 0) {
    return emptyState('land', 'Nothing is landing', h('p', {}, 'A completed change lands when it passes the tests on the current target branch. Land one on its page, or add tasks that land on their own: ', h('code', {}, 'windlass task add --land "TITLE"'), '.'));
  }
  const open = shown.filter((landing) => !landing.ended_at).sort((a, b) => a.id - b.id);
  const ended = shown.filter((landing) => landing.ended_at).sort((a, b) => b.ended_at - a.ended_at).slice(0, SHOWN_ENDED);
  const queues = Map.groupBy(open, (landing) => `${landing.project_id} ${landing.target}`);
  const project = (landing) => (state.projects.size > 1 ? `${state.projects.get(landing.project_id)?.name ?? ''} · ` : '');
  return [
    [...queues.values()].map((queue) => h('section', { class: 'panel' },
      h('header', {}, h('h2', {}, project(queue[0]), h('code', {}, queue[0].target)), h('span', { class: 'muted small num' }, `${plural(queue.length, 'change')} queued`)),
      h('ol', { class: 'landings' }, queue.map((landing, index) => row(landing, index + 1))))),
    ended.length > 0 && h('section', { class: 'panel' }, h('header', {}, h('h2', {}, 'Ended')), h('ol', { class: 'landings' }, ended.map((landing) => row(landing, null)))),
  ];
}

export function landings() {
  const body = h('div', { class: 'stack' }, loading());
  let list = null;
  const render = () => list && fill(body, show(list));
  const refresh = async () => {
    try {
      list = await api.landings();
      render();
    } catch (error) {
      if (!list) fill(body, failure(error, refresh));
    }
  };
  const soon = coalesce(refresh);
  const timer = setInterval(refresh, REFRESH_MS);
  const stops = [watch(['tasks', 'project'], render), listen((event) => event.type === 'task_status' && soon()), () => clearInterval(timer)];
  refresh();
  return { title: 'Landing', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Landing')), body), leave: () => stops.forEach((stop) => stop()) };
}
