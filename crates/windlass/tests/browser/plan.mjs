// One agent plans and another does it: the plan stands beside the task and in its timeline, as text.

import { appendFileSync, writeFileSync } from 'node:fs';
import { audit } from './audit.mjs';
import { check, same, settled, shot, test } from './world.mjs';

const { WORLD } = process.env;
const STEPS = ['Write `done.txt`', 'Say <b>so</b> \u202eloudly', 'A step with a-very-long-word-'.padEnd(300, 'on-and-')];
const PLAN = { plan: STEPS, coder_prompt: 'Write done.txt.', tests: ['done.txt is there'] };

const steps = (page) => page.locator('.task-side .plan li > :last-child').allInnerTexts();

await test(async ({ world, browser }) => {
  writeFileSync(`${WORLD}/thinker.json`, JSON.stringify({ turns: [{ or_more: true, answer: [{ json: PLAN }] }] }));
  appendFileSync(`${WORLD}/named.toml`,
    `[agents.thinker]\nbackend = "mock"\nscript = "${WORLD}/thinker.json"\n[composites.pair]\nkind = "plan_execute"\nnodes = ["thinker", "player"]\n`);
  await world.serve();
  const page = await browser.open();
  await world.run('task', 'add', 'Do it in steps', '--agent', 'composite/profile/pair');
  await browser.go(page, '/tasks/1');
  await page.locator('.proof').waitFor();
  const words = ['Write `done.txt`', 'Say <b>so</b> \\u{202e}loudly', STEPS[2]];
  same(await steps(page), words, 'the plan beside the task');
  check((await page.locator('.proof').innerText()).includes('the tests passed'), 'no count is made up where the runner gives none');
  const item = page.locator('.item[data-kind="plan"]');
  check((await item.innerText()).includes('Plan: 3 steps'), `the plan in the timeline: ${await item.innerText()}`);

  // Read again, it is the same plan.
  await page.reload();
  await page.locator('.proof').waitFor();
  same(await steps(page), words, 'the plan after a reload');
  for (const [theme, width] of [['light', 1440], ['dark', 390]]) {
    const looked = await browser.open({ theme, width });
    await browser.go(looked, '/tasks/1');
    await settled(looked);
    await looked.locator('.plan').first().waitFor();
    await shot(looked, `plan-${theme}-${width}`);
    same(await looked.evaluate(audit), [], `the plan, ${theme}, ${width} wide`);
  }
});
