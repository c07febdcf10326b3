// A Chromium whose microphone hears a WAV file, for the programs beside this file.
import { chromium } from 'playwright-core';

/** @param {string} folder of its profile @param {string} microphone the file @param {string[]} more options of Chromium */
export const opened = (folder, microphone, ...more) => chromium.launchPersistentContext(folder, {
  executablePath: process.env.CHROMIUM,
  headless: true,
  viewport: { width: 1280, height: 800 },
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream',
    `--use-file-for-fake-audio-capture=${microphone}`, '--autoplay-policy=no-user-gesture-required', ...more,
  ],
});
