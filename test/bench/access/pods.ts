/** Pods in the servers under test: created through the API, modified behind its back. */
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { KeyValue } from '#storage/store.js';
import type { Answer, RequestOptions } from '#test/bench/access/connections.js';
import type { RunningServer } from '#test/bench/access/servers.js';
import { benchPod } from '#test/bench/pod.js';

export const podsPath = '/api/v1/namespaces/default/pods';
export const scratchPath = '/api/v1/namespaces/scratch/pods';
/** One in this many pods has a given value of the label `slot`. */
export const slots = 100;

export const podName = (n: number): string => `pod-${String(n).padStart(6, '0')}`;
export const podPath = (n: number): string => `${podsPath}/${podName(n)}`;

/** The user agent, which names field managers. */
const clientHeaders = { 'content-type': 'application/json', 'user-agent': 'bench/1.0 (linux/amd64)' };

/** A client's pod of 2.5 kB. */
export function podBody(name: string, n: number, namespace = 'default'): string {
  const pod = benchPod(name);
  return JSON.stringify({
    ...pod,
    metadata: { ...pod.metadata, namespace, labels: { ...pod.metadata?.labels, slot: String(n % slots) } },
  });
}

/**
 * A pod of the same size in which every text is unique, as if no two pods shared a template, so that cached data of
 * other bodies does not help.
 */
export function ownPodBody(n: number, namespace = 'default'): string {
  const mark = (n + 0x1000_0000).toString(16);
  return podBody(podName(n), n, namespace)
    .replaceAll('example.com/', `example-${mark}.com/`)
    .replaceAll('c0ffee00', mark)
    .replace('6d4cf56db6', mark)
    .replaceAll('/usr/local/bin/service', `/usr/local/bin/service-${mark}`)
    .replaceAll('collector.monitoring', `collector-${mark}.monitoring`)
    .replaceAll(/"container-\d/g, (name) => `${name}-${mark}`);
}

/** Protocols: keep-alive HTTP/1.1 connections, or streams of one HTTP/2 connection, as real clients use. */
export type Way = 'http1' | 'http2';
export const ways: readonly Way[] = ['http1', 'http2'];

/** Suffix of a row's name. */
export const wayText = (way: Way): string => (way === 'http2' ? ', over HTTP/2' : '');

export interface AskOptions extends RequestOptions {
  /** Default: HTTP/1.1. */
  readonly way?: Way;
}

/** A request that must succeed. */
export async function ask(
  server: RunningServer,
  method: string,
  path: string,
  { headers, way = 'http1', ...options }: AskOptions = {},
): Promise<Answer> {
  const answer = await server[way].request(method, path, { ...options, headers: { ...clientHeaders, ...headers } });
  if (answer.status >= 300) throw new Error(`${server.name}: ${method} ${path}: ${answer.status} ${answer.body}`);
  return answer;
}

const namespacePollMs = 20;

/** Waits for the namespace: a server may be ready before it has created it. */
async function defaultNamespace(server: RunningServer): Promise<void> {
  const exists = async () => (await server.http1.request('GET', '/api/v1/namespaces/default')).status === 200;
  while (!(await exists())) await realClock.sleep(namespacePollMs);
}

/** Objects that the pods need. */
export async function prepare(server: RunningServer): Promise<void> {
  await defaultNamespace(server);
  await ask(server, 'POST', '/api/v1/namespaces', { body: JSON.stringify({ metadata: { name: 'scratch' } }) });
  for (const namespace of ['default', 'scratch']) {
    const account = { metadata: { name: 'web' }, automountServiceAccountToken: false };
    await ask(server, 'POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: JSON.stringify(account) });
  }
}

/** Direct access to the server's etcd, for writes that the server must not be charged for. */
function openStore(server: RunningServer): EtcdStore {
  const root = server.name === 'bare' ? '/bare' : '/registry';
  return new EtcdStore({ endpoints: [server.etcd.endpoint], root, clock: realClock, random: Math.random });
}

async function touch(store: EtcdStore, { key, value, modRevision }: KeyValue): Promise<bigint> {
  const result = await store.update(key, value, modRevision);
  if (!result.ok) throw new Error(`${key} was changed by another writer`);
  return result.revision;
}

/**
 * Rewrites every pod's bytes, which creates new versions, and waits until the server has seen them. Awaits `follow`
 * after every few hundred writes, with their number, for watchers that must not fall behind.
 */
export async function touchAll(
  server: RunningServer,
  follow: (written: number) => Promise<unknown> = async () => undefined,
): Promise<void> {
  const store = openStore(server);
  try {
    const prefix = '/registry/pods/default/';
    let start = prefix;
    let written = 0;
    for (;;) {
      const page = await store.range({ start, end: prefixEnd(prefix), limit: 500 });
      await Promise.all(page.kvs.map((kv) => touch(store, kv)));
      written += page.kvs.length;
      await follow(written);
      const last = page.kvs.at(-1);
      if (last === undefined || page.count <= page.kvs.length) break;
      start = `${last.key}\0`;
    }
  } finally {
    await store.close();
  }
  await ask(server, 'GET', `${podsPath}?limit=1`);
}

/** Rewrites one pod's bytes per call. */
export async function toucher(
  server: RunningServer,
  key: string,
): Promise<{ touch(): Promise<void>; close(): Promise<void> }> {
  const store = openStore(server);
  const { kvs } = await store.range({ start: key, end: `${key}\0` });
  let latest = kvs[0];
  if (latest === undefined) {
    const value = Buffer.from('watched');
    latest = { key, value, modRevision: (await store.create(key, value)).revision };
  }
  return {
    async touch() {
      if (latest !== undefined) latest = { ...latest, modRevision: await touch(store, latest) };
    },
    close: () => store.close(),
  };
}
