/**
 * Pods of a control plane's own etcd, as processes with real etcds: they enter and leave one at a time, and get a backup.
 * `MEMBERS=1,3,5,3,1` takes other sizes and loses a disk at the largest: `hack/soak.sh --members`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import { fetchBackup } from '#cluster/backup/places.js';
import { s3Options } from '#cluster/backup/s3/options.js';
import { saveFrom } from '#cluster/backup/save.js';
import { etcdAccess } from '#cluster/etcd/access.js';
import { enterEtcd } from '#cluster/hosted/etcd/enter.js';
import { enterOptions, shrinkOptions } from '#cluster/hosted/etcd/options.js';
import { type EtcdPods, numbersBelow, seeMembers, tlsFiles } from '#cluster/hosted/etcd/pods.js';
import { restoreVolume } from '#cluster/hosted/etcd/restore.js';
import { shrinkEtcd } from '#cluster/hosted/etcd/shrink.js';
import { parseOptions } from '#daemon/options/parse.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { runsKine } from '#test/etcd.js';
import { freePorts } from '#test/free-port.js';

t.setTimeout(180_000);

const sizes = (process.env['MEMBERS'] ?? '1,3,1').split(',').map(Number);
const largest = Math.max(...sizes);
const etcd = process.env['TEST_ETCD'] ?? '/usr/bin/etcd';
/** Waits between two looks at the members are short here. */
const clock: Clock = { ...realClock, sleep: (ms, signal) => realClock.sleep(ms / 10, signal) };
const template = { logger: 'zap', 'log-level': 'error', 'heartbeat-interval': 50, 'election-timeout': 500 };

interface Place {
  readonly work: string;
  readonly files: readonly string[];
  pods(replicas: number): EtcdPods;
}

async function openPlace(work: string): Promise<Place> {
  const now = realClock.now();
  const ca = await createAuthority({ commonName: 'etcd-ca', now });
  const own = await issueCertificate(ca, {
    ...{ subject: { commonName: 'etcd', organizations: [] }, usages: ['server', 'client'], ips: ['127.0.0.1'], now },
  });
  for (const [name, text] of Object.entries({ ca: ca.certificate, crt: own.certificate, key: own.privateKey }))
    writeFileSync(join(work, name), text);
  const tls = {
    ...{ 'cert-file': join(work, 'crt'), 'key-file': join(work, 'key'), 'client-cert-auth': true },
    'trusted-ca-file': join(work, 'ca'),
  };
  const whole = { ...template, 'client-transport-security': tls, 'peer-transport-security': tls };
  writeFileSync(join(work, 'template.yaml'), JSON.stringify(whole));
  const ports = await freePorts(2 * largest);
  const url = (at: number) => `https://127.0.0.1:${ports[at]}`;
  return {
    work,
    files: [`--etcd-cafile=${work}/ca`, `--etcd-certfile=${work}/crt`, `--etcd-keyfile=${work}/key`],
    pods: (replicas) => ({
      ...{ set: 'a-etcd', replicas, name: (number) => `a-etcd-${number}` },
      ...{ clientURL: (number) => url(2 * number), peerURL: (number) => url(2 * number + 1) },
    }),
  };
}

/** A pod: its first container enters, its second runs etcd. */
class Pod {
  readonly #place: Place;
  readonly #number: number;
  readonly dataDir: string;
  readonly log: string[] = [];
  #etcd: ChildProcess | undefined;

  constructor(place: Place, number: number) {
    this.#place = place;
    this.#number = number;
    this.dataDir = join(place.work, `volume-${number}`, 'etcd');
    mkdirSync(dirname(this.dataDir), { recursive: true });
  }

  async start(replicas: number, signal: AbortSignal): Promise<void> {
    const { work, files, pods } = this.#place;
    const config = join(work, `etcd-${this.#number}.yaml`);
    const values = valuesOf(enterOptions, [
      ...files,
      `--member=a-etcd-${this.#number}`,
      `--data-dir=${this.dataDir}`,
      `--config-template=${work}/template.yaml`,
      `--config=${config}`,
    ]);
    await enterEtcd(values, pods(replicas), { clock, say: (line) => void this.log.push(line), signal });
    const listening = JSON.parse(readFileSync(config, 'utf8')) as Record<string, string>;
    const own = pods(replicas);
    const listen = {
      'listen-client-urls': own.clientURL(this.#number),
      'listen-peer-urls': own.peerURL(this.#number),
    };
    writeFileSync(config, JSON.stringify({ ...listening, ...listen }));
    this.#etcd = spawn(etcd, [`--config-file=${config}`], { stdio: 'ignore' });
  }

  async stop(): Promise<void> {
    const ending = this.#etcd;
    this.#etcd = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, 'exit');
    ending.kill('SIGKILL');
    await ended;
  }
}

function valuesOf<T extends Parameters<typeof parseOptions>[0]>(table: T, args: readonly string[]) {
  const parsed = parseOptions(table, args, { program: 'test' });
  if (parsed.kind !== 'run') throw new Error('not run');
  return parsed.values;
}

t.test('members enter and leave one at a time', { skip: runsKine && 'kine has no members' }, async (t) => {
  const place = await openPlace(t.testdir());
  const pods = numbersBelow(largest).map((number) => new Pod(place, number));
  const giveUp = new AbortController();
  t.teardown(async () => {
    giveUp.abort();
    await Promise.all(pods.map((pod) => pod.stop()));
  });
  const tls = tlsFiles(valuesOf(shrinkOptions, place.files));
  const urls = (size: number) => numbersBelow(size).map(place.pods(size).clientURL);
  const seen = () => seeMembers(urls(largest), tls);
  const access = etcdAccess({ endpoints: urls(largest), ...tls });
  const store = new EtcdStore({ ...access, random: Math.random });
  t.teardown(() => store.close());
  const start = async (from: number, size: number) => {
    const entering = pods.slice(from, size).map((pod) => pod.start(size, giveUp.signal));
    await Promise.all(entering);
    for (;;) {
      const { members, answering } = await seen();
      if (answering.size >= size && members?.every(({ name }) => name !== '')) return;
      await realClock.sleep(20, giveUp.signal);
    }
  };

  let size = sizes[0] ?? 1;
  await start(0, size);
  await store.create('/registry/before', Buffer.from('a'));
  const { folder, objects } = await saveFrom(access, undefined, join(place.work, 'backups'));
  t.equal(objects, 1, 'the backup has the object');
  const writing = keepsWriting(store);

  for (const next of sizes.slice(1)) {
    if (next > size) {
      await start(size, next);
    } else {
      const lines: string[] = [];
      await shrinkEtcd(valuesOf(shrinkOptions, place.files), place.pods(next), {
        ...{ client: hostWith(size), namespace: 'default', clock, say: (line) => void lines.push(line) },
      });
      t.equal(lines.filter((line) => line.endsWith(' left')).length, size - next, `${lines}`);
      for (const pod of pods.slice(next)) await pod.stop();
    }
    size = next;
    const { members = [] } = await seen();
    t.equal(members.length, size, `there are ${size} members`);
    const voteless = members.filter(({ isLearner }) => isLearner);
    t.same(voteless, [], 'each has a vote');
    if (size === largest && process.env['MEMBERS'] !== undefined) await losesDisk(t, pods, start, size);
  }
  const { failures, written } = await writing.stop();
  t.same(failures, [], `no write of ${written} fails meanwhile`);
  t.ok(written > 10, 'something was written');

  await Promise.all(pods.map((pod) => pod.stop()));
  await restoresInto(t, { place, pods, folder, start });
  const { kvs } = await store.range({ start: '/registry/', end: '/registry0' });
  t.same(
    kvs.map(({ key }) => key),
    ['/registry/before'],
    'what came after the backup is gone',
  );
});

/** A host whose StatefulSet has so many pods. */
function hostWith(replicas: number): Client {
  return { resource: () => ({ get: async () => ({ spec: { replicas } }) }) } as unknown as Client;
}

function keepsWriting(store: EtcdStore) {
  const stopping = new AbortController();
  const failures: string[] = [];
  let written = 0;
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      await store.create(`/registry/after/${written}`, Buffer.from('b')).then(
        () => {
          written += 1;
        },
        (error: unknown) => void failures.push(messageOf(error)),
      );
      await realClock.sleep(20);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await loop;
      return { failures, written };
    },
  };
}

async function losesDisk(
  t: Test,
  pods: readonly Pod[],
  start: (from: number, size: number) => Promise<void>,
  size: number,
): Promise<void> {
  const [pod] = pods.slice(size - 1);
  await pod?.stop();
  rmSync(pod?.dataDir ?? '', { recursive: true });
  await start(size - 1, size);
  t.match(pod?.log.join('\n'), /removing the member \d+ that this pod was before it lost its data/, 'it left first');
}

interface Restoring {
  readonly place: Place;
  readonly pods: readonly Pod[];
  /** Of the backup. */
  readonly folder: string;
  start(from: number, size: number): Promise<void>;
}

async function restoresInto(t: Test, { place, pods, folder, start }: Restoring): Promise<void> {
  const size = pods.length;
  const [backup = '', to] = [folder.split('/').at(-1), dirname(folder)];
  const restore = async (attempt: string) => {
    const lines: string[] = [];
    for (const [ordinal, { dataDir }] of pods.entries())
      await restoreVolume({
        ...{ pods: place.pods(size), ordinal, dataDir, backup, attempt, work: join(place.work, 'copies') },
        ...{ path: process.env['PATH'] ?? '', say: (line) => void lines.push(line) },
        fetch: (into) =>
          fetchBackup({ place: to, name: backup, into, values: valuesOf(s3Options, []), env: {}, clock }),
      });
    return lines;
  };
  t.match((await restore('first')).at(-1), `a-etcd-${size - 1} has the store of ${backup}`, 'each volume is filled');
  t.match((await restore('first')).at(-1), `the volume has ${backup} already`, 'a repeated Job');
  await restore('second');
  const names = () => readdirSync(dirname(pods[0]?.dataDir ?? '')).sort();
  t.same(
    names(),
    ['etcd', 'etcd.before-second', 'restored-backup'],
    'the data from before the restore, and none older',
  );
  await start(0, size);
  t.equal(names().length, 3, 'it stays at the first start');
  await pods[0]?.stop();
  await start(0, 1);
  t.same(names(), ['etcd', 'restored-backup'], 'it goes at the second');
}
