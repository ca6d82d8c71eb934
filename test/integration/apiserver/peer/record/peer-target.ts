/** Runs another implementation's API server as the target of cases. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { startEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';
import type { WireAnswer } from '#test/integration/apiserver/peer/answers.js';
import type { Step } from '#test/integration/apiserver/peer/case.js';
import { admin, credentialsFor } from '#test/integration/apiserver/peer/credentials.js';
import type { Target } from '#test/integration/apiserver/peer/run-cases.js';
import { ended } from '#test/integration/daemons/api.js';

const startTimeoutMs = 120_000;
const answerTimeoutMs = 100_000;

/** Runs with an etcd of its own until `lifetime` aborts. */
export async function peerTarget(lifetime: Pick<Test, 'teardown'>, program: string): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'peer-'));
  lifetime.teardown(() => rm(folder, { recursive: true, force: true }));
  const etcd = await startEtcd();
  lifetime.teardown(() => etcd.stop());
  const port = await freePort();
  const own = ['--etcd-servers', etcd.endpoint, '--secure-port', String(port), '--cert-dir', folder];
  const argv = [...(await credentialsFor(lifetime, dialect)), ...own];
  const child = spawn(program, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (part: Buffer) => {
    log = (log + part.toString()).slice(-20_000);
  });
  const killNow = () => child.kill('SIGKILL');
  process.on('exit', killNow);
  lifetime.teardown(async () => {
    killNow();
    await ended(child);
    process.off('exit', killNow);
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });
  lifetime.teardown(() => agent.destroy());
  const send = (step: Step) => sendTo({ port, agent }, step);
  for (const deadline = clock.monotonic() + startTimeoutMs; ; await clock.sleep(500)) {
    const ready = await send({ method: 'GET', path: '/readyz' }).catch(() => undefined);
    if (ready?.status === 200) return { send };
    if (clock.monotonic() > deadline || child.exitCode !== null) throw new Error(`the peer is not ready: ${log}`);
  }
}

function sendTo(
  { port, agent }: { readonly port: number; readonly agent: Agent },
  { method, path, contentType, accept, body = '' }: Step,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(body);
    const outgoing = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      agent,
      headers: {
        authorization: `Bearer ${admin.token}`,
        'user-agent': 'peer-tests',
        ...(contentType === undefined || contentType === '' ? {} : { 'content-type': contentType }),
        ...(accept === undefined ? {} : { accept }),
        ...(bytes.length === 0 ? {} : { 'content-length': bytes.length }),
      },
    });
    outgoing.setTimeout(answerTimeoutMs, () => outgoing.destroy(new Error(`no answer to ${method} ${path}`)));
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const { warning, 'content-type': type = '' } = incoming.headers;
        const warnings = warning === undefined ? '' : [warning].flat().join('\n');
        resolve({ status: incoming.statusCode ?? 0, contentType: type, warnings, body: Buffer.concat(parts) });
      });
    });
    outgoing.end(bytes);
  });
}
