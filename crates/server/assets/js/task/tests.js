// Every run of the tests, newest first.

import { api } from '../api.js';
import { h } from '../dom.js';
import { plural, span } from '../text.js';
import { empty, loaded, pill, testBar } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';

function run(result, newest) {
  const { counts } = result;
  const good = result.status === 'passed';
  return h('details', { class: 'panel run', open: newest },
    h('summary', {}, h('span', { class: 'turn' }, icon('chevron')), pill(result.status, good ? 'good' : 'bad'),
      h('span', { class: 'num' }, counts.total ? `${counts.passed} of ${counts.total} passed` : `exit code ${result.exit_code ?? '–'}`),
      h('span', { class: 'quiet small num' }, `attempt ${result.attempt} · ${span(result.duration_ms)}`)),
    h('div', { class: 'body fields' },
      counts.total > 0 && testBar(counts),
      h('p', { class: 'small' }, h('code', {}, result.command.join(' '))),
      result.failures.length > 0 && h('section', {}, h('h3', {}, plural(result.failures.length, 'test'), ' did not pass'),
        h('ul', { class: 'failures' }, result.failures.map((one) => h('li', {}, h('code', {}, one.name), h('pre', {}, one.message))))),
      h('section', {}, h('h3', {}, 'Output'), h('pre', { class: 'code', tabindex: '0' }, result.output || '(nothing)'))));
}

export function tests({ id }) {
  const node = h('div');
  const read = () => loaded(node, () => api.tests(id), (rows) => (rows.length
    ? h('div', { class: 'stack' }, [...rows].reverse().map((result, at) => run(result, at === 0)))
    : empty('flask', 'No test run yet', h('p', {}, 'Windlass runs the tests itself, after the agent says that it is done.'))));
  read();
  return { node, changed: read };
}
