// A network that can be cut: the ways of a page's calls to the server, and of its HTTP and WebSockets.
import dgram from 'node:dgram';
import net from 'node:net';

/** The way of one WebRTC connection from the browser to the server, until it is cut. Like a NAT, it has a port of its own for each port
 * of the browser: what the server answers to one of them reaches no other. */
class Way {
  constructor() {
    this.front = dgram.createSocket('udp4');
    this.backs = new Map();
  }

  async open(host, port) {
    this.front.on('message', (data, from) => {
      if (!this.isCut) this.backFor(from).send(data, port, host);
    });
    await new Promise((resolve) => { this.front.bind(0, host, resolve); });
    return this.front.address().port;
  }

  backFor({ address, port }) {
    const browser = `${address}:${port}`;
    const known = this.backs.get(browser);
    if (known) return known;
    const back = dgram.createSocket('udp4');
    back.on('message', (data) => { if (!this.isCut) this.front.send(data, port, address); });
    this.backs.set(browser, back);
    return back;
  }

  close() {
    [this.front, ...this.backs.values()].forEach((socket) => socket.close());
  }
}

/** Lead each call of a page over a way of its own, which is added to `ways`. */
export async function byOwnWays(page, ways) {
  await page.exposeFunction('ownWay', (host, port) => {
    const way = new Way();
    ways.push(way);
    return way.open(host, port);
  });
  await page.addInitScript(() => {
    const CANDIDATES = /a=candidate:.*\r\n/g;
    const { fetch: send } = globalThis;
    globalThis.fetch = (url, how) => send(url, how?.headers?.['Content-Type'] === 'application/sdp' ? { ...how, body: how.body.replace(CANDIDATES, '') } : how);
    const settle = RTCPeerConnection.prototype.setRemoteDescription;
    RTCPeerConnection.prototype.setRemoteDescription = async function settled({ type, sdp }) {
      const [line, host, port] = /a=candidate:\S+ 1 udp \d+ (\d+\.\d+\.\d+\.\d+) (\d+) typ host\r\n/.exec(sdp);
      const ours = line.replace(` ${host} ${port} `, ` ${host} ${await globalThis.ownWay(host, Number(port))} `);
      return settle.call(this, { type, sdp: sdp.replace(CANDIDATES, '').replaceAll('a=end-of-candidates\r\n', `${ours}a=end-of-candidates\r\n`) });
    };
  });
}

/** The way of HTTP and WebSockets to the server. What is sent while it is cut waits, as TCP has it. */
export class TcpWay {
  async open(url) {
    const { hostname, port } = new URL(url);
    this.pairs = new Set();
    this.refused = {};
    this.listener = net.createServer((front) => {
      if (this.isRefusing) {
        this.refuse(front);
        return;
      }
      const back = net.connect(Number(port), hostname);
      const pair = [front, back];
      this.pairs.add(pair);
      for (const [one, other] of [pair, [back, front]]) {
        one.on('data', (data) => other.write(data));
        one.on('error', () => other.destroy());
        one.on('close', () => { this.pairs.delete(pair); other.end(); });
      }
      if (this.isCut) pair.forEach((one) => one.pause());
    });
    await new Promise((resolve) => { this.listener.listen(0, hostname, resolve); });
    return `http://${hostname}:${this.listener.address().port}`;
  }

  cut() {
    this.isCut = true;
    this.pairs.forEach((pair) => pair.forEach((one) => one.pause()));
  }

  mend() {
    this.isCut = false;
    this.pairs.forEach((pair) => pair.forEach((one) => one.resume()));
  }

  /** Answer as a server does that lives and takes no call yet. */
  refuse(front) {
    front.on('error', () => {});
    front.once('data', (data) => {
      const head = data.toString();
      const path = /^\w+ ([^ ?]+)/.exec(head)[1];
      const asked = /^upgrade: websocket/im.test(head) ? 'WebSocket' : path;
      this.refused[asked] = (this.refused[asked] ?? 0) + 1;
      const status = path === '/healthz' ? '200 OK' : '503 Service Unavailable';
      front.end(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`);
    });
  }

  close() {
    this.listener.close();
    this.pairs.forEach((pair) => pair.forEach((one) => one.destroy()));
  }
}
