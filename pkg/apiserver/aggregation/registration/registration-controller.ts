/** Registers an APIService for each version that this server serves itself. Runs in every server; conflicting writes are retried. */
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
  type Management,
  serviceName,
} from '#apiserver/aggregation/registration/local-services.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Client } from '#client/client.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import { runWorkers } from '#client/workqueue/workers.js';
import type { Logger } from '#daemon/log/logger.js';

/** A cache of all APIServices. */
export interface ServiceCache {
  get(name: string): APIService | undefined;
  values(): Iterable<APIService>;
  /** Called with the name of each APIService that is added, changed or removed. */
  listen(listener: (name: string) => void): void;
}

export interface RegistrationOptions {
  readonly apiServices: ServiceCache;
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
  /** Served versions by the definition's name. */
  readonly #defined = new Map<string, readonly LocalVersion[]>();
  /** Number of definitions that serve a version, by the APIService's name. */
  readonly #served = new Map<string, { readonly local: LocalVersion; definitions: number }>();

  constructor(options: RegistrationOptions) {
    this.#options = options;
    const rateLimiter = new ItemExponentialRateLimiter<string>(firstRetryMs, maxRetryMs);
    this.#queue = new WorkQueue({ clock: options.clock, rateLimiter });
  }

  /** Resolves when each built-in version was reconciled once. */
  settled(): Promise<void> {
    return this.#allSettled.promise;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { apiServices, builtIn, reader, log } = this.#options;
    for (const { metadata } of apiServices.values()) this.#atStart.add(metadata.name ?? '');
    try {
      // Definitions first: APIServices without a definition are removed.
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
    const entry = this.#served.get(name) ?? { local, definitions: 0 };
    entry.definitions += change;
    if (entry.definitions === 0) this.#served.delete(name);
    else this.#served.set(name, entry);
    this.#queue.add(name);
  }

  async #sync(name: string, signal: AbortSignal): Promise<Outcome> {
    const { apiServices, builtIn, client } = this.#options;
    const { dialect } = client;
    const local = builtIn.get(name) ?? this.#served.get(name)?.local;
    const existing = apiServices.get(name);
    const step = plan({
      desired: local && { service: localService(dialect, local), management: local.management },
      existing,
      existingManagement: existing?.metadata.labels?.[dialect.labels.autoManaged],
      atStart: this.#atStart.has(name),
      settled: this.#settled.has(name),
    });
    const own = client.resource<APIService>(apiservices);
    switch (step.kind) {
      case 'create':
        await own.create(step.service, { signal }).catch((error: unknown) => {
          // Another server has created it; the watch delivers it.
          if (!isAlreadyExists(error)) throw error;
        });
        break;
      case 'update':
        await own.update(step.service, { signal });
        break;
      case 'delete':
        await own
          .delete(name, { signal, preconditions: { uid: existing?.metadata.uid ?? '' } })
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

export interface Situation {
  /** Undefined if the APIService should not exist. */
  readonly desired: { readonly service: APIService; readonly management: Management | undefined } | undefined;
  readonly existing: APIService | undefined;
  /** The label of the existing object. */
  readonly existingManagement: string | undefined;
  /** True if the object existed when this server started. */
  readonly atStart: boolean;
  /** True if this server has reconciled the object once. */
  readonly settled: boolean;
}

export type Step =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly service: APIService }
  | { readonly kind: 'update'; readonly service: APIService }
  | { readonly kind: 'delete' };

const none: Step = { kind: 'none' };

/**
 * The rules of 1.24's `autoregister_controller.go`: objects without the label, and changes after the start to objects managed
 * only at the start, belong to the user. Pure.
 */
export function plan({ desired, existing, existingManagement, atStart, settled }: Situation): Step {
  if (desired === undefined && existing === undefined) return none;
  if (desired !== undefined && desired.management !== 'true' && settled) return none;
  if (existing === undefined) return desired === undefined ? none : { kind: 'create', service: desired.service };
  if (existingManagement !== 'true' && existingManagement !== 'onstart') return none;
  if (existingManagement === 'onstart' && (!atStart || settled)) return none;
  if (desired === undefined) return { kind: 'delete' };
  return isSame(existing, desired.service)
    ? none
    : { kind: 'update', service: { ...existing, spec: desired.service.spec } };
}

function isSame({ spec: a }: APIService, { spec: b }: APIService): boolean {
  return (
    a.service === undefined &&
    (a.group ?? '') === (b.group ?? '') &&
    a.version === b.version &&
    a.groupPriorityMinimum === b.groupPriorityMinimum &&
    a.versionPriority === b.versionPriority &&
    (a.caBundle ?? '') === '' &&
    a.insecureSkipTLSVerify !== true
  );
}
