/** Objects of prepared situations. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import type { Container, ContainerStatus, Event, Node, Pod } from '#api/core/v1/types.gen.js';
import type { StoredObject } from '#insight/inquiry/observations.js';
import { nowMs } from '#insight/testing/memory-observations.js';

/** The time so many seconds ago. */
export const ago = (seconds: number): string => `${new Date(nowMs - seconds * 1000).toISOString().slice(0, 19)}Z`;

interface PodParts {
  readonly name?: string;
  readonly owner?: StoredObject;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: Partial<Pod['metadata']>;
  readonly spec?: Partial<Pod['spec']>;
  readonly container?: Partial<Container>;
  readonly phase?: string;
  readonly status?: Partial<NonNullable<Pod['status']>>;
  /** Of the container `app`. */
  readonly app?: Partial<ContainerStatus>;
  readonly init?: Partial<ContainerStatus>;
  readonly isReady?: boolean;
  /** Undefined: `n1`. Empty: none. */
  readonly node?: string;
}

export function pod(parts: PodParts = {}): Pod {
  const { name = 'web-0', owner, labels = { app: 'web' }, node = 'n1', isReady = false } = parts;
  const status = (of: Partial<ContainerStatus>, container: string): ContainerStatus => ({
    ...{ name: container, ready: isReady, restartCount: 0, image: 'shop/web:1', imageID: '' },
    ...of,
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ name, namespace: 'shop', uid: `uid-${name}`, labels, creationTimestamp: ago(600) },
      ...(owner && {
        ownerReferences: [
          {
            ...{ apiVersion: 'apps/v1', kind: owner.kind ?? '', name: owner.metadata.name ?? '' },
            ...{ uid: owner.metadata.uid ?? '', controller: true },
          },
        ],
      }),
      ...parts.metadata,
    },
    spec: {
      containers: [{ name: 'app', image: 'shop/web:1', ...parts.container }],
      ...(parts.init && { initContainers: [{ name: 'prepare', image: 'shop/prepare:1' }] }),
      ...(node === '' ? {} : { nodeName: node }),
      ...parts.spec,
    },
    status: {
      phase: parts.phase ?? (isReady ? 'Running' : 'Pending'),
      conditions: [
        { type: 'PodScheduled', status: node === '' ? 'False' : 'True' },
        { type: 'Ready', status: isReady ? 'True' : 'False' },
      ],
      ...(parts.init && { initContainerStatuses: [status(parts.init, 'prepare')] }),
      ...(node === '' ? {} : { containerStatuses: [status(parts.app ?? (isReady ? running : creating), 'app')] }),
      ...parts.status,
    },
  };
}

export const creating: Partial<ContainerStatus> = { state: { waiting: { reason: 'ContainerCreating' } } };
export const running: Partial<ContainerStatus> = { state: { running: { startedAt: ago(300) } }, started: true };

export const waiting = (reason: string, message = ''): Partial<ContainerStatus> => ({
  state: { waiting: { reason, message } },
});

export const crashed = (exitCode: number, reason = 'Error', more: object = {}): Partial<ContainerStatus> => ({
  state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting failed container' } },
  lastState: { terminated: { exitCode, reason, finishedAt: ago(20), ...more } },
  restartCount: 4,
});

export function node(conditions: Readonly<Record<string, string>> = {}, more: Partial<Node> = {}): Node {
  const all = { Ready: 'True', MemoryPressure: 'False', DiskPressure: 'False', PIDPressure: 'False', ...conditions };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1', uid: 'uid-n1' },
    spec: {},
    status: { conditions: Object.entries(all).map(([type, status]) => ({ type, status })) },
    ...more,
  };
}

export function lease(namespace: string, name: string, seconds: number): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace },
    spec: { holderIdentity: `${name}-1`, renewTime: ago(seconds), leaseDurationSeconds: 15 },
  };
}

let events = 0;

export function event(about: StoredObject, reason: string, message: string, more: Partial<Event> = {}): Event {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `event-${events++}`, namespace: about.metadata.namespace ?? 'default' },
    involvedObject: {
      kind: about.kind ?? '',
      name: about.metadata.name ?? '',
      ...(about.metadata.namespace === undefined ? {} : { namespace: about.metadata.namespace }),
    },
    ...{ reason, message, type: 'Warning', count: 3, lastTimestamp: ago(10) },
    ...more,
  };
}

interface SetParts {
  readonly replicas?: number;
  readonly status?: object;
  readonly spec?: object;
  readonly metadata?: object;
}

const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'app', image: 'shop/web:1' }] } };

export function workload<T extends StoredObject>(kind: string, apiVersion: string, parts: SetParts = {}): T {
  const { replicas = 2, status = {}, spec = {}, metadata = {} } = parts;
  const result: StoredObject & { spec: object; status: object } = {
    apiVersion,
    kind,
    metadata: {
      ...{ name: 'web', namespace: 'shop', uid: `uid-${kind}`, generation: 2, creationTimestamp: ago(900) },
      ...metadata,
    },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template, ...spec },
    status: { observedGeneration: 2, ...status },
  };
  return result as unknown as T;
}

export const deployment = (parts: SetParts = {}): Deployment => workload('Deployment', 'apps/v1', parts);

/** The ReplicaSet of a deployment. */
export function replicaSetOf(owner: Deployment, parts: SetParts = {}): ReplicaSet {
  return workload('ReplicaSet', 'apps/v1', {
    ...parts,
    metadata: {
      name: 'web-5d5',
      labels: { app: 'web' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: owner.metadata.uid, controller: true },
      ],
    },
  });
}
