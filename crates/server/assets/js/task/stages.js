// How far a task is, as a ratchet: each tooth that was passed stays passed.

import { fill, h } from '../dom.js';

// What has been reached, from the task and from what was heard of its last attempt.
function reached(task, story) {
  const from = story.items.findLastIndex((item) => item.kind === 'status' && item.status === 'in_progress');
  const items = from < 0 ? [] : story.items.slice(from);
  const tests = items.findLast((item) => item.kind === 'tests');
  const rounds = items.filter((item) => item.kind === 'correction');
  const last = rounds.at(-1);
  const worked = items.some((item) => ['text', 'thought', 'tool', 'end', 'plan'].includes(item.kind));
  return { tests: tests?.result, rounds: rounds.length ? last : null, worked, claimed: from >= 0 };
}

function plan(task, story) {
  const { tests, rounds, worked, claimed } = reached(task, story);
  const over = ['completed', 'failed', 'cancelled', 'blocked'].includes(task.status);
  const working = task.status === 'in_progress';
  const proved = task.status === 'completed' && !task.unverified;
  const green = tests?.status === 'passed' || proved;
  const stage = (name, state, note) => ({ name, state, note });
  const mending = rounds && rounds.status === 'in_progress' && working;
  const list = [stage('Queued', claimed || over ? 'done' : 'now', '')];
  list.push(stage('Work', tests || proved || (over && worked) ? 'done' : working ? 'now' : 'later', worked && !tests && working ? 'the agent edits' : ''));
  list.push(stage('Tests', green ? 'done' : tests ? 'bad' : 'later', tests?.total ? `${tests.passed} of ${tests.total}` : ''));
  if (rounds) list.push(stage('Correction', mending ? 'now' : rounds.status === 'success' || green ? 'done' : 'bad', `${rounds.round} of ${rounds.rounds}`));
  const ends = {
    completed: [task.unverified ? 'Unverified' : 'Proof', task.unverified ? 'ask' : 'proof'],
    failed: ['Failed', 'bad'],
    cancelled: ['Cancelled', 'bad'],
    blocked: ['Needs you', 'ask'],
  };
  const [name, state] = ends[task.status] ?? ['Proof', 'later'];
  list.push(stage(name, state, ''));
  return list;
}

export function stages() {
  const node = h('ol', { class: 'stages', 'aria-label': 'How far it is' });
  let shown = '';
  return {
    node,
    update(task, story) {
      const list = plan(task, story);
      const now = JSON.stringify(list);
      if (now === shown) return;
      shown = now;
      fill(node, list.map(({ name, state, note }) => h('li', { data: { state }, 'aria-current': state === 'now' ? 'step' : null },
        h('span', { class: 'tooth' }), h('span', { class: 'words' }, name, note && h('span', { class: 'quiet num' }, ` ${note}`)))));
    },
  };
}
