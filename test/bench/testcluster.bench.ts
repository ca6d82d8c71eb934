/**
 * Measures the programs of a KUBEBUILDER_ASSETS as envtest starts them: the time from the start of etcd until both are healthy, their
 * CPU time until then, and their memory a while later. In turn: this project's, with three nodes and all controllers beside, and a
 * real etcd with another kube-apiserver.
 * `hack/bench.sh testcluster [--peer /path/kube-apiserver] [--rounds 5]`
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes, seconds } from '#test/bench/report.js';
import { root } from '#test/e2e/harness.js';
import { freePorts } from '#test/free-port.js';

const { values } = parseArgs({ options: { peer: { type: 'string' }, rounds: { type: 'string', default: '5' } } });
/** Ours collects garbage when it was idle for ten seconds. */
const restMs = 16_000;
const pollMs = 5;

interface Programs {
  readonly name: string;
  readonly etcd: string;
  readonly apiServer: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Figures {
  readonly ms: number;
  readonly cpuMs: number;
  readonly bytes: number;
}

function isHealthy(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { agent: false, rejectUnauthorized: false } as const;
    const get = url.startsWith('https:') ? getSecure : getPlain;
    get(url, options, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 200));
    }).on('error', () => resolve(false));
  });
}

async function untilHealthy(url: string): Promise<void> {
  while (!(await isHealthy(url))) await realClock.sleep(pollMs);
}

/** The files that envtest makes before it starts the programs. */
async function prepare(folder: string): Promise<void> {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const serving = await issueCertificate(authority, {
    ...{
      subject: { commonName: 'x', organizations: [] },
      usages: ['server'],
      names: ['localhost'],
      ips: ['127.0.0.1'],
      now,
    },
  });
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const files = {
    'apiserver.crt': serving.certificate,
    'apiserver.key': serving.privateKey,
    'sa.key': privateKey.export({ type: 'pkcs1', format: 'pem' }),
    'sa.pub': publicKey.export({ type: 'spki', format: 'pem' }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

async function measured({ etcd, apiServer, env }: Programs): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'testcluster-'));
  const children: ChildProcess[] = [];
  const start = (program: string, argv: readonly string[]) => {
    const child = spawn(program, argv, { stdio: 'ignore', env: { ...process.env, ...env } });
    children.push(child);
  };
  try {
    await prepare(folder);
    const [client = 0, peer = 0, port = 0] = await freePorts(3);
    const url = `http://127.0.0.1:${client}`;
    const startedMs = realClock.monotonic();
    start(etcd, [
      ...[`--advertise-client-urls=${url}`, `--data-dir=${folder}/etcd`, `--listen-client-urls=${url}`],
      ...[`--listen-peer-urls=http://127.0.0.1:${peer}`, '--unsafe-no-fsync=true'],
    ]);
    await untilHealthy(`${url}/health`);
    start(apiServer, [
      ...['--allow-privileged=true', '--authorization-mode=RBAC', '--bind-address=127.0.0.1', `--cert-dir=${folder}`],
      ...['--disable-admission-plugins=ServiceAccount', `--etcd-servers=${url}`, `--secure-port=${port}`],
      ...[`--service-account-issuer=https://127.0.0.1:${port}/`, `--service-account-key-file=${folder}/sa.pub`],
      ...[`--service-account-signing-key-file=${folder}/sa.key`, '--service-cluster-ip-range=10.0.0.0/24'],
    ]);
    await untilHealthy(`https://127.0.0.1:${port}/healthz`);
    const ms = realClock.monotonic() - startedMs;
    const pids = children.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    const sum = (of: (pid: number) => number) => pids.reduce((total, pid) => total + of(pid), 0);
    const used = sum(cpuMs);
    await realClock.sleep(restMs);
    return { ms, cpuMs: used, bytes: sum(residentBytes) };
  } finally {
    for (const child of children.reverse()) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

const median = (all: readonly number[]): number => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
const own = (program: string) => join(root, 'bin', 'envtest', program);
const programs: readonly Programs[] = [
  { name: 'bin/envtest', etcd: own('etcd'), apiServer: own('kube-apiserver') },
  {
    ...{ name: 'with controllers and three nodes', etcd: own('etcd'), apiServer: own('kube-apiserver') },
    env: { ORCH_TEST_CONTROLLERS: 'all', ORCH_TEST_NODES: '3' },
  },
  ...(values.peer === undefined ? [] : [{ name: 'etcd and kube-apiserver', etcd: 'etcd', apiServer: values.peer }]),
];

process.stdout.write(
  `${machineLine()}\nfrom the start of etcd until both are healthy, medians of ${values.rounds} rounds\n`,
);
// The first start compiles.
for (const each of programs.slice(0, 2)) await measured(each);
const results = new Map(programs.map(({ name }) => [name, [] as Figures[]]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const each of programs) results.get(each.name)?.push(await measured(each));
}
for (const [name, all] of results) {
  figure(`${name}: time`, seconds(median(all.map(({ ms }) => ms))));
  figure(`${name}: CPU time`, seconds(median(all.map(({ cpuMs: used }) => used))));
  figure(`${name}: resident memory at rest`, megabytes(median(all.map(({ bytes }) => bytes))));
}
