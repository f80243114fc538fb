// The usage page shows what model calls cost, by day and by agent or person; the evaluations page compares agents.

import { assert, assertEqual, screenshot, test } from './harness.mjs';

async function ask(app, token, stream) {
  const response = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'upstream', stream, messages: [{ role: 'user', content: 'Ready?' }] }),
  });
  assertEqual(response.status, 200, 'the model answers');
  await response.text();
}

await test(async ({ app, browser }) => {
  await app.serve('--no-worker');
  const page = await browser.open();
  await browser.navigate(page, '/usage');
  await page.getByText('No model calls in this time').waitFor();
  await browser.navigate(page, '/evaluations');
  await page.getByText('No evaluations yet').waitFor();

  const ann = (await app.run('token', 'create', 'ann', '--scope', 'models')).trim();
  await ask(app, ann, false);
  await ask(app, ann, true);
  await ask(app, app.token(), false);

  // The end of a call is stored after its response.
  const counted = async () => {
    const response = await fetch(`${app.url}/api/v1/usage/calls?by=agent`, { headers: { authorization: `Bearer ${app.token()}` } });
    const [row] = await response.json();
    return row.calls === 3 && row.calls_not_done === 0;
  };
  while (!(await counted())) await new Promise((resolve) => { setTimeout(resolve, 100); });

  const calls = page.locator('[data-part="calls"]');
  const row = (name) => calls.locator('.bars tbody tr', { hasText: name });
  await browser.navigate(page, '/usage');
  await row('upstream').waitFor();
  assertEqual(await row('upstream').locator('td').allTextContents(), ['3', '300', '30', '$0.03'], 'calls, input, output and cost');
  const today = new Date().toISOString().slice(0, 10);
  const column = calls.locator(`.day[data-day="${today}"]`);
  assertEqual(await column.locator('title').textContent(), `${today}: $0.03`, 'the cost of today');
  assert(Number(await column.locator('.column').getAttribute('height')) === 160, 'today has the highest column');
  assertEqual(await calls.locator('.day').count(), 30, 'a column for each day');
  await page.getByLabel('Group by').selectOption('person');
  await row('ann').waitFor();
  assertEqual(await row('ann').locator('td').first().textContent(), '2', 'the calls of ann');
  await page.getByLabel('Period').selectOption('7');
  await calls.locator('.day').nth(7).waitFor({ state: 'detached' });
  await page.getByLabel('Chart').selectOption('calls');
  await page.getByText('Calls by day, at most 3').waitFor();
  await screenshot(page, 'usage-calls');

  await app.run('eval', 'eval.toml', '--agent', 'player', '--agent', 'idle', '--repeats', '2');
  await browser.navigate(page, '/evaluations');
  const agent = page.locator('.evaluation .bars tr[data-agent="idle"]');
  await agent.waitFor();
  assert((await agent.textContent()).includes('0 of 4'), await agent.textContent());
  assertEqual(await page.locator('.evaluation .results tbody tr').count(), 2, 'a row for each task');
  const [range] = await agent.locator('.range').evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width));
  assert(range > 0.45 && range < 0.53, `the interval from 0 to 49 % is ${range} of the width`);
  await screenshot(page, 'evaluations');

  // Who sees one project only does not see what belongs to none.
  const restricted = (await app.run('token', 'create', 'one', '--scope', 'read', '--project', 'project')).trim();
  const read = async (path) => (await fetch(`${app.url}/api/v1${path}`, { headers: { authorization: `Bearer ${restricted}` } })).json();
  assertEqual(await read('/usage/calls?by=agent'), [], 'no calls without a project');
  assertEqual(await read('/evaluations'), [], 'no evaluations');
});
