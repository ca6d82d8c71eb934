/** Sends raw requests as a front proxy that names the account, and collects the response until it falls silent. */
import { Agent, type RequestOptions, request } from 'node:https';
import type { Readable } from 'node:stream';
import type { Account } from '#test/fuzz/access/policy.js';
import type { World } from '#test/fuzz/access/world.js';

export interface RawRequest {
  readonly method: string;
  /** The request target as sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** A stream counts as complete after this silence. */
const quietMs = 25;

export class RawClient {
  readonly #agent: Agent;
  readonly #port: number;

  constructor({ server, pki }: World) {
    this.#port = server.address?.port ?? 0;
    const { certificate: cert, privateKey: key } = pki.frontProxyClient;
    this.#agent = new Agent({ cert, key, rejectUnauthorized: false, keepAlive: true, maxSockets: 1 });
  }

  close(): void {
    this.#agent.destroy();
  }

  send(account: Account, { method, target, headers, body }: RawRequest): Promise<RawAnswer> {
    const options: RequestOptions = {
      host: '127.0.0.1',
      port: this.#port,
      method,
      path: target,
      headers: {
        ...headers,
        ...(body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        'x-remote-user': account.name,
        ...(account.groups.length > 0 ? { 'x-remote-group': [...account.groups] } : {}),
      },
      agent: this.#agent,
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(options);
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        collect(incoming).then((text) => resolve({ status: incoming.statusCode ?? 0, body: text }), reject);
      });
      outgoing.on('upgrade', (incoming, socket, head) => {
        const done = (text: string) =>
          resolve({ status: incoming.statusCode ?? 0, body: head.toString('latin1') + text });
        collect(socket).then(done, reject);
      });
      outgoing.end(body);
    });
  }
}

function collect(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let timer: NodeJS.Timeout;
    const finish = () => {
      clearTimeout(timer);
      stream.destroy();
      resolve(Buffer.concat(parts).toString('latin1'));
    };
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(finish, quietMs);
    };
    wait();
    stream.on('data', (part: Buffer) => {
      parts.push(part);
      wait();
    });
    stream.on('end', finish);
    // A broken stream counts as complete too.
    stream.on('error', finish);
    stream.on('close', finish);
  });
}
