/**
 * Publishes the identities of API servers, behind the feature gate APIServerIdentity: each server keeps a Lease with its name,
 * and all servers remove expired ones. Names, labels and times are those of release 1.24.
 */
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { type Clock, formatMicroTime, upkeepClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';

/** Feature gates of the server itself, besides those of kinds. */
export const serverGates: readonly FeatureGateName[] = [
  'APIListChunking',
  'APIPriorityAndFairness',
  'APIResponseCompression',
  'APIServerIdentity',
  'APIServerTracing',
  'DryRun',
  'OpenAPIEnums',
  'OpenAPIV3',
  'PodSecurity',
  'RemainingItemCount',
  'ServerSideApply',
  'ServerSideFieldValidation',
  'StorageVersionAPI',
  'StorageVersionHash',
];

export interface ServerIdentityOptions {
  /** Name of the server: see `newIdentity`. */
  readonly id: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly leaseSeconds: number;
  readonly renewMs: number;
}

/** Creates a name that is unique to this process: `kube-apiserver-` and a UID. */
export function newIdentity(dialect: Dialect, newUID: () => string): string {
  return `${dialect.components.apiServer}-${newUID()}`;
}

/** The label of API servers' leases. */
function labelOf({ apiDomain, components }: Dialect): { readonly key: string; readonly value: string } {
  return { key: `${apiDomain}/component`, value: components.apiServer };
}

export class ServerIdentity {
  readonly #options: ServerIdentityOptions;

  constructor(options: ServerIdentityOptions) {
    this.#options = options;
  }

  /** Creates the lease, or renews it. */
  async ensure(signal: AbortSignal): Promise<void> {
    const { client, id } = this.#options;
    const where = { namespace: client.dialect.namespaces.system, signal };
    const resource = client.resource<Lease>(leases);
    try {
      const lease = await resource.get(id, where);
      await resource.update({ ...lease, spec: { ...lease.spec, ...this.#spec() } }, where);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const { key, value } = labelOf(client.dialect);
      const metadata = { name: id, namespace: where.namespace, labels: { [key]: value } };
      await resource.create({ metadata, spec: this.#spec() }, where).catch((failure: unknown) => {
        if (!isAlreadyExists(failure)) throw failure;
      });
    }
  }

  /** Renews the lease and removes expired ones, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { leaseSeconds, renewMs } = this.#options;
    await Promise.all([
      this.#every(renewMs, signal, () => this.ensure(signal), 'could not renew the lease of this server'),
      this.#every(leaseSeconds * 1000, signal, () => this.#collect(signal), 'could not remove expired leases'),
    ]);
  }

  async #every(periodMs: number, signal: AbortSignal, work: () => Promise<void>, failed: string): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await upkeepClock(clock).sleep(periodMs, signal);
      if (signal.aborted) return;
      try {
        await work();
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, failed);
      }
    }
  }

  async #collect(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const resource = client.resource<Lease>(leases);
    const { namespaces } = client.dialect;
    const { key, value } = labelOf(client.dialect);
    const where = { namespace: namespaces.system, signal };
    const { items } = await resource.list({ ...where, labelSelector: `${key}=${value}` });
    for (const { metadata, spec } of items) {
      if (!isExpired(spec, clock.now())) continue;
      const { name = '', uid = '', resourceVersion = '' } = metadata;
      try {
        await resource.delete(name, { ...where, preconditions: { uid, resourceVersion } });
      } catch (error) {
        // Another server has removed the lease, or its server has renewed it.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    }
  }

  #spec(): Lease['spec'] {
    const { id, leaseSeconds, clock } = this.#options;
    return { holderIdentity: id, leaseDurationSeconds: leaseSeconds, renewTime: formatMicroTime(clock.now()) };
  }
}

/** True for an expired lease; so is a lease without the times that every server writes. `now` in ms. */
function isExpired(spec: Lease['spec'], now: number): boolean {
  const { renewTime, leaseDurationSeconds } = spec ?? {};
  if (renewTime === undefined || leaseDurationSeconds === undefined) return true;
  return Date.parse(renewTime) + leaseDurationSeconds * 1000 < now;
}
