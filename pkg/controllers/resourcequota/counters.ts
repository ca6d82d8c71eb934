/** Caches of the resources that quotas count. */

import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Replaceable } from '#apimachinery/draft.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import type { EventHandler, Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { discoverResources } from '#controllers/framework/discovery.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { cacheOf } from '#controllers/framework/resource-cache.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';
import { QuotaEvaluators } from '#quota/evaluators.js';

/** A counted resource. */
export interface Counter {
  readonly type: ResourceType<ApiObject>;
  readonly evaluator: QuotaEvaluator;
  readonly informer: Informer<ApiObject>;
  /** Resolves when the cache is filled; may reject if the cache stops before. */
  readonly filled: Promise<void>;
}

interface Running {
  readonly counter: Counter;
  stop(): Promise<void>;
}

export interface CountersOptions {
  readonly context: ControllerContext;
  /** Creates the handler of changes of counted objects. */
  readonly handlerOf: (counter: Counter) => EventHandler<ApiObject>;
  /** Called when the cache of the resource is filled. */
  readonly filled: (counter: Counter) => void;
}

/** Resources whose whole objects are needed; other controllers share these caches. */
const wholeObjects = ['pods', 'services', 'persistentvolumeclaims'];

/** Only resources with these verbs can be counted. */
const neededVerbs = ['create', 'list', 'watch', 'delete'];

export class Counters {
  readonly #options: CountersOptions;
  readonly #evaluators: QuotaEvaluators;
  /** By group and resource. */
  readonly #running = new Map<string, Running>();
  #discovered: Promise<readonly ResourceType<ApiObject>[]> | undefined;

  constructor(options: CountersOptions) {
    this.#options = options;
    this.#evaluators = new QuotaEvaluators(options.context.dialect);
  }

  /** Drops the cached discovery, because the served resources may have changed. */
  forget(): void {
    this.#discovered = undefined;
  }

  /** Counters of any of these names, started as necessary. Throws when discovery fails. */
  async counting(names: readonly string[], signal: AbortSignal): Promise<readonly Counter[]> {
    const types = await this.#servedTypes(signal);
    return types.flatMap((type) => {
      const evaluator = this.#evaluators.of(type.group, type.resource);
      if (evaluator === undefined || !names.some((name) => evaluator.counts(name))) return [];
      const running = this.#running.get(idOf(type)) ?? this.#start(type, evaluator, signal);
      return [running.counter];
    });
  }

  /** Stops the caches of unneeded names and of resources that are no longer served. */
  async keep(names: readonly string[], signal: AbortSignal): Promise<void> {
    const served = new Set((await this.#servedTypes(signal)).map(idOf));
    for (const [id, running] of [...this.#running]) {
      const needed = names.some((name) => running.counter.evaluator.counts(name));
      if (needed && served.has(id)) continue;
      this.#running.delete(id);
      await running.stop();
    }
  }

  async close(): Promise<void> {
    const all = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(all.map((running) => running.stop()));
  }

  #servedTypes(signal: AbortSignal): Promise<readonly ResourceType<ApiObject>[]> {
    this.#discovered ??= this.#discover(signal).catch((error: unknown) => {
      this.#discovered = undefined;
      throw error;
    });
    return this.#discovered;
  }

  async #discover(signal: AbortSignal): Promise<readonly ResourceType<ApiObject>[]> {
    const { client, log } = this.#options.context;
    const { resources, failures } = await discoverResources(client, signal);
    if (failures.size > 0) {
      log.warn(
        { groups: [...failures.keys()] },
        'discovery failed for some groups, quotas do not count their resources',
      );
      // Discover again for the next quota.
      this.#discovered = undefined;
    }
    const countable = resources.filter(({ namespaced, verbs }) => {
      return namespaced && neededVerbs.every((verb) => verbs.includes(verb));
    });
    // An unavailable group still has its resources.
    const missing = [...this.#running.values()]
      .map(({ counter }) => counter.type)
      .filter((type) => {
        const group = client.dialect.apiVersion(type.group, type.version);
        return failures.has(group) && !countable.some((each) => idOf(each) === idOf(type));
      });
    return [...countable, ...missing];
  }

  #start(type: ResourceType<ApiObject>, evaluator: QuotaEvaluator, signal: AbortSignal): Running {
    const running = this.#watch(type, evaluator, signal);
    this.#running.set(idOf(type), running);
    const { counter } = running;
    const { filled, context } = this.#options;
    counter.filled.then(
      () => filled(counter),
      (err: unknown) => {
        if (!signal.aborted)
          context.log.error({ err, resource: type.resource }, 'failed to fill the cache of a counted resource');
      },
    );
    return running;
  }

  #watch(type: ResourceType<ApiObject>, evaluator: QuotaEvaluator, signal: AbortSignal): Running {
    const { context, handlerOf } = this.#options;
    const { informers, log } = context;
    // Create the shared cache of whole objects.
    if (type.group === 'core' && wholeObjects.includes(type.resource)) sharedInformer(informers, type);
    const cache = cacheOf(context, type, {
      transform: identityOnly,
      signal,
      failed: (err) => log.error({ err, resource: type.resource }, 'watch of a counted resource failed'),
    });
    const counter = { type, evaluator, informer: cache.informer, filled: cache.synced };
    const remove = cache.informer.addHandler(handlerOf(counter));
    const stop = async () => {
      remove();
      await cache.stop().catch(() => undefined);
    };
    return { counter, stop };
  }
}

function idOf({ group, resource }: ResourceType<ApiObject>): string {
  return `${group}/${resource}`;
}

/** Drops everything except the identity, because these objects are only counted. */
function identityOnly<T extends ApiObject>({ metadata: { name, namespace, uid, resourceVersion } }: T): T {
  const metadata: Replaceable<ObjectMeta> = {};
  if (name !== undefined) metadata.name = name;
  if (namespace !== undefined) metadata.namespace = namespace;
  if (uid !== undefined) metadata.uid = uid;
  if (resourceVersion !== undefined) metadata.resourceVersion = resourceVersion;
  // The type claims more fields than exist, but only the counters use these objects.
  return { metadata } as T;
}
