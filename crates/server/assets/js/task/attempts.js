// The attempts, each with its corrections and questions.

import { api } from '../api.js';
import { h } from '../dom.js';
import { markdown } from '../markdown.js';
import { count, formatCost, formatDuration, shortHash, tokens } from '../text.js';
import { emptyState, loadInto, pill, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';

const TONE = { completed: 'good', failed: 'bad', blocked: 'warn', lost: 'bad' };

function changedFiles(changes) {
  const paths = Array.isArray(changes) ? changes.map((entry) => entry?.path ?? entry).filter((entry) => typeof entry === 'string') : [];
  return paths.length > 0 && h('ul', { class: 'chips' }, paths.map((path) => h('li', { class: 'chip mono' }, path)));
}

function correctionItem(correction) {
  const good = correction.status === 'passed';
  return h('li', { class: 'round' },
    h('div', { class: 'line' }, icon('retry'), h('b', {}, `Correction ${correction.round}`), pill(correction.status, good ? 'good' : 'bad')),
    h('dl', {}, h('dt', {}, 'Cause'), h('dd', {}, markdown(correction.error_analysis)), h('dt', {}, 'Fix'), h('dd', {}, markdown(correction.fix_description))),
    changedFiles(correction.code_changes));
}

function blockerItem(blocker) {
  return h('li', { class: 'round' },
    h('div', { class: 'line' }, icon('question'), h('b', {}, 'Question'), !blocker.answer && pill('open', 'warn')),
    markdown(blocker.question),
    blocker.answer && h('blockquote', {}, markdown(blocker.answer.text), h('p', { class: 'muted small' }, 'answered ', timeElement(blocker.answer.at))));
}

// The commit that the attempt started from, with the changes of other tasks in it.
function base(attempt) {
  if (!attempt.base) return null;
  const parts = attempt.base_parts ?? [];
  return h('p', { class: 'small muted' }, 'from ', h('code', { title: attempt.base }, shortHash(attempt.base)),
    parts.length > 0 && [' with the changes of ', parts.map((part, index) => [index > 0 && ', ', h('a', { href: `#/tasks/${part.task}` }, `#${part.task}`)])]);
}

function card(attempt, corrections, blockers) {
  const duration = attempt.ended_at ? formatDuration(attempt.ended_at - attempt.started_at) : 'running';
  const used = tokens(attempt.usage);
  return h('article', { class: 'panel' },
    h('header', {}, h('h2', {}, `Attempt ${attempt.number}`), pill(attempt.outcome ?? 'running', attempt.outcome ? TONE[attempt.outcome] ?? 'none' : 'live')),
    h('div', { class: 'body fields' },
      h('p', { class: 'small muted num' }, [attempt.worker, duration, used > 0 && `${count(used)} tokens`, attempt.usage?.cost_usd != null && formatCost(attempt.usage.cost_usd)].filter(Boolean).join(' · '), ' · ', timeElement(attempt.started_at)),
      base(attempt),
      attempt.error && h('div', { class: 'small' }, markdown(attempt.error)),
      (corrections.length > 0 || blockers.length > 0) && h('ul', { class: 'rounds' }, corrections.map(correctionItem), blockers.map(blockerItem))));
}

export function attempts({ id }) {
  const node = h('div');
  const refresh = () => loadInto(node, () => Promise.all([api.attempts(id), api.corrections(id), api.taskBlockers(id)]), ([rows, corrections, blockers]) => {
    const ofAttempt = (list, number) => list.filter((entry) => entry.attempt === number);
    if (rows.length === 0) return emptyState('anchor', 'No attempts yet', h('p', {}, 'A worker claims the task when one is free and all dependencies are completed.'));
    return h('div', { class: 'stack' }, [...rows].reverse().map((attempt) => card(attempt, ofAttempt(corrections, attempt.number), ofAttempt(blockers, attempt.number))));
  });
  refresh();
  return { node, refresh };
}
