// Opens the page as agents of some languages would have it, then has it speak each of its own, and returns what it says. URL CODE ...
/** What the server tells of an agent's languages, instead of its own. @type {Record<string, string[] | null>} */
const AGENTS = { own: null, german: ['de'], brazilian: ['pt-BR', 'en'], japanese: ['ja'] };

const shown = (page) => page.evaluate(async () => {
  const { milliseconds, seconds } = await import('/words.js');
  return {
    language: document.documentElement.lang,
    call: document.getElementById('call-text').textContent,
    status: document.getElementById('status-text').textContent,
    written: [...document.querySelectorAll('[data-word]')].map((place) => place.textContent),
    figures: [milliseconds(1234), seconds(1234)],
    tooWide: document.documentElement.scrollWidth > innerWidth,
  };
});

export default async function words(browser, url, ...codes) {
  const pages = {};
  let languages = null;
  const page = await browser.open('about:blank', { viewport: { width: 390, height: 844 }, locale: 'en-GB' });
  page.on('console', (line) => line.type() === 'error' && browser.errors.push(line.text()));
  await page.route('**/v1/voiceagent/about', async (route) => {
    const told = await (await route.fetch()).json();
    await route.fulfill({ json: { ...told, ...(languages && { languages }) } });
  });
  for (const [name, told] of Object.entries(AGENTS)) {
    languages = told;
    await page.goto(url);
    await page.waitForSelector('#about:not([hidden])');
    pages[name] = await shown(page);
  }
  for (const code of codes) {
    await page.evaluate(async (wanted) => (await import('/words.js')).speak([wanted]), code);
    pages[code] = await shown(page);
  }
  return { pages };
}
