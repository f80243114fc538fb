// One task: how far it is, what happens right now, and everything its attempts left behind.

import { api } from '../api.js';
import { fill, h, keep, say } from '../dom.js';
import { bind } from '../keys.js';
import { TaskLog } from '../log.js';
import { go } from '../router.js';
import { listen, putTask, state, watch } from '../store.js';
import { Story } from '../story.js';
import { actions } from '../task/actions.js';
import { attempts } from '../task/attempts.js';
import { changes } from '../task/changes.js';
import { side } from '../task/side.js';
import { stages } from '../task/stages.js';
import { tests } from '../task/tests.js';
import { timeline } from '../task/timeline.js';
import { taskTraces } from '../task/traces.js';
import { failure, loading, statusPill, when } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';
import { question, request } from './inbox.js';

const TABS = [
  ['timeline', 'Timeline', timeline],
  ['changes', 'Changes', changes],
  ['tests', 'Tests', tests],
  ['attempts', 'Attempts', attempts],
  ['traces', 'Traces', taskTraces],
];

// The row of tabs: links, so that each has an address; arrow keys move as in any row of tabs.
function tabs(id) {
  const links = TABS.map(([name, words]) => h('a', {
    role: 'tab', id: `tab-${name}`, 'aria-controls': 'tab-panel', href: `#/tasks/${id}${name === 'timeline' ? '' : `/${name}`}`,
  }, words));
  const node = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'About the task' }, links);
  node.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = links.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    links[(at + step + links.length) % links.length].focus();
  });
  const select = (tab) => TABS.forEach(([name], at) => {
    links[at].setAttribute('aria-selected', String(name === tab));
  });
  return { node, select };
}

// What waits for a person in this task, answered here as in the inbox. Something new leaves what is being typed alone.
function waiting(id) {
  const node = h('div', { class: 'stack waits' });
  const update = () => {
    const approvals = state.approvals.filter((approval) => approval.attempt.task === id).map((one) => ({ key: `a${one.id}`, make: () => request(one) }));
    const blockers = state.blockers.filter((blocker) => blocker.task_id === id).map((one) => ({ key: `b${one.id}`, make: () => question(one) }));
    keep(node, [...approvals, ...blockers], (item) => item.key, (item) => item.make());
  };
  return { node, update };
}

class TaskPage {
  constructor(id, tab) {
    this.id = id;
    this.place = h('div', {}, loading());
    this.stops = [];
    this.story = new Story();
    this.log = new TaskLog(id, (events, anew) => this.heard(events, anew));
    this.tab = tab;
    this.open();
  }

  async open() {
    try {
      putTask(await api.task(this.id));
    } catch (error) {
      fill(this.place, h('h1', {}, `Task ${this.id}`), failure(error, () => this.open()));
      return;
    }
    this.draw();
    this.stops.push(
      listen((event) => this.log.take(event)),
      watch(['tasks', 'inbox'], () => this.update()),
      watch(['greet'], () => this.log.catchUp().catch(() => {})),
      ...TABS.map(([name], at) => bind(String(at + 1), () => go(`/tasks/${this.id}${at ? `/${name}` : ''}`))),
      bind('Escape', () => go('/')),
      ...this.actions.keys(),
    );
    if (this.left) this.leave();
    this.log.catchUp().then(() => this.current?.ready?.()).catch(() => {});
  }

  get task() {
    return state.tasks.get(this.id);
  }

  draw() {
    this.title = h('h1');
    this.meta = h('div', { class: 'row small quiet' });
    this.stages = stages();
    this.actions = actions(() => this.task);
    this.waits = waiting(this.id);
    this.tabs = tabs(this.id);
    this.panel = h('div', { id: 'tab-panel', role: 'tabpanel' });
    this.side = side(this.id);
    const back = h('a', { class: 'button plain square back', href: '#/', 'aria-label': 'Back to the board' }, icon('back'));
    fill(this.place,
      h('header', { class: 'task-head' },
        h('div', { class: 'over' }, back, this.meta, this.actions.node),
        this.title, this.stages.node),
      h('div', { class: 'task-page' },
        h('div', { class: 'task-main' }, this.waits.node, this.tabs.node, this.panel),
        this.side.node));
    this.select(this.tab);
    this.update();
  }

  select(tab) {
    const [name, , make] = TABS.find(([one]) => one === tab) ?? TABS[0];
    this.tab = name;
    if (!this.panel) return;
    this.tabs.select(name);
    this.panel.setAttribute('aria-labelledby', `tab-${name}`);
    this.current?.leave?.();
    this.current = make({ id: this.id, log: this.log, story: this.story, task: () => this.task });
    fill(this.panel, this.current.node);
  }

  update() {
    const task = this.task;
    if (!task || !this.title) return;
    say(this.title, task.title);
    const seen = JSON.stringify([task, state.projects.get(task.project_id)?.name]);
    if (seen !== this.seen) {
      const ended = this.status && this.status !== task.status;
      this.seen = seen;
      this.status = task.status;
      fill(this.meta, h('span', { class: 'num' }, `#${task.id}`), statusPill(task),
        state.projects.size > 1 && h('span', {}, state.projects.get(task.project_id)?.name), when(task.updated_at));
      this.actions.update(task);
      this.side.update(task, this.story);
      if (ended) this.current?.changed?.();
    }
    this.stages.update(task, this.story);
    this.waits.update();
  }

  heard(events, anew) {
    if (anew) this.story = Object.assign(this.story, new Story());
    const items = events.flatMap((event) => this.story.add(event));
    this.current?.heard?.(events, items, anew);
    this.stages?.update(this.task, this.story);
    if (events.some((event) => event.type !== 'agent_event' || event.envelope.event.type === 'Plan')) this.side?.update(this.task, this.story, true);
    if (events.some((event) => event.type === 'test_result' || event.type === 'correction_attempt')) this.current?.changed?.();
  }

  leave() {
    this.left = true;
    for (const stop of this.stops.splice(0)) stop();
    this.current?.leave?.();
  }
}

export function task({ id, tab }) {
  const page = new TaskPage(Number(id), tab ?? 'timeline');
  return {
    title: `Task ${id}`,
    node: page.place,
    leave: () => page.leave(),
    // Another tab of the same task needs no new page.
    turn: (params) => {
      if (Number(params.id) !== page.id) return false;
      page.select(params.tab ?? 'timeline');
      return true;
    },
  };
}
