/**
 * Rolls out Deployments, StatefulSets and DaemonSets with an annotation when ConfigMaps or Secrets change that their pods use: the
 * hash of these is an annotation of the pod template. Without annotated workloads it reads nothing.
 */
import { daemonsets, deployments, statefulsets } from '#api/apps/v1/resources.gen.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { keyOf, splitKey } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { Digests } from '#controllers/rollonchange/digests.js';
import { planRoll } from '#controllers/rollonchange/plan.js';
import {
  type Reference,
  type References,
  referencesHash,
  referencesOf,
  selectedReferences,
} from '#controllers/rollonchange/references.js';

type Workload = ApiObject & { readonly spec?: { readonly template?: PodTemplateSpec } };

interface Kind {
  readonly type: ResourceType<Workload>;
  readonly informer: Informer<Workload>;
}

/** What is known of a workload between its rollouts. */
interface Memory {
  readonly pending?: { readonly hash: string; readonly sinceMs: number };
  /** Digests at the last decision, to say what has changed. */
  readonly digests: ReadonlyMap<Reference, string | undefined>;
}

/** While a namespace's state is being read. */
const syncMs = 1000;
const concurrency = 2;

export class RollOnChangeController implements Controller {
  readonly name = 'roll-on-change';
  readonly #context: ControllerContext;
  readonly #kinds: ReadonlyMap<string, Kind>;
  readonly #digests: Digests;
  readonly #loop: ReconcileLoop;
  readonly #memory = new Map<string, Memory>();

  constructor(context: ControllerContext) {
    this.#context = context;
    const types = [deployments, statefulsets, daemonsets] as unknown as readonly ResourceType<Workload>[];
    this.#kinds = new Map(
      types.map((type) => [type.resource, { type, informer: sharedInformer(context.informers, type) }]),
    );
    this.#digests = new Digests(context.informers, (namespace, reference) => this.#changed(namespace, reference));
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const watches = [...this.#kinds].map(([resource, { informer }]) => {
      const add = (workload: Workload) => {
        if (this.#annotationOf(workload) !== undefined) this.#loop.queue.add(`${resource}/${keyOf(workload)}`);
      };
      const forget = (workload: Workload) => this.#memory.delete(`${resource}/${keyOf(workload)}`);
      return informer.addHandler({ onAdd: add, onUpdate: add, onDelete: forget });
    });
    await this.#loop.run(signal, watches);
  }

  #annotationOf({ metadata }: Workload): string | undefined {
    return metadata.annotations?.[this.#context.dialect.annotations.rollOnChange];
  }

  #referencesOf(workload: Workload): References | undefined {
    const { template } = workload.spec ?? {};
    const annotation = this.#annotationOf(workload);
    return template === undefined || annotation === undefined
      ? undefined
      : selectedReferences(annotation, referencesOf(template));
  }

  #changed(namespace: string, reference: Reference): void {
    for (const [resource, { informer }] of this.#kinds) {
      for (const workload of informer.list(namespace)) {
        if (this.#referencesOf(workload)?.all.includes(reference) === true)
          this.#loop.queue.add(`${resource}/${keyOf(workload)}`);
      }
    }
  }

  async #reconcile(key: string): Promise<Outcome> {
    const slash = key.indexOf('/');
    const kind = this.#kinds.get(key.slice(0, slash));
    const objectKey = key.slice(slash + 1);
    const workload = kind?.informer.get(objectKey);
    const references = workload && this.#referencesOf(workload);
    if (kind === undefined || workload === undefined || references === undefined) return done;
    if (workload.metadata.deletionTimestamp !== undefined) return done;
    const { namespace } = splitKey(objectKey);
    if (!this.#digests.follow(namespace)) return requeueAfter(syncMs);
    const digests = new Map(references.all.map((each) => [each, this.#digests.of(namespace, each)]));
    const { clock, dialect } = this.#context;
    const memory = this.#memory.get(key);
    const plan = planRoll({
      recorded: workload.metadata.annotations?.[dialect.annotations.referencesHash],
      actual: referencesHash(references, (each) => digests.get(each)),
      pending: memory?.pending,
      nowMs: clock.monotonic(),
    });
    if (plan.action === 'wait') {
      const { hash, sinceMs, ms } = plan;
      this.#memory.set(key, { pending: { hash, sinceMs }, digests: memory?.digests ?? new Map() });
      return requeueAfter(ms);
    }
    if (plan.action === 'nothing') {
      // Digests of a state with a missing object are not those that the pods have.
      if (memory === undefined) this.#memory.set(key, { digests });
      return done;
    }
    const changed = references.all.filter((each) => digests.get(each) !== memory?.digests.get(each));
    await this.#write(key, kind, workload, plan);
    this.#memory.set(key, { digests });
    if (plan.action === 'roll') this.#tell(workload, memory === undefined ? references.all : changed);
    return done;
  }

  async #write(
    key: string,
    { type, informer }: Kind,
    { metadata }: Workload,
    { action, hash }: { readonly action: 'record' | 'roll'; readonly hash: string },
  ): Promise<void> {
    const { client, dialect } = this.#context;
    const { name = '', namespace = '', resourceVersion } = metadata;
    const annotations = { [dialect.annotations.referencesHash]: hash };
    const patch = {
      metadata: { annotations, resourceVersion },
      ...(action === 'roll' && { spec: { template: { metadata: { annotations } } } }),
    };
    const written = await client.resource(type).patch(name, patch, { namespace, type: 'merge' });
    this.#loop.written.wrote(key, informer, written);
  }

  #tell(workload: Workload, changed: readonly Reference[]): void {
    const { events, metrics } = this.#context;
    metrics.count('roll_on_change_rollouts_total', 'Rollouts because of changed ConfigMaps and Secrets.');
    const what = changed.length === 0 ? 'what its pods use' : changed.slice(0, 5).join(', ');
    events.record(workload, 'Normal', 'RollingOnChange', `Rolling out because of changes in ${what}`);
  }
}
