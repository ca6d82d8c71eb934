/** The API server as a process with workers, on an etcd of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from '#apimachinery/clock.js';
import { startEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export class ServerProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  readonly port: number;
  readonly #ca: string;
  #log = '';

  constructor(child: ChildProcess, port: number, ca: string) {
    this.child = child;
    this.port = port;
    this.#ca = ca;
    // Wait until its log is complete.
    this.exited = once(child, 'close');
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log += text;
    });
  }

  get log(): string {
    return this.#log;
  }

  /** Over a connection of its own. Rejects if it breaks off. */
  async ask(path: string, method = 'GET', body?: unknown): Promise<Answer> {
    const response = await this.open(path, method, body);
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += String(part);
    return { status: response.statusCode ?? 0, text };
  }

  /** The response as a stream. */
  open(path: string, method = 'GET', body?: unknown): Promise<IncomingMessage> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { authorization: 'Bearer secret', 'content-type': type };
    const target = { host: '127.0.0.1', port: this.port, ca: this.#ca, agent: false, path, method, headers };
    return new Promise((resolve, reject) => {
      const outgoing = request(target, resolve);
      outgoing.on('error', reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** The value of a series, by its name with labels. */
  async metric(series: string): Promise<number> {
    const { text } = await this.ask('/metrics');
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1));
  }

  /** Retries until the condition holds, even while the server does not respond. */
  async until(what: () => Promise<boolean> | boolean): Promise<void> {
    for (;;) {
      if (this.child.exitCode !== null) throw new Error(this.#log);
      if (await Promise.resolve(what()).catch(() => false)) return;
      await realClock.sleep(50);
    }
  }
}

export interface StartOptions {
  readonly workers: number;
  readonly teardown: (task: () => Promise<void>) => void;
  readonly argv?: readonly string[];
}

export async function startServerProcess({ workers, teardown, argv = [] }: StartOptions): Promise<ServerProcess> {
  const etcd = await startEtcd();
  teardown(() => etcd.stop());
  const directory = await mkdtemp(join(tmpdir(), 'workers-'));
  teardown(() => rm(directory, { recursive: true }));
  const file = (name: string) => join(directory, name);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(file('tokens.csv'), 'secret,admin,1,"system:masters"\n');
  await writeFile(file('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('main.js', import.meta.url)),
      ...['--etcd-servers', etcd.endpoint, '--bind-address', '127.0.0.1', '--secure-port', String(port)],
      ...['--cert-dir', file('certs'), '--token-auth-file', file('tokens.csv'), '--authorization-mode', 'RBAC'],
      ...['--service-account-issuer', 'https://127.0.0.1', '--service-account-signing-key-file', file('sa.key')],
      ...['--workers', String(workers), ...argv],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let server = new ServerProcess(child, port, '');
  /** For a process that ends without teardown. */
  const killNow = () => void child.kill('SIGKILL');
  process.on('exit', killNow);
  teardown(async () => {
    process.off('exit', killNow);
    if (child.exitCode === null) child.kill('SIGKILL');
    await server.exited;
  });
  await server.until(async () => (await readFile(join(file('certs'), 'apiserver.crt'), 'utf8')).includes('END'));
  server = new ServerProcess(child, port, await readFile(join(file('certs'), 'apiserver.crt'), 'utf8'));
  await server.until(async () => (await server.ask('/readyz')).status === 200);
  await server.until(() => server.log.split('"worker serves"').length > workers);
  return server;
}
