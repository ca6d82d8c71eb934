/** Stores the objects of a row in etcd as the API server does, and measures their bindings. */
import { randomUUID } from 'node:crypto';
import { namespaces, nodes, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Binding, Pod } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { ApiObject, Client } from '#client/client.js';
import { encodeStored } from '#storage/layout.js';
import type { Store } from '#storage/store.js';
import { inGroups } from '#test/bench/controllers/objects.js';
import { node, pod, type Row } from '#test/bench/scheduler/rows.js';

const namespace = 'default';

export interface Size {
  readonly nodeCount: number;
  readonly podCount: number;
  /** Number of pods that fit nowhere. */
  readonly unschedulable: number;
}

/** One object of each kind goes through the API, which completes it; the others are copies. */
export async function seedRow(client: Client, store: Store, row: Row, size: Size): Promise<void> {
  await client.resource(namespaces).get(namespace);
  await client.resource(serviceaccounts).create({ metadata: { name: 'default', namespace } });
  const put = (path: string, object: ApiObject) => {
    const { resourceVersion: _, ...metadata } = object.metadata;
    return store.create(`/registry/${path}`, encodeStored({ ...object, metadata }));
  };
  const created = await client.resource(nodes).create({ metadata: { name: 'first' }, spec: {} });
  await client.resource(nodes).delete('first');
  await inGroups(size.nodeCount, (i) => {
    const like = node(dialect, i, row.tainted === true);
    const { name = '', labels = {} } = like.metadata;
    const metadata = { ...created.metadata, name, labels, uid: randomUUID() };
    const { allocatable } = like.status ?? {};
    const status = { ...created.status, ...(allocatable === undefined ? {} : { allocatable, capacity: allocatable }) };
    return put(`nodes/${name}`, { ...created, metadata, spec: like.spec, status } as ApiObject);
  });
  const templates = new Map<string, Promise<Pod>>();
  const complete = (kind: string, like: Pod): Promise<Pod> => {
    const completed =
      templates.get(kind) ??
      (async () => {
        const { priority, ...spec } = like.spec;
        const metadata = { ...like.metadata, name: `like-${kind}`, uid: '' };
        const created = await client.resource(pods).create({ ...like, metadata, spec });
        await client.resource(pods).delete(`like-${kind}`, { namespace, gracePeriodSeconds: 0 });
        // No node agent runs the pods, so evicted ones must disappear at once.
        const ended = { ...created.spec, terminationGracePeriodSeconds: 0 };
        return { ...created, spec: priority === undefined ? ended : { ...ended, priority } };
      })();
    templates.set(kind, completed);
    return completed;
  };
  const add = async (kind: string, name: string, like: Pod, nodeName?: string) => {
    const template = await complete(kind, like);
    const metadata = { ...template.metadata, name, uid: randomUUID() };
    const spec = nodeName === undefined ? template.spec : { ...template.spec, nodeName };
    await put(`pods/${namespace}/${name}`, { ...template, metadata, spec } as ApiObject);
  };
  const ask = (cpu: string) => ({ containers: [{ name: 'c', image: 'web', resources: { requests: { cpu } } }] });
  const full = row.full ?? 0;
  await inGroups(size.nodeCount * full, (i) =>
    add('low', `low-${i}`, pod(i, 'low', ask(`${32 / full}`)), `node-${i % size.nodeCount}`),
  );
  await inGroups(size.unschedulable, (i) => add('hopeless', `hopeless-${i}`, pod(i, 'hopeless', ask('1000'))));
  await inGroups(size.podCount, (i) => {
    const app = `app-${i % row.groups}`;
    return add(app, `pod-${i}`, pod(i, app, row.spec(app)));
  });
}

/** The current revision, from which a watch can start. */
export async function revisionNow(client: Client): Promise<string> {
  return (await client.resource(pods).list({ namespace, limit: 1 })).metadata?.resourceVersion ?? '';
}

/**
 * Times in ms of the clock when the first and the last of `count` pods of `seedRow` were seen bound. Calls `onFirst` at
 * the first.
 */
export async function untilBound(
  client: Client,
  resourceVersion: string,
  count: number,
  onFirst: () => void,
): Promise<{ firstMs: number; lastMs: number }> {
  const bound = new Set<string>();
  let firstMs = 0;
  const signal = AbortSignal.timeout(600_000);
  const from = { namespace, resourceVersion, signal };
  for await (const { object, type } of client.resource(pods).watch(from)) {
    const { name = '' } = object.metadata;
    if (type !== 'MODIFIED' || !name.startsWith('pod-') || (object.spec.nodeName ?? '') === '') continue;
    if (bound.size === 0) {
      firstMs = clock.monotonic();
      onFirst();
    }
    bound.add(name);
    if (bound.size === count) return { firstMs, lastMs: clock.monotonic() };
  }
  throw new Error(`${bound.size} of ${count} pods were bound`);
}

/** Binds all pods to nodes in turn, `atOnce` at a time, like a scheduler. */
export async function bindAll(client: Client, size: Size, atOnce: number): Promise<void> {
  await inGroups(
    size.podCount,
    (i) => {
      const name = `pod-${i}`;
      const target = { kind: 'Node', name: `node-${i % size.nodeCount}` };
      const binding: Binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace }, target };
      return client.resource(pods).createSubresource(name, 'binding', binding, { namespace });
    },
    atOnce,
  );
}
