/**
 * An API server in memory with the objects of a large cluster, in a process of its own, which changes pods and nodes on request:
 * `node large-server.js NODES PODS`, started with a channel for messages.
 */
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Revision } from '#storage/store.js';
import { clusterObjects, nodePair, podName, podPair, type StoredPair } from '#test/bench/dashboard/cluster-objects.js';
import type { FromServer, ToServer } from '#test/bench/dashboard/messages.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';

const [nodeCount = 0, podCount = 0] = process.argv.slice(2).map(Number);
const teardowns: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => void teardowns.unshift(end) };
const random = seededRandom(5);
const tickMs = 20;
/** Of so many events one changes a node, one creates a pod, and one deletes one; the others change pods. */
const oneOf = 10;

const send = (message: FromServer) => void process.send?.(message);
const store = new MemoryStore({ clock });
const revisions = new Map<string, Revision>();

async function put({ key, value }: StoredPair): Promise<void> {
  const held = revisions.get(key);
  const result = held === undefined ? await store.create(key, value) : await store.update(key, value, held);
  if (!result.ok) throw new Error(`${key} has changed`);
  revisions.set(key, result.revision);
}

for (const pair of clusterObjects(nodeCount, podCount)) await put(pair);
const { pki, argv } = await clusterCredentials(t, dialect, `root,root,root,"${dialect.groups.masters}"\n`);
const server = await startCompleteServer(t, {
  ...{ dialect, store, listens: true },
  argv: [...argv, '--dashboard', '--min-request-timeout=1800'],
});
const port = server.address?.port ?? 0;

let pods = podCount;
let written = 0;
async function change(): Promise<void> {
  written++;
  const n = Math.floor(random() * podCount);
  const kind = written % oneOf;
  if (kind === 0) return put(nodePair(Math.floor(random() * nodeCount), written));
  if (kind === 1) return put(podPair(pods++, nodeCount));
  if (kind === 2 && pods > podCount) {
    const key = podPair(--pods, nodeCount).key;
    const held = revisions.get(key);
    if (held !== undefined) await store.delete(key, held);
    revisions.delete(key);
    return undefined;
  }
  return put(podPair(n, nodeCount, { restarts: written % 100 }));
}

let perSecond = 0;
let sinceMs = clock.monotonic();
let due = 0;
async function churn(): Promise<void> {
  for (;;) {
    await clock.sleep(tickMs);
    const nowMs = clock.monotonic();
    due += ((nowMs - sinceMs) / 1000) * perSecond;
    sinceMs = nowMs;
    for (; due >= 1; due--) await change();
  }
}

process.on('message', (message: ToServer) => {
  if (message.type === 'churn') perSecond = message.perSecond;
  else {
    const { n, reason } = message;
    void put(podPair(n, nodeCount, { reason })).then(() => send({ type: 'written', reason, atMs: clock.now() }));
  }
});
process.on('disconnect', () => process.exit(0));
send({
  type: 'ready',
  port,
  firstPod: podName(0),
  kubeconfig: formatKubeconfig(
    singleContext({
      ...{ server: `https://127.0.0.1:${port}`, clusterName: 'large', userName: 'root', token: 'root' },
      ca: pki.authority.certificate,
    }),
  ),
});
await churn();
