/** Microphones: opening one, and the list to choose from. */

import { CallProblem, microphoneProblem } from './problem.js';

/**
 * What the browser does to a microphone's sound. All of it, unless something is false; without echo cancellation the agent hears itself
 * through loudspeakers.
 * @typedef {{echoCancellation?: boolean, noiseSuppression?: boolean, autoGainControl?: boolean}} Processing
 */

/**
 * Open a microphone.
 * @param {string} [deviceId] the browser's choice when empty
 * @param {Processing} [processing]
 * @returns {Promise<MediaStream>}
 * @throws {CallProblem}
 */
export async function openMicrophone(deviceId = '', processing = {}) {
  if (!globalThis.isSecureContext) {
    throw new CallProblem('insecure_context', 'The page was not loaded over HTTPS or from this machine.');
  }
  if (!navigator.mediaDevices?.getUserMedia || !globalThis.RTCPeerConnection) {
    throw new CallProblem('not_supported', 'The browser has no WebRTC.');
  }
  /** @type {MediaTrackConstraints} */
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1, ...processing };
  if (deviceId) audio.deviceId = { exact: deviceId };
  try {
    return await navigator.mediaDevices.getUserMedia({ audio });
  } catch (error) {
    throw microphoneProblem(error);
  }
}

/** @type {AudioContext | undefined} */
let quiet;

/** A stream of silence in place of a microphone, for a call in which everything is typed. No permission is asked for. */
export function silence() {
  if (!globalThis.RTCPeerConnection) throw new CallProblem('not_supported', 'The browser has no WebRTC.');
  quiet ??= new AudioContext();
  quiet.resume().catch(() => undefined);
  return quiet.createMediaStreamDestination().stream;
}

/**
 * The microphones there are. Names are empty until the person has allowed one.
 * @returns {Promise<{id: string, name: string}[]>}
 */
export async function listMicrophones() {
  if (!navigator.mediaDevices?.enumerateDevices) return [];
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices
    .filter((device) => device.kind === 'audioinput' && device.deviceId !== '')
    .map((device) => ({ id: device.deviceId, name: device.label }));
}

/** @param {MediaStream | null} stream */
export function closeStream(stream) {
  stream?.getTracks().forEach((track) => track.stop());
}
