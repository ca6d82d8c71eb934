/**
 * An operator without faults: for each Deployment it creates a ConfigMap with an owner, keeps a status, and cleans up behind a
 * finalizer. It lists once, watches from there, lists again when its version is too old, and tries again with back-off.
 */
import { deployments } from '#api/apps/v1/resources.gen.js';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { isAlreadyExists, isExpired, isNotFound } from '#apimachinery/errors/status.js';
import type { Scene } from '#testcluster/testing/operator-world.js';

export const finalizer = 'example.com/cleanup';

export class RightOperator {
  readonly #scene: Scene;
  /** Consecutive failures. */
  #failures = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { operator, namespace } = this.#scene;
    const all = operator.resource(deployments);
    while (!signal.aborted) {
      try {
        const { items, metadata } = await all.list({ namespace, resourceVersion: '0', signal });
        for (const object of items) await this.#reconcile(object);
        let { resourceVersion = '' } = metadata ?? {};
        while (!signal.aborted) {
          for await (const { type, object } of all.watch({ namespace, resourceVersion, signal })) {
            resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
            if (type === 'ADDED' || type === 'MODIFIED') await this.#reconcile(object);
          }
          if (!signal.aborted) await this.#pause();
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!isExpired(error)) await this.#pause();
      }
    }
  }

  async #pause(): Promise<void> {
    await this.#scene.clock.sleep(100 * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
  }

  /** Begins again from the newest object after each failure. */
  async #reconcile(first: Deployment): Promise<void> {
    const all = this.#scene.operator.resource(deployments);
    const { namespace } = this.#scene;
    let object: Deployment | undefined = first;
    while (object !== undefined) {
      try {
        await this.#step(object);
        this.#failures = 0;
        return;
      } catch {
        await this.#pause();
        object = await this.#newest(() => all.get(first.metadata.name ?? '', { namespace }));
      }
    }
  }

  async #newest(read: () => Promise<Deployment>): Promise<Deployment | undefined> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        if (isNotFound(error)) return undefined;
        await this.#pause();
      }
    }
  }

  async #step(object: Deployment): Promise<void> {
    const { operator, namespace } = this.#scene;
    const all = operator.resource(deployments);
    const children = operator.resource(configmaps);
    const { name = '', uid = '', generation = 0, finalizers = [], deletionTimestamp } = object.metadata;
    const has = finalizers.includes(finalizer);
    if (deletionTimestamp !== undefined) {
      if (!has) return;
      const draft = copyJson(object);
      draft.metadata.finalizers = finalizers.filter((each) => each !== finalizer);
      await all.update(draft);
      return;
    }
    let current = object;
    if (!has) {
      const draft = copyJson(object);
      draft.metadata.finalizers = [...finalizers, finalizer];
      current = await all.update(draft);
    }
    const child: ConfigMap = {
      metadata: {
        ...{ name, namespace },
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name, uid, controller: true }],
      },
      data: { of: name },
    };
    try {
      await children.create(child);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    if (current.status?.observedGeneration === generation) return;
    await all.updateStatus({ ...current, status: { observedGeneration: generation } });
  }
}
