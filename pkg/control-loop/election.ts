/** One leader election of a daemon: its lock, and a connection whose writes are fenced by its terms. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import type { ObjectReference } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { createLock } from '#client/leaderelection/create-lock.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import type { LeaderLock } from '#client/leaderelection/lock.js';
import type { Connection } from '#client/rest/connection.js';
import type { Leadership } from '#control-loop/leader-loop.js';
import type { Logger } from '#daemon/log/logger.js';
import type { LeaderElectionValues } from '#daemon/options/groups/leader-election.js';
import { OptionsError } from '#daemon/options/option.js';

export interface LockChoice {
  /** A value of `--leader-elect-resource-lock`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** A lock that is not an API object. */
export interface OwnLock extends LeaderLock {
  close(): void;
}

/** Opens a lock of kind `etcdleases`; supplied by programs that can reach etcd. */
export type OpenEtcdLock = (where: { readonly namespace: string; readonly name: string }) => Promise<OwnLock>;

export interface ElectionOptions {
  readonly lock: LockChoice;
  readonly values: LeaderElectionValues;
  /** The connection to the API server, used for the lock and for the work. */
  readonly connection: Connection;
  readonly openEtcdLock: OpenEtcdLock | undefined;
  /** Records an event about the lock's object for each term. */
  readonly recorder: EventRecorder;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Registry;
}

export interface Election {
  readonly elector: LeaderElector;
  readonly leadership: Leadership;
  /** Writes of its clients succeed only during this process's terms. */
  readonly connection: Connection;
  close(): void;
}

/** Creates the election without becoming a candidate. Throws OptionsError when the lock's kind is not available. */
export async function createElection(options: ElectionOptions): Promise<Election> {
  const { values, connection, clock, random, log, metrics } = options;
  const { lock, close } = await openLock(options);
  const identity = `${hostname()}_${randomUUID()}`;
  const object = lockObject(options);
  const work = connection.fenced(() => elector.fence());
  const elector: LeaderElector = new LeaderElector({
    lock,
    identity,
    onTerm: (what) => {
      if (object !== undefined) options.recorder.record(object, 'Normal', 'LeaderElection', `${identity} ${what}`);
    },
    onLost: () => work.reset(),
    leaseDurationMs: values['leader-elect-lease-duration'],
    renewDeadlineMs: values['leader-elect-renew-deadline'],
    retryPeriodMs: values['leader-elect-retry-period'],
    clock,
    random,
    log,
    metrics,
    name: options.lock.name,
  });
  return {
    elector,
    leadership: { lead: (term, signal) => elector.run(term, signal) },
    connection: work,
    close,
  };
}

/** The object that election events refer to, as in 1.24; undefined for a lock in etcd. */
function lockObject({ lock, dialect }: ElectionOptions): ObjectReference | undefined {
  const { namespace, name } = lock;
  switch (lock.kind) {
    case 'endpointsleases':
      return { apiVersion: 'v1', kind: 'Endpoints', namespace, name };
    case 'configmapsleases':
      return { apiVersion: 'v1', kind: 'ConfigMap', namespace, name };
    case 'etcdleases':
      return undefined;
    default:
      return { apiVersion: dialect.apiVersion('coordination', 'v1'), kind: 'Lease', namespace, name };
  }
}

async function openLock(options: ElectionOptions): Promise<{ readonly lock: LeaderLock; readonly close: () => void }> {
  const { kind, ...where } = options.lock;
  if (kind !== 'etcdleases') {
    // A separate client, so that renewals do not queue behind the loop's requests.
    const client = options.connection.client('leader-election');
    return { lock: createLock({ client, kind, ...where }), close: () => undefined };
  }
  if (options.openEtcdLock === undefined) {
    throw new OptionsError(['--leader-elect-resource-lock: this daemon does not support etcdleases, use leases']);
  }
  const lock = await options.openEtcdLock(where);
  return { lock, close: () => lock.close() };
}
