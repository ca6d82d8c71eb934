/** Short builders of the situations' manifests. */
import type {
  Json,
  JsonObject,
  Manifest,
  PatchStep,
  PodsStep,
  Situation,
  Step,
} from '#test/integration/controllers/peer/situation.js';

export function manifest(apiVersion: string, kind: string, name: string, rest: JsonObject = {}): Manifest {
  const { metadata = {}, ...others } = rest;
  return { apiVersion, kind, metadata: { name, ...(metadata as JsonObject) }, ...others };
}

const labels = (app: string, more: JsonObject = {}): JsonObject => ({ app, ...more });

/** Pods without a grace period. */
export function podTemplate(app: string, spec: JsonObject = {}, podLabels: JsonObject = {}): JsonObject {
  return {
    metadata: { labels: labels(app, podLabels) },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i:1' }], ...spec },
  };
}

const selector = (app: string): JsonObject => ({ matchLabels: { app } });

const workload =
  (kind: string, more: JsonObject = {}) =>
  (name: string, spec: JsonObject = {}, template: JsonObject = podTemplate(name)): Manifest =>
    manifest('apps/v1', kind, name, { spec: { selector: selector(name), template, ...more, ...spec } });

export const deployment = workload('Deployment');
export const replicaSet = workload('ReplicaSet');
export const statefulSet = (name: string, spec: JsonObject = {}, template = podTemplate(name)): Manifest =>
  workload('StatefulSet', { serviceName: name })(name, spec, template);
/** On the shared nodes only. */
export const daemonSet = (name: string, spec: JsonObject = {}, podSpec: JsonObject = {}): Manifest =>
  workload('DaemonSet')(name, spec, podTemplate(name, { nodeSelector: { pool: 'main' }, ...podSpec }));

export function job(name: string, spec: JsonObject = {}, podSpec: JsonObject = {}): Manifest {
  const template = {
    spec: {
      terminationGracePeriodSeconds: 0,
      restartPolicy: 'Never',
      containers: [{ name: 'c', image: 'i' }],
      ...podSpec,
    },
  };
  return manifest('batch/v1', 'Job', name, { spec: { template, ...spec } });
}

export function pod(
  name: string,
  podLabels: JsonObject = {},
  spec: JsonObject = {},
  metadata: JsonObject = {},
): Manifest {
  const containers = [{ name: 'c', image: 'i' }];
  return manifest('v1', 'Pod', name, {
    metadata: { labels: podLabels, ...metadata },
    spec: { terminationGracePeriodSeconds: 0, containers, ...spec },
  });
}

export const create = (...manifests: Manifest[]): Step => ({ create: manifests });
export const pods = (state: PodsStep['pods'], more: Omit<PodsStep, 'pods'> = {}): Step => ({ pods: state, ...more });
/** In order. */
export const readyOneByOne = (times: number, more: Omit<PodsStep, 'pods'> = {}): Step =>
  pods('ready', { first: 1, times, ...more });
export const patch = (target: PatchStep['patch'], body: Json, more: Omit<PatchStep, 'patch' | 'with'> = {}): Step => ({
  patch: target,
  with: body,
  ...more,
});
export const remove = (
  target: PatchStep['patch'],
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground',
): Step => ({
  delete: target,
  ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
});
export const wait = (seconds: number): Step => ({ wait: seconds });

export function situation(name: string, ...steps: Step[]): Situation {
  return { name, steps };
}
