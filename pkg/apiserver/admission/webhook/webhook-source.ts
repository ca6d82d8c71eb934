/**
 * The webhooks of one kind of configuration, by the resources that they concern. Computed once per state of the
 * configurations and the served resources, so that a request without webhooks costs one map lookup.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';
import type { AdmissionAttributes, AdmissionScope } from '#apiserver/admission/admission.js';
import { refusal } from '#apiserver/admission/plugin.js';
import {
  type CompiledWebhook,
  compileConfiguration,
  type WebhookConfiguration,
} from '#apiserver/admission/webhook/compiled-webhook.js';
import { concernsResource, isExempt, type ResourceName } from '#apiserver/admission/webhook/rules.js';
import type { WebhookMetrics } from '#apiserver/admission/webhook/webhook-metrics.js';
import { Mirror } from '#apiserver/objects/object-mirror.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { WebhookCredentials } from '#apiserver/webhooks/credentials.js';
import type { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface WebhookSourceOptions {
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly log: Logger;
  /** False if configurations are not served: then there are no webhooks. */
  readonly isServed: () => boolean;
}

/** A webhook with its index in the order of calls. */
export interface OrderedWebhook extends CompiledWebhook {
  readonly index: number;
}

/** The webhooks that may concern a resource, and its other versions that they may review. */
export interface Concerned {
  readonly webhooks: readonly OrderedWebhook[];
  /** Other versions and groups of the same resource. */
  readonly equivalents: readonly ServedResource[];
}

/** Time limit of `waitReady`, as in 1.24. */
const readyTimeoutMs = 10_000;
const retryMs = 500;

export class WebhookSource<T extends WebhookConfiguration> {
  readonly #options: WebhookSourceOptions;
  readonly #type: ResourceType<T>;
  readonly #mirror: Mirror<T>;
  /** Compiled once per version of a configuration. */
  readonly #compiled = new WeakMap<T, readonly CompiledWebhook[]>();
  #all: readonly OrderedWebhook[] | undefined;
  #byResource = new Map<ResourceDeclaration, Concerned>();
  #generation = -1;
  #synced: Promise<void> | undefined;

  constructor(type: ResourceType<T>, options: WebhookSourceOptions) {
    this.#type = type;
    this.#options = options;
    const forget = () => {
      this.#all = undefined;
      this.#byResource = new Map();
    };
    this.#mirror = new Mirror<T>({ put: forget, drop: forget });
  }

  /** Follows the configurations until the signal aborts. */
  start(signal: AbortSignal): void {
    if (!this.#options.isServed()) return;
    this.#synced = this.#follow(signal);
  }

  /** False if no webhook is called for the request; true as long as the configurations are unknown. */
  mayConcern(scope: AdmissionScope): boolean {
    if (this.#synced === undefined) return false;
    if (!this.#mirror.synced) return true;
    if (this.#webhooks().length === 0) return false;
    return this.concerned(scope).webhooks.length > 0;
  }

  /** Resolves to false if the configurations are still unknown after a while. */
  async waitReady(): Promise<boolean> {
    if (this.#mirror.synced || this.#synced === undefined) return true;
    const sleeping = new AbortController();
    await Promise.race([this.#synced, this.#options.clock.sleep(readyTimeoutMs, sleeping.signal)]);
    sleeping.abort();
    return this.#mirror.synced;
  }

  concerned({ registry: { resources }, resource }: AdmissionScope): Concerned {
    if (this.#generation !== resources.generation) {
      this.#generation = resources.generation;
      this.#byResource = new Map();
    }
    const cached = this.#byResource.get(resource.declaration);
    if (cached !== undefined) return cached;
    const equivalents = resources.all().filter((other) => sharesStorage(other, resource) && other !== resource);
    const [own, ...others] = [resource, ...equivalents].map(resourceName) as [ResourceName, ...ResourceName[]];
    const webhooks = this.#webhooks().filter(({ rules, matchesEquivalent }) =>
      (matchesEquivalent ? [own, ...others] : [own]).some((name) => rules.some((rule) => concernsResource(rule, name))),
    );
    const concerned = { webhooks, equivalents };
    this.#byResource.set(resource.declaration, concerned);
    return concerned;
  }

  /** Sorted by the names of their configurations, as in 1.24. */
  #webhooks(): readonly OrderedWebhook[] {
    this.#all ??= [...this.#mirror.values()]
      .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
      .flatMap((configuration) => this.#compile(configuration))
      .map((webhook, index) => ({ ...webhook, index }));
    return this.#all;
  }

  #compile(configuration: T): readonly CompiledWebhook[] {
    let compiled = this.#compiled.get(configuration);
    if (compiled === undefined) {
      compiled = compileConfiguration(configuration);
      this.#compiled.set(configuration, compiled);
    }
    return compiled;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { reader, clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#mirror.start(reader, this.#type, signal);
        return;
      } catch (err) {
        if (signal.aborted) return;
        log.warn({ err, resource: this.#type.resource }, 'could not read webhook configurations');
        await clock.sleep(retryMs, signal);
      }
    }
  }
}

/** True for versions that share one stored form. */
function sharesStorage(a: ServedResource, b: ServedResource): boolean {
  return a.declaration.resource === b.declaration.resource && a.storage.prefix === b.storage.prefix;
}

export function resourceName({ group, declaration }: ServedResource): ResourceName {
  return { group, version: declaration.version, resource: declaration.resource };
}

export interface WebhookEnvironment {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
  readonly client: WebhookClient;
  /** Credentials for webhooks; absent: none. */
  readonly credentials?: WebhookCredentials | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  readonly newUID: () => string;
}

/** Common base of both webhook plugins. */
export abstract class WebhookPlugin<T extends WebhookConfiguration> {
  protected readonly environment: WebhookEnvironment;
  readonly #source: WebhookSource<T>;

  constructor(source: WebhookSource<T>, environment: WebhookEnvironment) {
    this.#source = source;
    this.environment = environment;
  }

  start(signal: AbortSignal): void {
    this.#source.start(signal);
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { scope } = attributes;
    return scope !== undefined && this.#source.mayConcern(scope) && !isExempt(attributes);
  }

  /** Throws 403 while the configurations are unknown. */
  protected async concerned(attributes: AdmissionAttributes, scope: AdmissionScope): Promise<Concerned> {
    if (await this.#source.waitReady()) return this.#source.concerned(scope);
    throw refusal(attributes, this.environment.dialect, 'not yet ready to handle request');
  }
}
