// Calls from a page whose UDP goes nowhere, and returns what the page says of the way that the call took. URL
import { hangUp, state } from './calls.mjs';

/** Has the server's answers name a port where nobody is. */
const loses = (page) => page.addInitScript(() => {
  const settle = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function nowhere(answer) {
    const sdp = answer.sdp.replaceAll(/^(a=candidate:\S+ \d \S+ \d+ \S+) \d+/gm, '$1 9');
    return settle.call(this, { ...answer, sdp });
  };
});

export default async function noUdp(browser, url) {
  const page = await browser.open(url, { before: loses });
  await page.click('#call');
  await state(page, 'live');
  await page.waitForSelector('#transport', { state: 'visible' });
  const note = await page.innerText('#transport');
  await hangUp(page);
  return { note };
}
