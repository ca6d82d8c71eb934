/** One request as the report keeps it for a moment. */
import type { ObjectFacts } from '#testcluster/report/object-facts.js';

export interface RequestRecord {
  /** The cluster's clock, in milliseconds since 1970. */
  readonly atMs: number;
  /** The User-Agent header up to its first space-separated comment, at most 128 characters. */
  readonly userAgent: string;
  readonly verb: string;
  /** `pods`, `deployments.apps`. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Of the response where the server named the object. */
  readonly name: string;
  /** HTTP status. */
  readonly status: number;
  /** Reason of a failure; empty for a success. */
  readonly reason: string;
  /** Seconds after which the client may try again; 0: not said. */
  readonly retryAfterSeconds: number;
  /** A list of everything from the store: without limit, continue token and version 0. */
  readonly isFullList: boolean;
  /** The version from which a watch begins; empty: any. */
  readonly fromVersion: string;
  /** Whether a deletion names the UID or version of its object. */
  readonly hasPreconditions: boolean;
  /** The object in the request; undefined without one. */
  readonly sent: ObjectFacts | undefined;
  /** The object in the response; undefined without one. */
  readonly received: ObjectFacts | undefined;
}

export const isWrite = (verb: string): boolean => verb === 'update' || verb === 'patch';

/** `shop/web`, or the name of an object without a namespace. */
export function nameOf({ namespace, name }: Pick<RequestRecord, 'namespace' | 'name'>): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

/** `pods`, `pods/status`. */
export function resourceOf({ resource, subresource }: Pick<RequestRecord, 'resource' | 'subresource'>): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}
