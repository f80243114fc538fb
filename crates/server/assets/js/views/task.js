// The page of one task: progress, timeline, changes, tests, attempts and traces.

import { api } from '../api.js';
import { fill, h, reconcile, setText } from '../dom.js';
import { bind } from '../keys.js';
import { TaskLog } from '../log.js';
import { navigate } from '../router.js';
import { listen, putTask, state, watch } from '../store.js';
import { TimelineModel } from '../timeline-model.js';
import { actions } from '../task/actions.js';
import { attempts } from '../task/attempts.js';
import { candidatesOf, candidatesPanel } from '../task/candidates.js';
import { changes } from '../task/changes.js';
import { side } from '../task/side.js';
import { stages } from '../task/stages.js';
import { tests } from '../task/tests.js';
import { timeline } from '../task/timeline.js';
import { taskTraces } from '../task/traces.js';
import { failure, loading, pill, statusPill, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { approvalCard } from '../inbox/approval.js';
import { blockerCard } from '../inbox/question.js';

const TABS = [
  ['timeline', 'Timeline', timeline],
  ['changes', 'Changes', changes],
  ['tests', 'Tests', tests],
  ['attempts', 'Attempts', attempts],
  ['traces', 'Traces', taskTraces],
];

// The tabs are links, so that each has an address. Arrow keys move the focus as in any tab list.
function tabs(id) {
  const links = TABS.map(([name, label]) => h('a', {
    role: 'tab', id: `tab-${name}`, 'aria-controls': 'tab-panel', href: `#/tasks/${id}${name === 'timeline' ? '' : `/${name}`}`,
  }, label));
  const node = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Task sections' }, links);
  node.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const index = links.indexOf(document.activeElement);
    if (!step || index < 0) return;
    event.preventDefault();
    links[(index + step + links.length) % links.length].focus();
  });
  const select = (tab) => TABS.forEach(([name], index) => {
    links[index].setAttribute('aria-selected', String(name === tab));
  });
  return { node, select };
}

// The open questions and permission requests of this task, as in the inbox. Updates keep the user's input.
function pendingRequests(id) {
  const node = h('div', { class: 'stack pending-requests' });
  const update = () => {
    const approvals = state.approvals.filter((approval) => approval.attempt.task === id).map((entry) => ({ key: `a${entry.id}`, make: () => approvalCard(entry) }));
    const blockers = state.blockers.filter((blocker) => blocker.task_id === id).map((entry) => ({ key: `b${entry.id}`, make: () => blockerCard(entry, { withEvidence: true }) }));
    reconcile(node, [...approvals, ...blockers], (item) => item.key, (item) => item.make());
  };
  return { node, update };
}

class TaskPage {
  constructor(id, tab) {
    this.id = id;
    this.container = h('div', {}, loading());
    this.stops = [];
    this.model = new TimelineModel();
    this.log = new TaskLog(id, (events, reset) => this.onEvents(events, reset));
    this.tab = tab;
    this.open();
  }

  async open() {
    try {
      putTask(await api.task(this.id));
    } catch (error) {
      fill(this.container, h('h1', {}, `Task ${this.id}`), failure(error, () => this.open()));
      return;
    }
    this.render();
    this.stops.push(
      listen((event) => this.log.receive(event)),
      watch(['tasks', 'inbox'], () => this.update()),
      watch(['hello'], () => this.log.catchUp().catch(() => {})),
      ...TABS.map(([name], index) => bind(String(index + 1), () => navigate(`/tasks/${this.id}${index ? `/${name}` : ''}`))),
      bind('Escape', () => navigate('/')),
      ...this.actions.keys(),
    );
    if (this.closed) this.leave();
    this.log.catchUp().then(() => this.current?.ready?.()).catch(() => {});
  }

  get task() {
    return state.tasks.get(this.id);
  }

  render() {
    this.title = h('h1');
    this.meta = h('div', { class: 'row small muted' });
    this.stages = stages();
    this.actions = actions(() => this.task);
    this.pendingRequests = pendingRequests(this.id);
    this.tabs = tabs(this.id);
    this.panel = h('div', { id: 'tab-panel', role: 'tabpanel' });
    this.side = side(this.id);
    const back = h('a', { class: 'button plain square back', href: '#/', 'aria-label': 'Back to the board' }, icon('back'));
    this.candidates = h('div', { class: 'slot' });
    this.page = h('div', { class: 'task-page' }, h('div', { class: 'task-main' }, this.pendingRequests.node, this.candidates, this.tabs.node, this.panel), this.side.node);
    fill(this.container,
      h('header', { class: 'task-head' },
        h('div', { class: 'toolbar' }, back, this.meta, this.actions.node),
        this.title, this.stages.node),
      this.page);
    this.select(this.tab);
    this.update();
  }

  select(tab) {
    const [name, , make] = TABS.find(([entry]) => entry === tab) ?? TABS[0];
    this.tab = name;
    if (!this.panel) return;
    this.tabs.select(name);
    this.panel.setAttribute('aria-labelledby', `tab-${name}`);
    this.page.dataset.tab = name;
    this.current?.leave?.();
    this.current = make({ id: this.id, log: this.log, model: this.model, task: () => this.task });
    fill(this.panel, this.current.node);
  }

  update() {
    const task = this.task;
    if (!task || !this.title) return;
    setText(this.title, task.title);
    const rendered = JSON.stringify([task, candidatesOf(this.id), state.projects.get(task.project_id)?.name]);
    if (rendered !== this.rendered) {
      const statusChanged = this.status && this.status !== task.status;
      this.rendered = rendered;
      this.status = task.status;
      fill(this.meta, h('span', { class: 'num' }, `#${task.id}`), task.landed ? pill('Landed', 'good') : statusPill(task), task.status === 'completed' && !task.landed && task.review === 'approve' && pill('Approved', 'good'), task.outdated && pill('Outdated', 'warn'),
        state.projects.size > 1 && h('span', {}, state.projects.get(task.project_id)?.name), timeElement(task.updated_at));
      this.actions.update(task);
      fill(this.candidates, candidatesPanel(task));
      this.side.update(task, this.model);
      if (statusChanged) this.current?.refresh?.();
    }
    this.stages.update(task, this.model);
    this.pendingRequests.update();
  }

  onEvents(events, reset) {
    if (reset) this.model = Object.assign(this.model, new TimelineModel());
    const items = events.flatMap((event) => this.model.add(event));
    this.current?.onEvents?.(events, items, reset);
    this.stages?.update(this.task, this.model);
    if (events.some((event) => event.type !== 'agent_event' || event.envelope.event.type === 'Plan')) this.side?.update(this.task, this.model, true);
    if (!reset && events.some((event) => event.activity_type === 'review')) this.current?.onReview?.();
    if (events.some((event) => event.type === 'test_result' || event.type === 'correction_attempt')) this.current?.refresh?.();
  }

  leave() {
    this.closed = true;
    for (const stop of this.stops.splice(0)) stop();
    this.current?.leave?.();
  }
}

export function task({ id, tab }) {
  const page = new TaskPage(Number(id), tab ?? 'timeline');
  return {
    title: `Task ${id}`,
    node: page.container,
    leave: () => page.leave(),
    // Another tab of the same task reuses the page.
    setParams: (params) => {
      if (Number(params.id) !== page.id) return false;
      page.select(params.tab ?? 'timeline');
      return true;
    },
  };
}
