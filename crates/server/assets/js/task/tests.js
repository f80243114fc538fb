// All test runs, newest first.

import { api } from '../api.js';
import { h } from '../dom.js';
import { formatDuration, plural, splitFailure, testCounts } from '../text.js';
import { emptyState, loadInto, pill, testBar } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';

// The first assertion has the reason; the stack below it has the position.
function failureItem(failure) {
  const { assertion, rest } = splitFailure(failure.message);
  return h('li', {}, h('code', {}, failure.name), assertion && h('pre', { class: 'assertion' }, assertion),
    rest && h('details', { class: 'more' }, h('summary', {}, 'The whole message'), h('pre', {}, rest)));
}

function run(result, newest) {
  const { counts } = result;
  const good = result.status === 'passed';
  return h('details', { class: 'panel run', open: newest },
    h('summary', {}, h('span', { class: 'chevron' }, icon('chevron')), pill(result.status, good ? 'good' : 'bad'),
      h('span', { class: 'num' }, counts.total ? testCounts(counts) : `exit code ${result.exit_code ?? '–'}`),
      h('span', { class: 'muted small num' }, `attempt ${result.attempt} · ${formatDuration(result.duration_ms)}`)),
    h('div', { class: 'body fields' },
      counts.total > 0 && testBar(counts),
      h('p', { class: 'small' }, h('code', {}, result.command.join(' '))),
      result.failures.length > 0 && h('section', {}, h('h3', {}, plural(result.failures.length, 'failure'), result.failures.length < counts.failed + counts.errors && ` of ${counts.failed + counts.errors} shown`),
        h('ul', { class: 'failures' }, result.failures.map(failureItem))),
      h('section', {}, h('h3', {}, 'Output'), h('pre', { class: 'code', tabindex: '0' }, result.output || '(empty)'))));
}

export function tests({ id }) {
  const node = h('div');
  const refresh = () => loadInto(node, () => api.tests(id), (rows) => (rows.length
    ? h('div', { class: 'stack' }, [...rows].reverse().map((result, index) => run(result, index === 0)))
    : emptyState('flask', 'No test runs yet', h('p', {}, 'Windlass runs the tests when the agent has finished.'))));
  refresh();
  return { node, refresh };
}
