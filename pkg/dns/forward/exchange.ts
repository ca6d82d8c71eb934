/** Sends a query to a server over UDP, and repeats it over TCP if the response was truncated. */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { flag } from '#dns/message/numbers.js';
import { isAnswerTo } from '#dns/message/query.js';

export interface Upstream {
  readonly address: string;
  readonly port: number;
}

/** Rejects without a response, and when `signal` aborts. */
export type Exchange = (upstream: Upstream, query: Buffer, signal: AbortSignal) => Promise<Buffer>;

export const exchange: Exchange = async (upstream, query, signal) => {
  const answer = await overUdp(upstream, query, signal);
  return (answer.readUInt16BE(2) & flag.truncated) === 0 ? answer : overTcp(upstream, query, signal);
};

/** A socket per query: the kernel assigns a random port, and drops packets of other hosts. */
function overUdp({ address, port }: Upstream, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    const end = () => {
      signal.removeEventListener('abort', abort);
      socket.close();
    };
    const fail = (error: unknown) => {
      end();
      reject(error);
    };
    const abort = () => fail(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    socket.once('error', fail);
    socket.on('message', (message) => {
      if (!isAnswerTo(message, query)) return;
      end();
      resolve(message);
    });
    // A connected socket also reports errors, such as an unreachable host.
    socket.connect(port, address, (error?: Error) => {
      if (error !== undefined) fail(error);
      else if (!signal.aborted) socket.send(query);
    });
  });
}

function overTcp({ address, port }: Upstream, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, signal });
    let received: Buffer = Buffer.alloc(0);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`${address} closed the connection`)));
    socket.on('data', (part) => {
      received = Buffer.concat([received, part]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = received.subarray(2, 2 + received.readUInt16BE(0));
      if (isAnswerTo(message, query)) resolve(message);
      else reject(new Error(`${address} answered something else`));
      socket.destroy();
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.write(Buffer.concat([length, query]));
  });
}
