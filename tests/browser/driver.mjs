// Runs the programs beside this file, one after another, in browsers that stay open from one to the next. On stdin it is told of each by a
// line of JSON: {browser: 'chromium' | 'firefox', path, program, arguments}. On stdout it answers each by a line: {seen, errors},
// with what the pages threw, or {failed}, with what they showed then. It ends with stdin.
//
// A program exports a function that takes a `Browser` (browser.mjs) and the arguments, and returns what it saw.
import { createInterface } from 'node:readline';
import { Browser, closed } from './browser.mjs';

/** @param {{browser: string, path: string, program: string, arguments: string[]}} told */
async function ran({ browser: name, path, program, arguments: given }) {
  const browser = new Browser(name, path);
  try {
    const { default: sees } = await import(program);
    return { seen: await sees(browser, ...given), errors: browser.errors };
  } catch (error) {
    return { failed: [error.stack, ...(await browser.shown())].join('\n') };
  } finally {
    await browser.end();
  }
}

// What a program that has failed still waited for.
process.on('unhandledRejection', (reason) => console.error(reason));
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await ran(JSON.parse(line));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await closed();
