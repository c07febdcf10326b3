// The browsers that the programs beside this file drive, by one interface: stock Chromium, and stock Firefox over WebDriver BiDi.
// Pages are Playwright's; what differs between the two is here: the microphone, who may use it, and the colour scheme.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import playwright from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const DESKTOP = { width: 1280, height: 800 };
const CHROMIUM = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--use-fake-device-for-media-stream', '--autoplay-policy=no-user-gesture-required',
  '--allow-loopback-in-peer-connection', '--disable-features=LocalNetworkAccessChecks',
];
// Without a sound device Firefox starts no AudioContext, unless it has a mock of one.
const FIREFOX = {
  'media.navigator.streams.fake': true, 'media.cubeb.force_mock_context': true,
  'media.autoplay.default': 0, 'media.autoplay.blocking_policy': 0,
  'media.peerconnection.ice.loopback': true, 'media.peerconnection.ice.obfuscate_host_addresses': false,
  'ui.prefersReducedMotion': 1,
};
/**
 * What Firefox reports as an error that no page threw: what it refuses another origin, the icon that it asks for by itself, and the style
 * `body {}`, which Playwright puts into pages.
 */
const NOT_THROWN = ['The Same Origin Policy disallows', '/favicon.ico', 'sha256-YjaKGiklmzC6wjXA513HAMmzus8VE61XCOT+SmwNZWA='];
const SCHEME = 'layout.css.prefers-color-scheme.content-override';
const SCHEMES = { dark: 0, light: 1 };
const MICROPHONE = 'permissions.default.microphone';
const ALLOW = 1;
const BLOCK = 2;
const LOOK_EVERY_MS = 40;
/** The running browsers, by what they were started with. @type {Map<string, Promise<any>>} */
const running = new Map();

/**
 * @typedef {object} Opening
 * @property {boolean} [microphone] whether pages may use it: true unless false
 * @property {string[]} [permissions] what else they may do; only Chromium asks for it
 * @property {{width: number, height: number}} [viewport]
 * @property {'light' | 'dark'} [colorScheme]
 * @property {string} [locale]
 * @property {boolean} [hasTouch]
 * @property {boolean} [axe] whether axe is in the page
 * @property {boolean} [speaks] whether what `speak` says is heard by its microphone, and nothing else
 * @property {(page: any) => Promise<void>} [before] what is done to the page before it is loaded
 */

/** What one program has of a browser: pages of its own in a process that others use before and after it. */
export class Browser {
  /** @param {string} name 'chromium' or 'firefox' @param {string} path @param {string[]} [options] further ones, which Chromium takes */
  constructor(name, path, options = []) {
    this.name = name;
    /** What the pages have thrown. @type {string[]} */
    this.errors = [];
    this._path = path;
    this._options = options;
    this._isFirefox = name === 'firefox';
    this._inner = null;
    /** @type {any[]} */
    this._contexts = [];
    /** @type {Browser[]} */
    this._others = [];
  }

  /** Chromium with further options, for the same program. @param {string[]} options */
  having(...options) {
    const other = new Browser(this.name, this._path, options);
    other.errors = this.errors;
    this._others.push(other);
    return other;
  }

  /** A page of its own context, loaded. @param {string} url @param {Opening} [how] */
  async open(url, { microphone = true, permissions = [], colorScheme = 'light', axe = false, speaks = false, before, ...how } = {}) {
    this._inner = await launched(this._path, this._isFirefox, this._options);
    const allowed = this._isFirefox ? [] : [...permissions, ...(microphone ? ['microphone'] : [])];
    const context = await this._inner.newContext({ viewport: DESKTOP, ...how, permissions: allowed, colorScheme, reducedMotion: 'reduce' });
    this._contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    const waits = page.waitForFunction.bind(page);
    // Unless it is told how often, Playwright looks in each frame, and so has the browser draw 60 of them a second.
    page.waitForFunction = (isSo, value, options) => waits(isSo, value, { polling: LOOK_EVERY_MS, ...options });
    page.on('pageerror', ({ message }) => NOT_THROWN.some((part) => message.includes(part)) || this.errors.push(message));
    if (axe) await page.addInitScript({ path: AXE });
    if (speaks) await page.addInitScript(listens);
    if (this._isFirefox) {
      await this._prefer(MICROPHONE, microphone ? ALLOW : BLOCK);
      await this._prefer(SCHEME, SCHEMES[colorScheme]);
    }
    await before?.(page);
    await page.goto(url);
    return page;
  }

  /** Show the page by day or by night; in Firefox all pages. @param {any} page @param {'light' | 'dark'} colorScheme */
  async shine(page, colorScheme) {
    if (this._isFirefox) await this._prefer(SCHEME, SCHEMES[colorScheme]);
    else await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  }

  /** What its pages show now. @returns {Promise<string[]>} */
  async shown() {
    const pages = this._contexts.flatMap((context) => context.pages());
    const shown = await Promise.all(pages.map(async (page) => {
      const text = await page.evaluate(() => [document.body.dataset.state, document.body.innerText].join(': ')).catch(String);
      return `${page.url()} ${text}`;
    }));
    return [...shown, ...(await Promise.all(this._others.map((other) => other.shown()))).flat()];
  }

  /** Close its pages. */
  async end() {
    await Promise.allSettled([...this._contexts.map((context) => context.close()), ...this._others.map((other) => other.end())]);
  }

  /** Set one of Firefox's preferences. WebDriver BiDi has no command for it yet, but reaches what Firefox itself runs. @param {string} name @param {number} value */
  async _prefer(name, value) {
    const session = this._inner._connection.toImpl(this._inner)._browserSession;
    this._chrome ??= (await session.send('browsingContext.getTree', { 'moz:scope': 'chrome' })).contexts[0].context;
    const expression = `Services.prefs.setIntPref(${JSON.stringify(name)}, ${value})`;
    const { type } = await session.send('script.evaluate', { expression, target: { context: this._chrome }, awaitPromise: false });
    if (type !== 'success') throw new Error(`Firefox did not set ${name}`);
  }
}

/** A browser that runs with these options; it is started where there is none. */
async function launched(path, isFirefox, options) {
  const key = [path, ...options].join(' ');
  if (!(await running.get(key)?.catch(() => null))?.isConnected()) {
    const common = { executablePath: path, headless: true };
    running.set(key, isFirefox
      ? playwright._bidiFirefox.launch({ ...common, firefoxUserPrefs: FIREFOX, args: ['--remote-allow-system-access'] })
      : playwright.chromium.launch({ ...common, args: [...CHROMIUM, ...options] }));
  }
  return running.get(key);
}

/** Close all browsers. */
export async function closed() {
  await Promise.all([...running.values()].map(async (browser) => (await browser).close()));
}

/** Say a WAV file into the microphone of a page that was opened to speak. @param {any} page @param {string} file */
export const speak = (page, file) => page.evaluate((wav) => globalThis.speak(wav), readFileSync(file).toString('base64'));

/** Has the page's microphone hear nothing but what `speak` says. */
function listens() {
  const devices = globalThis.navigator.mediaDevices;
  if (!devices) return;
  const open = devices.getUserMedia.bind(devices);
  let context;
  let ears = [];
  devices.getUserMedia = async (asked) => {
    (await open(asked)).getTracks().forEach((track) => track.stop());
    context ??= new AudioContext();
    ears.push(context.createMediaStreamDestination());
    return ears.at(-1).stream;
  };
  globalThis.speak = async (wav) => {
    const source = context.createBufferSource();
    source.buffer = await context.decodeAudioData(Uint8Array.from(atob(wav), (each) => each.charCodeAt(0)).buffer);
    ears = ears.filter((ear) => ear.stream.active);
    for (const ear of ears) source.connect(ear);
    source.start();
  };
}
