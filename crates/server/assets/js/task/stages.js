// The progress of a task as a row of stages.

import { fill, h } from '../dom.js';

// Returns the state of the last attempt, from its timeline items.
function attemptState(model) {
  const from = model.items.findLastIndex((item) => item.kind === 'status' && item.status === 'in_progress');
  const items = from < 0 ? [] : model.items.slice(from);
  const tests = items.findLast((item) => item.kind === 'tests');
  const correction = items.findLast((item) => item.kind === 'correction');
  const hasOutput = items.some((item) => ['text', 'thought', 'tool', 'end', 'plan'].includes(item.kind));
  return { tests: tests?.result, correction, hasOutput, started: from >= 0 };
}

function stageList(task, model) {
  const { tests, correction, hasOutput, started } = attemptState(model);
  const ended = ['completed', 'failed', 'cancelled', 'blocked'].includes(task.status);
  const working = task.status === 'in_progress';
  const verified = task.status === 'completed' && !task.unverified;
  const testsPassed = tests?.status === 'passed' || verified;
  const stage = (name, state, note) => ({ name, state, note });
  const correcting = correction?.status === 'in_progress' && working;
  const list = [stage('Queued', started || ended ? 'done' : 'current', '')];
  list.push(stage('Work', tests || verified || (ended && hasOutput) ? 'done' : working ? 'current' : 'pending', hasOutput && !tests && working ? 'editing' : ''));
  list.push(stage('Tests', testsPassed ? 'done' : tests ? 'bad' : 'pending', tests?.total ? `${tests.passed} of ${tests.total}` : ''));
  if (correction) list.push(stage('Correction', correcting ? 'current' : correction.status === 'success' || testsPassed ? 'done' : 'bad', `${correction.round} of ${correction.rounds}`));
  const finalStages = {
    completed: task.landed ? ['Landed', 'proof'] : task.unverified ? ['Unverified', 'warn'] : task.needs_review ? ['Needs review', 'warn'] : ['Proof', 'proof'],
    failed: ['Failed', 'bad'],
    cancelled: ['Cancelled', 'bad'],
    blocked: ['Needs input', 'warn'],
  };
  const [name, state] = finalStages[task.status] ?? ['Proof', 'pending'];
  list.push(stage(name, state, ''));
  return list;
}

export function stages() {
  const node = h('ol', { class: 'stages', 'aria-label': 'Progress' });
  let rendered = '';
  return {
    node,
    update(task, model) {
      const list = stageList(task, model);
      const next = JSON.stringify(list);
      if (next === rendered) return;
      rendered = next;
      fill(node, list.map(({ name, state, note }) => h('li', { data: { state }, 'aria-current': state === 'current' ? 'step' : null },
        h('span', { class: 'stage-dot' }), h('span', { class: 'label' }, name, note && h('span', { class: 'muted num' }, ` ${note}`)))));
    },
  };
}
