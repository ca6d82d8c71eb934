/**
 * Serves and connects in the network where it was started: of a pod, of a node, or outside. There are no retries, and every
 * request uses a new connection. See protocol.ts.
 */
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { realClock } from '#apimachinery/clock.js';
import type {
  AskOrder,
  Failure,
  KeepAskingOrder,
  Order,
  Report,
  ServeOrder,
  Target,
} from '#test/e2e/traffic/protocol.js';

const request = 'GET /cgi-bin/who HTTP/1.0\r\n\r\n';

class Tally {
  readonly answers: Record<string, number> = {};
  readonly clients = new Set<string>();
  readonly failures: Failure[] = [];

  /** False when it failed. */
  async ask(target: Target, timeoutMs: number): Promise<boolean> {
    const at = realClock.now();
    try {
      const [name = '', client = ''] = (await askOnce(target, timeoutMs)).split(' ');
      if (name === '') throw new Error('nothing was answered');
      this.answers[name] = (this.answers[name] ?? 0) + 1;
      this.clients.add(plainAddress(client));
      return true;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      this.failures.push({ target, at, why: code ?? message });
      return false;
    }
  }

  get report(): Report {
    return { answers: this.answers, clients: [...this.clients], failures: this.failures };
  }
}

/** The last line of the answer. */
function askOnce(target: Target, timeoutMs: number): Promise<string> {
  return target.protocol === 'TCP' ? askByTcp(target, timeoutMs) : askByUdp(target, timeoutMs);
}

function askByTcp({ address, port }: Target, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const socket = connect({ host: address, port }, () => socket.write(request));
    const timer = realClock.setTimer(() => socket.destroy(new Error('timeout')), timeoutMs);
    socket.setEncoding('utf8').on('data', (part: string) => {
      said += part;
    });
    socket.once('error', reject);
    socket.once('close', () => {
      timer.cancel();
      resolve(said.trimEnd().split('\n').at(-1) ?? '');
    });
  });
}

function askByUdp({ address, port }: Target, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    const end = (act: () => void) => {
      timer.cancel();
      socket.close();
      act();
    };
    const timer = realClock.setTimer(() => end(() => reject(new Error('timeout'))), timeoutMs);
    socket.once('error', (error) => end(() => reject(error)));
    socket.once('message', (message) => end(() => resolve(message.toString())));
    // Connected, so that the kernel reports a closed port.
    socket.connect(port, address, () => socket.send(request));
  });
}

/** An address without brackets and without the IPv4 prefix of dual-stack sockets. */
function plainAddress(address: string): string {
  return address.replace(/^\[|\]$/g, '').replace(/^::ffff:/, '');
}

async function serve({ name, tcp, udp }: ServeOrder): Promise<Report> {
  const listening = tcp.map((port) => {
    // Sends nothing before the request, like an HTTP server.
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.end(`${name} ${plainAddress(socket.remoteAddress ?? '')}\n`));
    });
    return new Promise<void>((resolve) => server.listen(port, '::', resolve));
  });
  const bound = udp.flatMap((port) =>
    (['udp4', 'udp6'] as const).map((type) => {
      const socket = createSocket({ type, ipv6Only: type === 'udp6' });
      socket.on('message', (_, from) => socket.send(`${name} ${from.address}`, from.port, from.address));
      return new Promise<void>((resolve) => socket.bind(port, () => resolve()));
    }),
  );
  await Promise.all([...listening, ...bound]);
  return new Tally().report;
}

async function ask({ expect, least, target, timeoutMs, tries }: AskOrder): Promise<Report> {
  const tally = new Tally();
  for (let count = 0; count < tries; count++) {
    if (count >= least && expect.every((name) => name in tally.answers)) break;
    // A server that does not answer will not answer the next request either.
    if (!(await tally.ask(target, timeoutMs))) break;
  }
  return tally.report;
}

let asking: { readonly tally: Tally; readonly stop: AbortController; readonly ended: Promise<unknown> } | undefined;

async function keepAsking({ pauseMs, targets, timeoutMs }: KeepAskingOrder): Promise<Report> {
  const tally = new Tally();
  const stop = new AbortController();
  const ended = Promise.all(
    targets.map(async (target) => {
      while (!stop.signal.aborted) {
        await tally.ask(target, timeoutMs);
        await realClock.sleep(pauseMs, stop.signal);
      }
    }),
  );
  asking = { tally, stop, ended };
  return new Tally().report;
}

async function report(): Promise<Report> {
  if (asking === undefined) throw new Error('nothing is being asked');
  asking.stop.abort();
  await asking.ended;
  return asking.tally.report;
}

function act(order: Order): Promise<Report> {
  switch (order.kind) {
    case 'serve':
      return serve(order);
    case 'ask':
      return ask(order);
    case 'keep-asking':
      return keepAsking(order);
    case 'report':
      return report();
    default:
      return order satisfies never;
  }
}

const lines = createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  const { id, order } = JSON.parse(line) as { id: number; order: Order };
  process.stdout.write(`${JSON.stringify({ id, report: await act(order) })}\n`);
});
// The parent process has ended.
lines.once('close', () => process.exit());
