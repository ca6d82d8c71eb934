/** Random faults for controllers in a harness: lagging caches, failed writes, lost responses, restarts. */

import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { conflict, internalError, type StatusError, tooManyRequests } from '#apimachinery/errors/status.js';
import { generateName } from '#apimachinery/generate-name.js';
import type { FakeCall } from '#client/testing/fake-api.js';
import type { Controller } from '#controllers/framework/context.js';
import type { Harness } from '#controllers/framework/testing/harness.js';

export interface ChaosOptions {
  readonly harness: Harness;
  /** Returns [0, 1). */
  readonly random: () => number;
  /** Resources whose caches may be disconnected. */
  readonly caches: readonly string[];
  readonly makeController: () => Controller;
}

export class Chaos {
  readonly #options: ChaosOptions;
  readonly #thaw: (() => void)[] = [];
  #heal: () => void = () => {};
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: ChaosOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { harness } = this.#options;
    await harness.start();
    this.#run();
    this.#heal = harness.api.intercept((call) => this.#fault(call));
    await harness.settled();
  }

  /** One random event, or none. */
  async act(): Promise<void> {
    const { harness, random, caches } = this.#options;
    const dice = random();
    if (dice < 0.1) harness.api.dropWatches();
    else if (dice < 0.2) this.#thaw.push(harness.freeze(caches[Math.floor(random() * caches.length)] ?? ''));
    else if (dice < 0.45) this.#thaw.pop()?.();
    else if (dice < 0.5) harness.api.compact();
    // A new leader starts with fresh caches, so restart only while no cache is frozen.
    else if (dice < 0.55 && this.#thaw.length === 0) {
      await this.stop();
      await harness.advance(60_000);
      this.#run();
    }
  }

  /** Ends all faults. */
  heal(): void {
    for (const undo of this.#thaw.splice(0)) undo();
    this.#heal();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#options.harness.advance(1);
    await this.#running;
  }

  #run(): void {
    this.#stop = new AbortController();
    this.#running = this.#options.makeController().run(this.#stop.signal);
  }

  #fault(call: FakeCall): StatusError | undefined {
    const { random } = this.#options;
    const { resource, name = '' } = call;
    const q = { group: '', resource };
    const dice = random();
    if (dice < 0.04) return internalError(new Error('fault'));
    if (dice < 0.08) return conflict(q, name, 'fault');
    if (dice < 0.1) return tooManyRequests('fault', 1);
    if (dice < 0.16 && resource === 'pods') return this.#lose(call);
    return undefined;
  }

  /** Performs the write, but returns an error. */
  #lose(call: FakeCall): StatusError | undefined {
    const { random } = this.#options;
    const { api, clock } = this.#options.harness;
    const { verb, namespace = '', name = '' } = call;
    const lost = internalError(new Error('response lost'));
    if (verb === 'delete' && api.get(pods, `${namespace}/${name}`) !== undefined) {
      const { preconditions } = (call.body ?? {}) as { preconditions?: { uid?: string } };
      const pod = api.get(pods, `${namespace}/${name}`);
      if (preconditions?.uid !== pod?.metadata.uid) return undefined;
      api.change<Pod>(pods, `${namespace}/${name}`, (each) => {
        each.metadata.deletionTimestamp ??= formatTime(clock.now());
      });
      return lost;
    }
    if (verb !== 'create') return undefined;
    const body = call.body as Draft<Pod>;
    body.metadata.name ??= generateName(body.metadata.generateName ?? '', random);
    if (api.get(pods, `${namespace}/${body.metadata.name}`) !== undefined) return undefined;
    const finalizers = [...(body.metadata.finalizers ?? []), 'test.io/node'];
    api.seed<Pod>(pods, { ...body, metadata: { ...body.metadata, namespace, finalizers } });
    return lost;
  }
}
