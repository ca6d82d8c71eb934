/** Plays a situation against an API server: performs the steps of clients and nodes, and waits for the controllers. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { typeOfKind } from '#test/integration/controllers/peer/kinds.js';
import type { Observer, Snapshot } from '#test/integration/controllers/peer/observer.js';
import { PodStates, podsOf } from '#test/integration/controllers/peer/pod-states.js';
import {
  type DeleteStep,
  filledIn,
  type Manifest,
  namespaceOf,
  type PatchStep,
  type PodsStep,
  type Situation,
  type Step,
} from '#test/integration/controllers/peer/situation.js';

/** Resolves when the controllers are idle after a step. @param index Index of the snapshot, from 0. */
export type Settled = (namespace: string, index: number) => Promise<Snapshot>;

const pollMs = 50;
const beginMs = 60_000;

export class Player {
  readonly #client: Client;
  readonly #observer: Observer;
  readonly #settled: Settled;
  readonly #states: PodStates;

  constructor(client: Client, observer: Observer, settled: Settled) {
    this.#client = client;
    this.#observer = observer;
    this.#settled = settled;
    this.#states = new PodStates(client);
  }

  /** The snapshots after each step. */
  async play(situation: Situation): Promise<Snapshot[]> {
    const namespace = namespaceOf(situation);
    this.#observer.begin(namespace, { anyNode: situation.anyNode === true });
    await this.#client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    await this.#identities(namespace);
    if (situation.whole !== true) this.#observer.begun(namespace);
    const snapshots: Snapshot[] = [];
    for (const step of situation.steps) {
      const times = 'pods' in step ? (step.times ?? 1) : 1;
      for (let time = 0; time < times; time += 1) {
        await this.#take(step, namespace);
        snapshots.push(await this.#settled(namespace, snapshots.length));
      }
    }
    return snapshots;
  }

  /** Pods cannot be created before. */
  async #identities(namespace: string): Promise<void> {
    for (const deadline = clock.monotonic() + beginMs; clock.monotonic() < deadline; await clock.sleep(pollMs)) {
      const keys = ['ServiceAccount/default', 'ConfigMap/kube-root-ca.crt', `Namespace/${namespace}`];
      if (keys.every((key) => this.#observer.has(namespace, key))) return;
    }
    throw new Error(`${namespace}: neither account nor root CA`);
  }

  async #take(step: Step, namespace: string): Promise<void> {
    if ('create' in step) for (const manifest of step.create) await this.#create(manifest, namespace);
    else if ('patch' in step) await this.#patch(step, namespace);
    else if ('delete' in step) await this.#delete(step, namespace);
    else if ('pods' in step) await this.#setPods(step, namespace);
    else await clock.sleep(step.wait * 1000);
  }

  async #create(manifest: Manifest, namespace: string): Promise<void> {
    const { apiVersion, kind, ...rest } = filledIn(manifest, namespace, clock.now());
    const type = typeOfKind(kind);
    const object = { apiVersion, kind, ...rest } as never;
    const where = type.namespaced ? { namespace } : {};
    const created = await this.#client.resource(type).create(object, where);
    // The status needs a separate write.
    if (rest['status'] === undefined || kind === 'Pod') return;
    const name = created.metadata.name ?? '';
    const patch = { status: rest['status'] };
    await this.#client.resource(type).patch(name, patch, { type: 'merge', subresource: 'status', ...where });
  }

  async #patch(step: PatchStep, namespace: string): Promise<void> {
    const { type, name } = this.#target(step.patch, namespace);
    const body = filledIn(step.with, namespace, clock.now());
    const where = type.namespaced ? { namespace } : {};
    const { type: form = 'merge', subresource } = step;
    const options = { type: form, ...where, ...(subresource === undefined ? {} : { subresource }) };
    for (;;) {
      try {
        await this.#client.resource(type).patch(name, body, options);
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }

  async #delete(step: DeleteStep, namespace: string): Promise<void> {
    const { type, name } = this.#target(step.delete, namespace);
    const { propagationPolicy } = step;
    const policy = propagationPolicy === undefined ? {} : { propagationPolicy };
    try {
      await this.#client.resource(type).delete(name, { ...(type.namespaced ? { namespace } : {}), ...policy });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #setPods(step: PodsStep, namespace: string): Promise<void> {
    const named = filledIn(step.named ?? '', namespace, 0);
    const chosen = podsOf(this.#observer.pods(namespace), { ...step, named });
    await Promise.all(chosen.map((pod) => this.#states.set(pod, step)));
  }

  #target(target: string, namespace: string) {
    const [kind = '', name = ''] = filledIn(target, namespace, 0).split('/');
    return { type: typeOfKind(kind), name };
  }
}
