/**
 * `/test/actions`: what happens to nodes and pods, now.
 *
 *     { "action": "kill-node", "node": "node-0" }
 *     { "action": "delete-pods", "namespace": "shop", "labelSelector": "app=web", "count": 1, "gracePeriodSeconds": 0, "seed": 7 }
 *     { "action": "evict-pods", … } with the same members
 *     { "action": "kill-containers", "namespace": "shop", "labelSelector": "app=web", "container": "main", "count": 1, "seed": 7 }
 *
 * `count` chooses that many of the pods by the seed; without it all are meant.
 */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { TestClusterParts } from '#testcluster/feature/feature.js';

type Cluster = Pick<TestClusterParts, 'nodes' | 'process' | 'stopNode'>;

const members: Readonly<Record<string, readonly string[]>> = {
  'kill-node': ['node'],
  'delete-pods': ['namespace', 'labelSelector', 'count', 'seed', 'gracePeriodSeconds'],
  'evict-pods': ['namespace', 'labelSelector', 'count', 'seed', 'gracePeriodSeconds'],
  'kill-containers': ['namespace', 'labelSelector', 'count', 'seed', 'container'],
};

interface Choice {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly count?: number;
  readonly seed: number;
}

/** Resolves with what was done. Throws 400 for a wrong action. */
export async function runAction(given: unknown, cluster: Cluster, signal: AbortSignal): Promise<object> {
  const action = actionOf(given);
  const name = String(action['action']);
  if (name === 'kill-node') {
    const node = text(action, 'node');
    if (node === undefined || !cluster.nodes().has(node))
      throw badRequest(`there is no node ${node}; there are ${[...cluster.nodes().keys()].join(', ')}`);
    await cluster.stopNode(node);
    return { action: name, node };
  }
  const chosen = await choose(cluster, choiceOf(action), signal);
  const container = text(action, 'container');
  const grace = number(action, 'gracePeriodSeconds');
  const done: string[] = [];
  const failed: { readonly pod: string; readonly message: string }[] = [];
  for (const pod of chosen) {
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
    try {
      if (name === 'kill-containers') await killContainers(cluster, pod, container);
      else await remove(cluster, pod, { evicts: name === 'evict-pods', grace });
      done.push(key);
    } catch (error) {
      failed.push({ pod: key, message: messageOf(error) });
    }
  }
  return { action: name, pods: done, ...(failed.length === 0 ? {} : { failed }) };
}

type Action = Readonly<Record<string, unknown>>;

function actionOf(given: unknown): Action {
  const action = typeof given === 'object' && given !== null ? (given as Action) : {};
  const allowed = Object.hasOwn(members, String(action['action'])) ? members[String(action['action'])] : undefined;
  if (allowed === undefined) throw badRequest(`action: must be one of ${Object.keys(members).join(', ')}`);
  const unknown = Object.keys(action).find((name) => name !== 'action' && !allowed.includes(name));
  if (unknown !== undefined) throw badRequest(`${unknown}: unknown member; there are ${allowed.join(', ')}`);
  return action;
}

function text(action: Action, name: string): string | undefined {
  const value = action[name];
  if (value === undefined || typeof value === 'string') return value;
  throw badRequest(`${name}: must be a text`);
}

function number(action: Action, name: string): number | undefined {
  const value = action[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw badRequest(`${name}: must be a whole number that is not negative`);
}

function choiceOf(action: Action): Choice {
  const namespace = text(action, 'namespace');
  const labelSelector = text(action, 'labelSelector');
  const count = number(action, 'count');
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(count === undefined ? {} : { count }),
    seed: number(action, 'seed') ?? 1,
  };
}

async function choose(cluster: Cluster, choice: Choice, signal: AbortSignal): Promise<readonly Pod[]> {
  const { count, seed, ...where } = choice;
  const { items } = await cluster
    .process()
    .api.client.resource(pods)
    .list({ ...where, signal });
  const key = ({ metadata }: Pod) => `${metadata.namespace}/${metadata.name}`;
  const rest = [...items].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  if (count === undefined || count >= rest.length) return rest;
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => rest.splice(Math.floor(random() * rest.length), 1)).flat();
}

async function remove(
  cluster: Cluster,
  pod: Pod,
  { evicts, grace }: { evicts: boolean; grace: number | undefined },
): Promise<void> {
  const { client } = cluster.process().api;
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const deleteOptions = { preconditions: { uid }, ...(grace === undefined ? {} : { gracePeriodSeconds: grace }) };
  if (evicts) {
    const apiVersion = client.dialect.apiVersion('policy', 'v1');
    const eviction = { apiVersion, kind: 'Eviction', metadata: { name, namespace }, deleteOptions };
    await client.resource(pods).createSubresource(name, 'eviction', eviction, { namespace });
  } else await client.resource(pods).delete(name, { namespace, ...deleteOptions });
}

/** Ends running containers with code 137, like a signal from outside. */
async function killContainers(cluster: Cluster, pod: Pod, container: string | undefined): Promise<void> {
  for (const { dependencies } of cluster.nodes().values()) {
    const { cri } = dependencies;
    for (const { id, metadata, podSandboxId } of await cri.listContainers({ state: 'CONTAINER_RUNNING' })) {
      const sandbox = await cri.podSandboxStatus(podSandboxId);
      if (sandbox.metadata.uid === pod.metadata.uid && (container ?? metadata.name) === metadata.name)
        cri.killContainer(id);
    }
  }
}
