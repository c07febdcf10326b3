/** Microphones: opening one, and the list to choose from. */

import { CallProblem, microphoneProblem } from './problem.js';

/**
 * Open a microphone with echo cancellation, so that the agent does not hear itself through the speakers.
 * @param {string} [deviceId] the browser's choice when empty
 * @returns {Promise<MediaStream>}
 * @throws {CallProblem}
 */
export async function openMicrophone(deviceId = '') {
  if (!globalThis.isSecureContext) {
    throw new CallProblem('insecure_context', 'The page was not loaded over HTTPS or from this machine.');
  }
  if (!navigator.mediaDevices?.getUserMedia || !globalThis.RTCPeerConnection) {
    throw new CallProblem('not_supported', 'The browser has no WebRTC.');
  }
  /** @type {MediaTrackConstraints} */
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 };
  if (deviceId) audio.deviceId = { exact: deviceId };
  try {
    return await navigator.mediaDevices.getUserMedia({ audio });
  } catch (error) {
    throw microphoneProblem(error);
  }
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
