/** Creates the lock that `--leader-elect-resource-lock` names. */
import { configmaps, endpoints } from '#api/core/v1/resources.gen.js';
import type { Client } from '#client/client.js';
import { AnnotationLock } from '#client/leaderelection/annotation-lock.js';
import { type LeaderLock, LeaseLock } from '#client/leaderelection/lock.js';
import { MultiLock } from '#client/leaderelection/multi-lock.js';

export interface CreateLockOptions {
  readonly client: Client;
  /** `leases`, `endpointsleases` or `configmapsleases`. The last two also hold the Lease. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Throws RangeError for an unknown kind. */
export function createLock({ kind, ...where }: CreateLockOptions): LeaderLock {
  const lease = new LeaseLock(where);
  const unknownHolder = `leaderelection.${where.client.dialect.apiDomain}/unknown`;
  switch (kind) {
    case 'leases':
      return lease;
    case 'endpointsleases': {
      const primary = new AnnotationLock({ ...where, type: endpoints, make: (metadata) => ({ metadata }) });
      return new MultiLock({ primary, secondary: lease, unknownHolder });
    }
    case 'configmapsleases': {
      const primary = new AnnotationLock({ ...where, type: configmaps, make: (metadata) => ({ metadata }) });
      return new MultiLock({ primary, secondary: lease, unknownHolder });
    }
    default:
      throw new RangeError(`unknown kind of lock: ${JSON.stringify(kind)}`);
  }
}
