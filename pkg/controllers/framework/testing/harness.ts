/** Runs controllers against an API server in memory and a virtual clock. */

import type { APIResource } from '#api/meta/v1/types.gen.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { conflict, optimisticLockMessage, type StatusError, serviceUnavailable } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi, type FakeCall } from '#client/testing/fake-api.js';
import { frozen } from '#client/testing/frozen.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { controllerMetrics } from '#controllers/framework/metrics.js';
import { silentLogger } from '#daemon/log/logger.js';

export interface Teardown {
  teardown(fn: () => Promise<void>): void;
}

export class Harness {
  readonly clock = new VirtualClock();
  readonly dialect: Dialect = orchDialect;
  readonly api: FakeApi;
  readonly context: ControllerContext;
  readonly informers: SharedInformerFactory;
  /** `Normal SuccessfulCreate web: Created pod: …` */
  readonly events: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  #sequence = 0;

  constructor(t: Teardown, resources: readonly ResourceDeclaration[]) {
    const { clock, dialect } = this;
    this.api = new FakeApi({ dialect, clock, resources });
    const { client } = this.api;
    this.informers = new SharedInformerFactory({
      client,
      clock,
      random: () => 0.5,
      log: silentLogger,
      transform: frozen,
    });
    this.context = {
      client: withDiscovery(client, resources),
      informers: this.informers,
      dialect,
      clock,
      random: () => 0.5,
      log: silentLogger,
      metrics: controllerMetrics(undefined),
      events: {
        record: (object, type, reason, message) =>
          this.events.push(`${type} ${reason} ${object.metadata.name}: ${message}`),
      },
    };
    this.api.intercept((call) => this.#named(call) ?? this.#statusWithAnnotations(call, resources));
    t.teardown(() => this.stop());
  }

  /** Starts the controllers and waits until they have nothing to do. */
  async start(...controllers: Controller[]): Promise<void> {
    this.#running.push(this.informers.start(this.#stop.signal));
    for (const controller of controllers) this.#running.push(controller.run(this.#stop.signal));
    await this.settled();
  }

  /** Waits until there is nothing to do without advancing the clock. */
  async settled(): Promise<void> {
    let calls = -1;
    for (let quiet = 0; quiet < 3; quiet = calls === this.api.calls.length ? quiet + 1 : 0) {
      calls = this.api.calls.length;
      for (let turn = 0; turn < 10; turn += 1) await eventLoopTurn();
    }
  }

  async advance(ms: number): Promise<void> {
    await this.settled();
    await this.clock.advance(ms);
    await this.settled();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(1);
    await Promise.all(this.#running);
  }

  /** Disconnects the cache of a resource from the server until the returned function is called. */
  freeze(resource: string): () => void {
    const heal = this.fail(
      (call) => call.resource === resource && (call.verb === 'watch' || call.verb === 'list'),
      serviceUnavailable('cut off'),
    );
    this.api.dropWatches();
    return heal;
  }

  /** Fails every call that `matches` with the error until the returned function is called. */
  fail(matches: (call: FakeCall) => boolean, error: StatusError): () => void {
    return this.api.intercept((call) => (matches(call) ? error : undefined));
  }

  /** Makes generated names predictable. */
  #named(call: FakeCall): undefined {
    if (call.verb !== 'create') return undefined;
    const { metadata } = call.body as Draft<ApiObject>;
    if (metadata.name !== undefined || metadata.generateName === undefined) return undefined;
    this.#sequence += 1;
    metadata.name = `${metadata.generateName}${this.#sequence}`;
    return undefined;
  }

  /** Applies annotations and finalizers in status updates, as real servers do. */
  #statusWithAnnotations(call: FakeCall, resources: readonly ResourceDeclaration[]): object | undefined {
    if (call.verb !== 'update' || call.subresource !== 'status') return undefined;
    const type = resources.find((each) => each.resource === call.resource) as ResourceType<ApiObject> | undefined;
    const update = call.body as ApiObject & { status?: unknown };
    const key = call.namespace === undefined ? (call.name ?? '') : `${call.namespace}/${call.name ?? ''}`;
    const current = type === undefined ? undefined : this.api.get(type, key);
    if (type === undefined || current === undefined) return undefined;
    if (update.metadata.resourceVersion !== current.metadata.resourceVersion) {
      return conflict({ group: '', resource: call.resource }, call.name ?? '', optimisticLockMessage);
    }
    return this.api.change<ApiObject & { status?: unknown }>(type, key, (object) => {
      object.status = update.status;
      for (const field of ['annotations', 'finalizers'] as const) {
        if (update.metadata[field] !== undefined) Object.assign(object.metadata, { [field]: update.metadata[field] });
      }
    });
  }
}

/** Adds discovery documents for the resources. */
function withDiscovery(client: Client, resources: readonly ResourceDeclaration[]): Client {
  const { dialect } = client;
  const versions = new Map<string, { group: string; version: string; resources: APIResource[] }>();
  for (const { group, version, resource: name, singular: singularName, kind, namespaced, verbs } of resources) {
    const groupVersion = dialect.apiVersion(group, version);
    const list = versions.get(groupVersion) ?? { group: dialect.groupName(group), version, resources: [] };
    list.resources.push({ name, singularName, kind, namespaced, verbs: [...verbs] });
    versions.set(groupVersion, list);
  }
  const answer = (path: string): object => {
    if (path !== '/apis') {
      const groupVersion = path.replace(/^\/apis?\//, '');
      return { groupVersion, resources: versions.get(groupVersion)?.resources ?? [] };
    }
    const groups = [...versions].filter(([, { group }]) => group !== '');
    return {
      groups: groups.map(([groupVersion, { group, version }]) => ({
        name: group,
        versions: [{ groupVersion, version }],
        preferredVersion: { groupVersion, version },
      })),
    };
  };
  return {
    dialect,
    resource: (type) => client.resource(type),
    request: async <R>(_method: string, path: string) => answer(path) as R,
    close: () => client.close(),
  };
}
