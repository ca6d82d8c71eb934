/**
 * Keeps an APIService for each version that this server serves itself. Runs in every server; who comes too late with the same
 * finds it done, and looks again.
 */
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import {
  definedVersions,
  type LocalVersion,
  localService,
  serviceName,
} from '#apiserver/aggregation/registration/local-services.js';
import { plan } from '#apiserver/aggregation/registration/plan.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Client } from '#client/client.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import { runWorkers } from '#client/workqueue/workers.js';
import type { Logger } from '#daemon/log/logger.js';

/** All APIServices that there are, followed already. */
export interface KnownServices {
  get(name: string): APIService | undefined;
  values(): Iterable<APIService>;
  /** Told the name of each that comes, changes or goes. */
  listen(listener: (name: string) => void): void;
}

export interface RegistrationOptions {
  readonly apiServices: KnownServices;
  /** By the names of their APIServices. */
  readonly builtIn: ReadonlyMap<string, LocalVersion>;
  readonly reader: ObjectReader;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
}

const concurrency = 5;
const firstRetryMs = 5;
const maxRetryMs = 30_000;

export class RegistrationController implements Follower<CustomResourceDefinition> {
  readonly outlines = true;
  readonly #options: RegistrationOptions;
  readonly #queue: WorkQueue;
  readonly #atStart = new Set<string>();
  readonly #settled = new Set<string>();
  readonly #allSettled = deferred();
  /** By the names of definitions: what they serve. */
  readonly #defined = new Map<string, readonly LocalVersion[]>();
  /** By the names of APIServices: how many definitions serve that version. */
  readonly #served = new Map<string, { readonly local: LocalVersion; definitions: number }>();

  constructor(options: RegistrationOptions) {
    this.#options = options;
    const rateLimiter = new ItemExponentialRateLimiter<string>(firstRetryMs, maxRetryMs);
    this.#queue = new WorkQueue({ clock: options.clock, rateLimiter });
  }

  /** Resolves when each version that was there from the start has been looked after once. */
  settled(): Promise<void> {
    return this.#allSettled.promise;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { apiServices, builtIn, reader, log } = this.#options;
    for (const { metadata } of apiServices.values()) this.#atStart.add(metadata.name ?? '');
    try {
      // First of all: what no definition is known for is removed.
      await reader.follow(customresourcedefinitions, this, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return;
    }
    apiServices.listen((name) => this.#queue.add(name));
    for (const name of [...this.#atStart, ...builtIn.keys()]) this.#queue.add(name);
    await runWorkers(
      { queue: this.#queue, concurrency, reconcile: (name, ending) => this.#sync(name, ending), log },
      signal,
    );
  }

  replaced(definitions: readonly CustomResourceDefinition[]): void {
    for (const definition of definitions) this.changed(definition);
    this.only(new Set(definitions.map(({ metadata }) => metadata.name ?? '')));
  }

  only(names: ReadonlySet<string>): void {
    for (const name of [...this.#defined.keys()]) if (!names.has(name)) this.#define(name, []);
  }

  changed(definition: CustomResourceDefinition): void {
    this.#define(definition.metadata.name ?? '', definedVersions(definition));
  }

  removed({ metadata }: CustomResourceDefinition): void {
    this.#define(metadata.name ?? '', []);
  }

  #define(definition: string, versions: readonly LocalVersion[]): void {
    for (const local of this.#defined.get(definition) ?? []) this.#count(local, -1);
    for (const local of versions) this.#count(local, 1);
    if (versions.length > 0) this.#defined.set(definition, versions);
    else this.#defined.delete(definition);
  }

  #count(local: LocalVersion, change: 1 | -1): void {
    const name = serviceName(local);
    const known = this.#served.get(name) ?? { local, definitions: 0 };
    known.definitions += change;
    if (known.definitions === 0) this.#served.delete(name);
    else this.#served.set(name, known);
    this.#queue.add(name);
  }

  async #sync(name: string, signal: AbortSignal): Promise<Outcome> {
    const { apiServices, builtIn, client } = this.#options;
    const { dialect } = client;
    const local = builtIn.get(name) ?? this.#served.get(name)?.local;
    const found = apiServices.get(name);
    const step = plan({
      wanted: local && { service: localService(dialect, local), management: local.management },
      found,
      foundManagement: found?.metadata.labels?.[dialect.labels.autoManaged],
      atStart: this.#atStart.has(name),
      settled: this.#settled.has(name),
    });
    const own = client.resource<APIService>(apiservices);
    switch (step.kind) {
      case 'create':
        await own.create(step.service, { signal }).catch((error: unknown) => {
          // Another server's came first; what it is will be heard of.
          if (!isAlreadyExists(error)) throw error;
        });
        break;
      case 'update':
        await own.update(step.service, { signal });
        break;
      case 'delete':
        await own
          .delete(name, { signal, preconditions: { uid: found?.metadata.uid ?? '' } })
          .catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
        break;
      default:
    }
    this.#settled.add(name);
    if (this.#settled.size >= builtIn.size && [...builtIn.keys()].every((each) => this.#settled.has(each))) {
      this.#allSettled.resolve();
    }
    return { kind: 'done' };
  }
}
