// Types through an agent's steps, and returns what the page shows of them. URL SCREENSHOT_FOLDER|- LINE ...
import { Looks } from './looks.mjs';

const shown = (page) => page.evaluate(() => ({
  hidden: document.getElementById('steps').hidden,
  agents: [...document.querySelectorAll('.agent-steps')].map((one) => [one.firstElementChild.textContent, one.open]),
  steps: [...document.querySelectorAll('[data-step]')].map((row) => row.dataset.step),
  current: [...document.querySelectorAll('[aria-current="step"]')].map((row) => row.dataset.step),
  seen: [...document.querySelectorAll('[data-step].seen')].map((row) => row.dataset.step),
  agent: document.getElementById('agent-name').textContent,
  known: Object.fromEntries([...document.querySelectorAll('dd.known')].map((place) => [place.dataset.value, place.textContent])),
  ways: document.querySelectorAll('.step-graph .way').length,
}));

export default async function steps(browser, url, folder, ...lines) {
  const looks = new Looks(browser, folder);
  const moments = [];
  const page = await browser.open(url, { axe: true });
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'live');
  await page.waitForSelector('[aria-current="step"]');
  moments.push(await shown(page));
  for (const line of lines) {
    const [text, step] = line.split('|');
    await page.fill('#message', text);
    await page.click('#send');
    await page.waitForFunction((wanted) => document.querySelector('[aria-current="step"]')?.dataset.step === wanted, step);
    moments.push(await shown(page));
  }
  await looks.at(page, 'steps');
  return { moments, violations: looks.violations };
}
