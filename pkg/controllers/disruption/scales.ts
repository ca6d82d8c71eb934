/** Finds the managers of pods and their desired replicas. */
import { deployments, replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import type { Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/types.gen.js';
import type { Scale } from '#api/autoscaling/v1/types.gen.js';
import { replicationcontrollers } from '#api/core/v1/resources.gen.js';
import type { Pod, ReplicationController } from '#api/core/v1/types.gen.js';
import type { APIResource, OwnerReference } from '#api/meta/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { controllerOf } from '#controllers/framework/owners.js';
import { basePath, ServedKinds } from '#controllers/framework/served-kinds.js';

export interface ExpectedScale {
  /** The sum over all managers. */
  readonly replicas: number;
  /** Names of pods without a manager. */
  readonly unmanaged: readonly string[];
}

interface Managed {
  readonly uid: string;
  readonly replicas: number;
}

export class Scales {
  readonly #context: ControllerContext;
  readonly #deployments: Informer<Deployment>;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #statefulSets: Informer<StatefulSet>;
  readonly #replicationControllers: Informer<ReplicationController>;
  readonly #kinds: ServedKinds;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#kinds = new ServedKinds(context);
    this.#deployments = sharedInformer(context.informers, deployments);
    this.#replicaSets = sharedInformer(context.informers, replicasets);
    this.#statefulSets = sharedInformer(context.informers, statefulsets);
    this.#replicationControllers = sharedInformer(context.informers, replicationcontrollers);
  }

  /** Throws, with the messages of 1.24, when a pod's manager does not exist or cannot be scaled. */
  async expected(pods: readonly Pod[]): Promise<ExpectedScale> {
    const byManager = new Map<string, number>();
    const managerUids = new Set<string>();
    const unmanaged: string[] = [];
    for (const pod of pods) {
      const { name = '', namespace = '' } = pod.metadata;
      const reference = controllerOf(pod);
      if (reference === undefined) {
        unmanaged.push(name);
        continue;
      }
      if (managerUids.has(reference.uid)) continue;
      managerUids.add(reference.uid);
      const managed = this.#cached(reference, namespace) ?? (await this.#live(reference, namespace));
      if (managed === undefined) throw new Error(`found no controllers for pod "${name}"`);
      byManager.set(managed.uid, managed.replicas);
    }
    const replicas = [...byManager.values()].reduce((sum, each) => sum + each, 0);
    return { replicas, unmanaged };
  }

  /** Finds managers of cached kinds. The manager of a deployment's pods is the deployment. */
  #cached(reference: OwnerReference, namespace: string): Managed | undefined {
    const find = <T extends ApiObject>(cache: Informer<T>, type: ResourceDeclaration, of: OwnerReference) => {
      if (!this.#isOf(of, type)) return undefined;
      const object = cache.get(keyFor(namespace, of.name));
      return object?.metadata.uid === of.uid ? object : undefined;
    };
    const set = find(this.#replicaSets, replicasets, reference);
    const owner = set === undefined ? undefined : controllerOf(set);
    const deployment = owner === undefined ? undefined : find(this.#deployments, deployments, owner);
    if (owner?.kind === deployments.kind && deployment === undefined) return undefined;
    const manager =
      deployment ??
      set ??
      find(this.#statefulSets, statefulsets, reference) ??
      find(this.#replicationControllers, replicationcontrollers, reference);
    if (manager === undefined) return undefined;
    return { uid: manager.metadata.uid ?? '', replicas: manager.spec.replicas ?? 1 };
  }

  #isOf({ kind, apiVersion }: OwnerReference, type: ResourceDeclaration): boolean {
    if (kind !== type.kind) return false;
    const slash = apiVersion.indexOf('/');
    return (slash < 0 ? '' : apiVersion.slice(0, slash)) === this.#context.dialect.groupName(type.group);
  }

  /** Empty if the version is not served. */
  async #servedIn(apiVersion: string): Promise<readonly APIResource[]> {
    try {
      return await this.#kinds.resources(apiVersion);
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  /** Reads the `scale` of other kinds. Undefined when the object does not exist. */
  async #live(reference: OwnerReference, namespace: string): Promise<Managed | undefined> {
    const { apiVersion, kind, name, uid } = reference;
    const resources = await this.#servedIn(apiVersion);
    const resource = resources.find((each) => each.kind === kind && !each.name.includes('/'))?.name;
    if (resource === undefined) throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`);
    if (!resources.some((each) => each.name === `${resource}/scale`)) {
      const group = apiVersion.split('/')[0] ?? '';
      const full = apiVersion.includes('/') ? `${resource}.${group}` : resource;
      throw new Error(`${full} does not implement the scale subresource`);
    }
    const path = `${basePath(apiVersion)}/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}/scale`;
    try {
      const scale = await this.#context.client.request<Scale>('GET', path);
      return scale.metadata?.uid === uid ? { uid, replicas: scale.spec?.replicas ?? 0 } : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
