// One agent plans and another executes: the plan is shown in the side column and in the timeline, as text.

import { appendFileSync, writeFileSync } from 'node:fs';
import { audit } from './audit.mjs';
import { assert, assertEqual, screenshot, test, waitForLoaded } from './harness.mjs';

const { WORLD } = process.env;
const STEPS = ['Write `done.txt`', 'Say <b>so</b> \u202eloudly', 'A step with a-very-long-word-'.padEnd(300, 'on-and-')];
const PLAN = { plan: STEPS, coder_prompt: 'Write done.txt.', tests: ['done.txt is there'] };

const steps = (page) => page.locator('.task-side .plan li > :last-child').allInnerTexts();

await test(async ({ app, browser }) => {
  writeFileSync(`${WORLD}/thinker.json`, JSON.stringify({ turns: [{ or_more: true, answer: [{ json: PLAN }] }] }));
  appendFileSync(`${WORLD}/named.toml`,
    `[agents.thinker]\nbackend = "mock"\nscript = "${WORLD}/thinker.json"\n[composites.pair]\nkind = "plan_execute"\nnodes = ["thinker", "player"]\n`);
  await app.serve();
  const page = await browser.open();
  await app.run('task', 'add', 'Do it in steps', '--agent', 'composite/profile/pair');
  await browser.navigate(page, '/tasks/1');
  await page.locator('.proof').waitFor();
  const expected = ['Write `done.txt`', 'Say <b>so</b> \\u{202e}loudly', STEPS[2]];
  assertEqual(await steps(page), expected, 'the plan in the side column');
  assert((await page.locator('.proof').innerText()).includes('the tests passed'), 'no test count is shown if the test runner reports none');
  const item = page.locator('.item[data-kind="plan"]');
  assert((await item.innerText()).includes('Plan: 3 steps'), `the plan in the timeline: ${await item.innerText()}`);

  // The plan is the same after a reload.
  await page.reload();
  await page.locator('.proof').waitFor();
  assertEqual(await steps(page), expected, 'the plan after a reload');
  for (const [theme, width] of [['light', 1440], ['dark', 390]]) {
    const themedPage = await browser.open({ theme, width });
    await browser.navigate(themedPage, '/tasks/1');
    await waitForLoaded(themedPage);
    await themedPage.locator('.plan').first().waitFor();
    await screenshot(themedPage, `plan-${theme}-${width}`);
    assertEqual(await themedPage.evaluate(audit), [], `the plan, ${theme}, ${width} wide`);
  }
});
