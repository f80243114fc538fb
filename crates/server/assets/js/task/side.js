// The side column of a task: proof, plan, description, details and usage.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { goalOf } from '../goals/model.js';
import { markdown } from '../markdown.js';
import { state } from '../store.js';
import { agentName, count, formatCost, formatDateTime, formatDuration, isTracked, plural, progress, shortHash } from '../text.js';
import { facts, notice, panel, testBar } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';

// The kinds of test cases that differ from the run before the change, in the order shown.
const CASES = [['broken', 'Broken'], ['still_failing', 'Still failing'], ['skipped', 'Skipped now'], ['removed', 'Removed'], ['flaky', 'Flaky'], ['fixed', 'Fixed'], ['new', 'New']];
const SHOWN_CASES = 20;
const FOLD_CHARS = 600;
const FOLD_LINES = 12;

function caseRows(cases) {
  return CASES.filter(([key]) => cases?.[key]?.length > 0).map(([key, label]) => {
    const names = cases[key];
    const more = names.length - SHOWN_CASES;
    return [label, h('ul', { class: 'cases' }, names.slice(0, SHOWN_CASES).map((name) => h('li', {}, h('code', {}, name))), more > 0 && h('li', { class: 'muted' }, `and ${more} more`))];
  });
}

const runText = ({ exit_code: code, counts }) => `exited ${code ?? 'early'}${counts.total > 0 ? `: ${counts.passed} passed, ${counts.failed + counts.errors} failed` : ''}`;

function proofCard(proof) {
  const { counts } = proof;
  const warned = proof.warnings?.length > 0;
  return h('section', { class: 'panel proof', 'aria-label': 'Proof', data: { review: warned } },
    h('div', { class: 'proof-head' }, icon(warned ? 'warn' : 'seal'), h('div', {}, h('h2', {}, warned ? 'Needs review' : 'Verified'), h('p', { class: 'small' }, `${counts.total > 0 ? `${plural(counts.passed, 'test')} passed` : 'the tests passed'}, run by Windlass in ${formatDuration(proof.duration_ms)}`))),
    h('div', { class: 'body fields' },
      proof.warnings?.map((warning) => notice('warn', warning.detail ?? warning)),
      counts.total > 0 && testBar(counts),
      facts([
        ['Commit', h('code', { title: proof.commit }, shortHash(proof.commit))],
        ['Base', h('code', { title: proof.base }, shortHash(proof.base))],
        ['Tree', h('code', { title: proof.tree }, shortHash(proof.tree))],
        ['Command', h('code', {}, proof.command.join(' '))],
        ['Projects', proof.part && `${proof.part.projects.join(', ')} only`],
        ['Setup', proof.setup?.length > 0 && h('code', {}, proof.setup.join(' '))],
        ['Exit code', String(proof.exit_code)],
        ...caseRows(proof.cases),
        ['Base\'s tests', proof.base_tests && runText(proof.base_tests)],
        ['Before', proof.baseline && runText(proof.baseline)],
        ['Log SHA-256', h('code', { title: proof.log_sha256 }, shortHash(proof.log_sha256))],
        ['Created', formatDateTime(proof.at)],
      ]),
      h('p', { class: 'muted small' }, 'Verify again in a fresh checkout: ', h('code', {}, `windlass verify ${proof.task ?? ''}`.trim()))));
}

const MARK = { completed: 'check', in_progress: 'chevron', pending: null };

function planCard(entries) {
  const mark = isTracked(entries)
    ? ({ status }) => h('span', { class: 'mark', role: 'img', 'aria-label': status.replace('_', ' ') }, MARK[status] && icon(MARK[status]))
    : (_, index) => h('span', { class: 'mark num', 'aria-hidden': 'true' }, String(index + 1));
  return panel('Plan', h('ol', { class: 'plan' }, entries.map((entry, index) => h('li', { data: { state: entry.status } },
    mark(entry, index), h('span', {}, entry.step)))),
  { aside: h('span', { class: 'muted small num' }, progress(entries)) });
}

// A long text is folded, so that what follows it stays in view.
function folded(text) {
  const long = text.length > FOLD_CHARS || text.split('\n').length > FOLD_LINES;
  if (!long) return markdown(text);
  const body = h('div', { class: 'fold', data: { open: false } }, markdown(text));
  const button = h('button', { class: 'button plain small', type: 'button', 'aria-expanded': 'false' }, 'Show all');
  button.addEventListener('click', () => {
    const open = body.dataset.open !== 'true';
    body.dataset.open = open;
    button.setAttribute('aria-expanded', String(open));
    button.textContent = open ? 'Show less' : 'Show all';
  });
  return [body, button];
}

function factsCard(task) {
  const used = task.usage ?? {};
  return panel('Details', facts([
    ['Agent', agentName(task, state.defaultAgent)],
    ['Kind', task.kind],
    ['Priority', `${task.priority}, step ${task.workflow_step}`],
    ['Attempt', `${task.attempt} of ${task.max_attempts}`],
    ['Depends on', task.dependencies.length > 0 && task.dependencies.map((id, index) => [index > 0 && ', ', h('a', { href: `#/tasks/${id}` }, `#${id}`)])],
    ['Goal', goalOf(task.id) && h('a', { href: `#/goals/${goalOf(task.id).id}` }, plural(goalOf(task.id).tasks.length, 'task'))],
    ['Target', task.target && h('code', {}, task.target)],
    ['Lands', task.land && !task.landed && 'when it is proved'],
    ['Landed', task.landed && [h('code', { title: task.landed.commit }, shortHash(task.landed.commit)), `, ${formatDateTime(task.landed.at)}, by ${task.landed.by}`]],
    ['Candidate of', task.candidate_of != null && h('a', { href: `#/tasks/${task.candidate_of}` }, `#${task.candidate_of}`)],
    ['Branch', task.branch && h('code', {}, task.branch)],
    ['Tokens', used.input_tokens || used.output_tokens ? `${count(used.input_tokens)} in, ${count(used.output_tokens)} out` : null],
    ['Cached tokens', used.cache_read_tokens ? count(used.cache_read_tokens) : null],
    ['Cost', used.cost_usd != null ? formatCost(used.cost_usd) : null],
    ['Added', formatDateTime(task.created_at)],
    ['Completed', task.completed_at && formatDateTime(task.completed_at)],
  ]));
}

export function side(id) {
  const slots = Object.fromEntries(['proof', 'plan', 'facts', 'description'].map((name) => [name, h('div')]));
  const node = h('aside', { class: 'task-side', 'aria-label': 'Task details' }, Object.values(slots));
  let proofShown = false;
  let shownPlan = '';
  const update = (task, model, eventsOnly = false) => {
    if (!task) return;
    if (task.status === 'completed' && !task.unverified && !proofShown) {
      proofShown = true;
      api.proof(id).then((proof) => proof && fill(slots.proof, proofCard({ ...proof, task: id }))).catch(() => { proofShown = false; });
    } else if (task.status !== 'completed' && proofShown) {
      proofShown = false;
      fill(slots.proof);
    }
    const plan = JSON.stringify(model.plan);
    if (model.plan && plan !== shownPlan) fill(slots.plan, planCard(model.plan));
    shownPlan = plan;
    if (eventsOnly) return;
    // The question of a blocked task is above the tabs.
    const asked = task.status === 'blocked' && state.blockers.some((blocker) => blocker.task_id === task.id);
    const output = task.output && !asked && panel(task.status === 'completed' ? 'Result' : 'Reason', folded(task.output));
    fill(slots.facts, factsCard(task));
    fill(slots.description, task.description && panel('Description', folded(task.description)), output);
  };
  return { node, update };
}
