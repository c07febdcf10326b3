// Looks at a page as a person might, on a desktop and a telephone, by day and by night: axe finds nothing, nothing is wider than the
// window, no text is cut. Takes screenshots where a folder for them is named.
//
// A state that is looked at in both browsers is shared between them: Chromium shows it on a desktop by day and on a telephone by night,
// Firefox on a desktop by night and on a telephone by day. What axe finds in the elements, their names and their roles is the same in both,
// so it is asked in Chromium; what depends on how a browser draws them is asked in each.

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 375, height: 720 };
const SIZES = { desktop: DESKTOP, phone: PHONE };
const SHARES = { chromium: { desktop: ['light'], phone: ['dark'] }, firefox: { desktop: ['dark'], phone: ['light'] } };
const DRAWN = ['color-contrast', 'scrollable-region-focusable'];
const ALL = { desktop: ['light', 'dark'], phone: ['dark', 'light'] };
const TEXT = '.times th, .times td, .times span, .status span, .problem *, td, th, dd, .what, .brand span';

export class Looks {
  /**
   * @param {import('./browser.mjs').Browser} browser
   * @param {string} folder of the screenshots, or '-'
   * @param {{sizes?: Record<string, {width: number, height: number}>, isShared?: boolean}} [how] at which sizes pages are looked at, and
   *   whether another browser looks at them, too
   */
  constructor(browser, folder, { sizes = SIZES, isShared = false } = {}) {
    this._sizes = sizes;
    this._schemes = isShared && folder === '-' ? SHARES[browser.name] : ALL;
    this._rules = isShared && browser.name === 'firefox' ? DRAWN : [];
    this._browser = browser;
    this._folder = folder;
    /** What kept somebody out. @type {string[]} */
    this.violations = [];
  }

  /**
   * Look at the page as it is now, and leave it as it was.
   * @param {any} page
   * @param {string} state its name
   * @param {(size: string) => Promise<string[]>} [also] what else is wrong at a size
   */
  async at(page, state, also) {
    const before = page.viewportSize();
    let scheme = 'light';
    for (const [size, viewport] of Object.entries(this._sizes)) {
      await page.setViewportSize(viewport);
      const wrong = await page.evaluate(shape, TEXT);
      for (const [at, next] of this._schemes[size].entries()) {
        if (next !== scheme) await this._browser.shine(page, next);
        scheme = next;
        wrong.push(...(await page.evaluate(violations, at ? ['color-contrast'] : this._rules)).map((each) => `${scheme} ${each}`));
        if (this._folder !== '-') await page.screenshot({ path: `${this._folder}/${this._browser.name}-${state}-${size}-${scheme}.png` });
      }
      if (also) wrong.push(...(await also(size)));
      this.violations.push(...wrong.map((each) => `${state} ${size}: ${each}`));
    }
    if (scheme !== 'light') await this._browser.shine(page, 'light');
    await page.setViewportSize(before);
  }
}

/** What axe finds. @param {string[]} rules by which it looks; all if there are none: most know no colours, and need to look once */
async function violations(rules) {
  const found = await globalThis.axe.run(document, { resultTypes: ['violations'], ...(rules.length ? { runOnly: rules } : {}) });
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id} ${node.target} ${node.failureSummary}`));
}

/** What does not fit. @param {string} text the selector of what is looked at */
function shape(text) {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const cut = [...document.querySelectorAll(text)].filter((part) => part.checkVisibility() && part.textContent
    && part.clientWidth > 1 && part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflow !== 'visible');
  return [...(wide > 0 ? [`${wide} px too wide`] : []), ...cut.map((part) => `cut: ${part.textContent}`)];
}
