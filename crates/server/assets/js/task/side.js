// Beside the task: proof, plan, the wish itself, what it used.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { markdown } from '../markdown.js';
import { count, isTracked, money, moment, plural, progress, short, span } from '../text.js';
import { facts, notice, panel, testBar } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';

function proofCard(proof) {
  const { counts } = proof;
  return h('section', { class: 'panel proof', 'aria-label': 'Proof' },
    h('div', { class: 'seal' }, icon('seal'), h('div', {}, h('h2', {}, 'Proved'), h('p', { class: 'small' }, `${counts.total > 0 ? `${plural(counts.passed, 'test')} passed` : 'the tests passed'}, run by Windlass in ${span(proof.duration_ms)}`))),
    h('div', { class: 'body fields' },
      counts.total > 0 && testBar(counts),
      proof.warnings?.map((warning) => notice('ask', warning)),
      facts([
        ['Commit', h('code', { title: proof.commit }, short(proof.commit))],
        ['On base', h('code', { title: proof.base }, short(proof.base))],
        ['Tree', h('code', { title: proof.tree }, short(proof.tree))],
        ['Command', h('code', {}, proof.command.join(' '))],
        ['Exit code', String(proof.exit_code)],
        ['Log SHA-256', h('code', { title: proof.log_sha256 }, short(proof.log_sha256))],
        ['Made', moment(proof.at)],
      ]),
      h('p', { class: 'quiet small' }, 'Check it again from scratch: ', h('code', {}, `windlass verify ${proof.task ?? ''}`.trim()))));
}

const MARK = { completed: 'check', in_progress: 'chevron', pending: null };

function planCard(entries) {
  const mark = isTracked(entries)
    ? ({ status }) => h('span', { class: 'mark', role: 'img', 'aria-label': status.replace('_', ' ') }, MARK[status] && icon(MARK[status]))
    : (_, at) => h('span', { class: 'mark num', 'aria-hidden': 'true' }, String(at + 1));
  return panel('Plan', h('ol', { class: 'plan' }, entries.map((entry, at) => h('li', { data: { state: entry.status } },
    mark(entry, at), h('span', {}, entry.step)))),
  { aside: h('span', { class: 'quiet small num' }, progress(entries)) });
}

function factsCard(task) {
  const used = task.usage ?? {};
  return panel('About', facts([
    ['Agent', task.agent ?? 'as configured'],
    ['Kind', task.kind],
    ['Priority', `${task.priority}, step ${task.workflow_step}`],
    ['Attempt', `${task.attempt} of ${task.max_attempts}`],
    ['After', task.dependencies.length > 0 && task.dependencies.map((id, at) => [at > 0 && ', ', h('a', { href: `#/tasks/${id}` }, `#${id}`)])],
    ['Branch', task.branch && h('code', {}, task.branch)],
    ['Tokens', used.input_tokens || used.output_tokens ? `${count(used.input_tokens)} in, ${count(used.output_tokens)} out` : null],
    ['From cache', used.cache_read_tokens ? count(used.cache_read_tokens) : null],
    ['Cost', used.cost_usd != null ? money(used.cost_usd) : null],
    ['Added', moment(task.created_at)],
    ['Done', task.completed_at && moment(task.completed_at)],
  ]));
}

export function side(id) {
  const places = Object.fromEntries(['proof', 'plan', 'wish', 'facts'].map((name) => [name, h('div')]));
  const node = h('aside', { class: 'task-side', 'aria-label': 'About the task' }, Object.values(places));
  let proved = false;
  let planned = '';
  const update = (task, story, heard = false) => {
    if (!task) return;
    if (task.status === 'completed' && !task.unverified && !proved) {
      proved = true;
      api.proof(id).then((proof) => proof && fill(places.proof, proofCard({ ...proof, task: id }))).catch(() => { proved = false; });
    } else if (task.status !== 'completed' && proved) {
      proved = false;
      fill(places.proof);
    }
    const plan = JSON.stringify(story.plan);
    if (story.plan && plan !== planned) fill(places.plan, planCard(story.plan));
    planned = plan;
    if (heard) return;
    const output = task.output && panel(task.status === 'completed' ? 'What was done' : 'Why it is here', markdown(task.output));
    fill(places.wish, task.description && panel('The wish', markdown(task.description)), output);
    fill(places.facts, factsCard(task));
  };
  return { node, update };
}
