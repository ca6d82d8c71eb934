/** Caches of the resources that quotas count: only of those, for most clusters limit a few. */

import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Replaceable } from '#apimachinery/draft.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import type { EventHandler, Informer } from '#client/informer/informer.js';
import { cacheOf } from '#controllers/framework/cache-of.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { discoverResources } from '#controllers/framework/discovery.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';
import { QuotaEvaluators } from '#quota/evaluators.js';

/** One resource, and how it is counted. */
export interface Counter {
  readonly type: ResourceType<ApiObject>;
  readonly evaluator: QuotaEvaluator;
  readonly informer: Informer<ApiObject>;
  /** Resolves once the cache is filled; may reject when it ends before. */
  readonly filled: Promise<void>;
}

interface Running {
  readonly counter: Counter;
  stop(): Promise<void>;
}

export interface CountersOptions {
  readonly context: ControllerContext;
  /** Told of every change and deletion of what is counted. */
  readonly handlerOf: (counter: Counter) => EventHandler<ApiObject>;
  /** The cache of the resource is filled now. */
  readonly filled: (counter: Counter) => void;
}

/** Resources that other controllers have caches of, whole objects of which are counted. */
const wholeObjects = ['pods', 'services', 'persistentvolumeclaims'];

/** What can be written and watched, which is all that quotas can count. */
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

  /** The API may have come to serve other resources. */
  forget(): void {
    this.#discovered = undefined;
  }

  /** All that count any of these names, begun where they were not. Throws when it cannot be known what the API serves. */
  async counting(names: readonly string[], signal: AbortSignal): Promise<readonly Counter[]> {
    const types = await this.#typesNow(signal);
    return types.flatMap((type) => {
      const evaluator = this.#evaluators.of(type.group, type.resource);
      if (evaluator === undefined || !names.some((name) => evaluator.counts(name))) return [];
      const running = this.#running.get(idOf(type)) ?? this.#start(type, evaluator, signal);
      return [running.counter];
    });
  }

  /** Ends the caches that no name needs, and those of resources that are not served any more. */
  async keep(names: readonly string[], signal: AbortSignal): Promise<void> {
    const served = new Set((await this.#typesNow(signal)).map(idOf));
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

  #typesNow(signal: AbortSignal): Promise<readonly ResourceType<ApiObject>[]> {
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
      log.warn({ groups: [...failures.keys()] }, 'Some resources are not known; quotas do not count them');
      // The next quota asks again.
      this.#discovered = undefined;
    }
    const countable = resources.filter(({ namespaced, verbs }) => {
      return namespaced && neededVerbs.every((verb) => verbs.includes(verb));
    });
    // A group that does not answer has not lost its resources.
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
        if (!signal.aborted) context.log.error({ err, resource: type.resource }, 'Cannot count what quotas limit');
      },
    );
    return running;
  }

  #watch(type: ResourceType<ApiObject>, evaluator: QuotaEvaluator, signal: AbortSignal): Running {
    const { context, handlerOf } = this.#options;
    const { informers, log } = context;
    // From now on there is a shared cache, of whole objects.
    if (type.group === 'core' && wholeObjects.includes(type.resource)) sharedInformer(informers, type);
    const cache = cacheOf(context, type, {
      transform: identityOnly,
      signal,
      failed: (err) => log.error({ err, resource: type.resource }, 'Watching what quotas limit has ended'),
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

/** All that is counted of the object is that it is there; the rest would fill memory. */
function identityOnly<T extends ApiObject>({ metadata: { name, namespace, uid, resourceVersion } }: T): T {
  const metadata: Replaceable<ObjectMeta> = {};
  if (name !== undefined) metadata.name = name;
  if (namespace !== undefined) metadata.namespace = namespace;
  if (uid !== undefined) metadata.uid = uid;
  if (resourceVersion !== undefined) metadata.resourceVersion = resourceVersion;
  // The type says more than is there; only who counts sees these objects.
  return { metadata } as T;
}
