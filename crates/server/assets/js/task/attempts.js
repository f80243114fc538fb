// The attempts, and within each what was corrected and what was asked.

import { api } from '../api.js';
import { h } from '../dom.js';
import { markdown } from '../markdown.js';
import { count, money, span, tokens } from '../text.js';
import { empty, loaded, pill, when } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';

const TONE = { completed: 'good', failed: 'bad', blocked: 'ask', lost: 'bad' };

function changedFiles(changes) {
  const paths = Array.isArray(changes) ? changes.map((one) => one?.path ?? one).filter((one) => typeof one === 'string') : [];
  return paths.length > 0 && h('ul', { class: 'chips' }, paths.map((path) => h('li', { class: 'chip mono' }, path)));
}

function round(correction) {
  const good = correction.status === 'passed';
  return h('li', { class: 'round' },
    h('div', { class: 'line' }, icon('retry'), h('b', {}, `Correction ${correction.round}`), pill(good ? 'green' : correction.status, good ? 'good' : 'bad')),
    h('dl', {}, h('dt', {}, 'What was wrong'), h('dd', {}, markdown(correction.error_analysis)), h('dt', {}, 'What was done'), h('dd', {}, markdown(correction.fix_description))),
    changedFiles(correction.code_changes));
}

function asked(question) {
  return h('li', { class: 'round' },
    h('div', { class: 'line' }, icon('question'), h('b', {}, 'Question'), !question.answer && pill('open', 'ask')),
    markdown(question.question),
    question.answer && h('blockquote', {}, markdown(question.answer.text), h('p', { class: 'quiet small' }, 'answered ', when(question.answer.at))));
}

function card(attempt, rounds, questions) {
  const took = attempt.ended_at ? span(attempt.ended_at - attempt.started_at) : 'under way';
  const used = tokens(attempt.usage);
  return h('article', { class: 'panel' },
    h('header', {}, h('h2', {}, `Attempt ${attempt.number}`), pill(attempt.outcome ?? 'working', attempt.outcome ? TONE[attempt.outcome] ?? 'none' : 'live')),
    h('div', { class: 'body fields' },
      h('p', { class: 'small quiet num' }, [attempt.worker, took, used > 0 && `${count(used)} tokens`, attempt.usage?.cost_usd != null && money(attempt.usage.cost_usd)].filter(Boolean).join(' · '), ' · ', when(attempt.started_at)),
      attempt.error && h('div', { class: 'small' }, markdown(attempt.error)),
      (rounds.length > 0 || questions.length > 0) && h('ul', { class: 'rounds' }, rounds.map(round), questions.map(asked))));
}

export function attempts({ id }) {
  const node = h('div');
  const read = () => loaded(node, () => Promise.all([api.attempts(id), api.corrections(id), api.questions(id)]), ([rows, corrections, questions]) => {
    const of = (list, number) => list.filter((one) => one.attempt === number);
    if (rows.length === 0) return empty('anchor', 'No attempt yet', h('p', {}, 'A worker takes the task as soon as one is free and what it waits for is done.'));
    return h('div', { class: 'stack' }, [...rows].reverse().map((attempt) => card(attempt, of(corrections, attempt.number), of(questions, attempt.number))));
  });
  read();
  return { node, changed: read };
}
