// What agents, tests and files say is shown as text: no markup, no command, nothing hidden, nothing fetched.

import { check, same, settled, test } from './world.mjs';

// Everything that is on the page to be read, with what stands in tooltips and labels.
const read = (page) => page.evaluate(() => {
  const words = [document.title, document.body.innerText, document.body.textContent];
  for (const node of document.querySelectorAll('*')) for (const { value } of node.attributes) words.push(value);
  return words.join('\n');
});

const unfold = (page) => page.evaluate(async () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  await new Promise(requestAnimationFrame);
});

const HIDES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/u;

// The same table as the terminal's (crates/core/src/visible.rs).
const TABLE = [
  ['plain\ttext\nnext', 'plain\ttext\nnext'],
  ['a\r\nb', 'a\nb'],
  ['over\rwritten', 'over\\u{d}written'],
  ['\u001b]52;c;aGk=\u0007', '\\u{1b}]52;c;aGk=\\u{7}'],
  ['\u009b31m', '\\u{9b}31m'],
  ['user\u202etxt.exe', 'user\\u{202e}txt.exe'],
  ['pass\u200bword', 'pass\\u{200b}word'],
  ['pass\u200dword', 'pass\\u{200d}word'],
  ['👩\u200d👧', '👩\u200d👧'],
  ['می\u200cخواهم', 'می\u200cخواهم'],
  ['\u{e0041}', '\\u{e0041}'],
];

await test(async ({ world, browser }) => {
  await world.serve();
  await world.run('task', 'add', '<img src=x onerror=pwn()> \u202etxt.exe \u001b[31mred', '--description', '<script>pwn()</script> ![x](http://elsewhere.invalid/x.png) [link](javascript:pwn())');
  const page = await browser.open();
  const shownAs = await page.evaluate(async (texts) => {
    const { visible } = await import('/js/text.js');
    return texts.map(visible);
  }, TABLE.map(([text]) => text));
  same(shownAs, TABLE.map(([, shown]) => shown), 'what hides is written out');
  await page.evaluate(() => { window.pwn = () => { window.pwned = true; }; });
  await page.locator('[data-column="completed"] .card, [data-column="blocked"] .card, [data-column="failed"] .card').first().waitFor();

  for (const path of ['/', '/tasks/1', '/tasks/1/changes', '/tasks/1/tests', '/tasks/1/attempts', '/tasks/1/traces', '/inbox', '/agents', '/traces', '/usage']) {
    await browser.go(page, path);
    await settled(page);
    await unfold(page);
    const words = await read(page);
    same(words.match(HIDES)?.[0]?.codePointAt(0), undefined, `${path} hides nothing`);
    same(await page.evaluate(() => [window.pwned, document.querySelectorAll('main script, main img, main a[href*="javascript"], main iframe, main [style*="url"]').length]), [null, 0], `${path} made nothing of it`);
  }

  await browser.go(page, '/tasks/1');
  await page.locator('.proof').waitFor();
  await unfold(page);
  const shown = await page.locator('body').innerText();
  for (const words of ['<img src=x onerror=pwn()>', '\\u{202e}txt.exe', '\\u{1b}[31mred', '<script>pwn()</script>', '\\u{1b}]52;c;aGk=\\u{7}', '<b>bold?</b>']) {
    check(shown.includes(words), `${JSON.stringify(words)} is shown as it is`);
  }
  check((await page.title()).includes('Windlass'), 'the title is ours');
});
