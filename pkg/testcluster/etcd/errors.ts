/** Errors of etcd's API, in its words (`rpctypes`, etcd 3.5). */

import { grpcStatus } from '#http/grpc/status.js';

export class EtcdApiError extends Error {
  override readonly name = 'EtcdApiError';
  /** See `grpcStatus`. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const invalid = (why: string) => new EtcdApiError(grpcStatus.INVALID_ARGUMENT, `etcdserver: ${why}`);

export const emptyKey = () => invalid('key is not provided');
export const keyNotFound = () => invalid('key not found');
export const valueProvided = () => invalid('value is provided');
export const leaseProvided = () => invalid('lease is provided');
export const tooManyOperations = () => invalid('too many operations in txn request');
export const duplicateKey = () => invalid('duplicate key given in txn request');
export const requestTooLarge = () => invalid('request is too large');
export const compactedRevision = () =>
  new EtcdApiError(grpcStatus.OUT_OF_RANGE, 'etcdserver: mvcc: required revision has been compacted');
export const futureRevision = () =>
  new EtcdApiError(grpcStatus.OUT_OF_RANGE, 'etcdserver: mvcc: required revision is a future revision');
export const leaseNotFound = () => new EtcdApiError(grpcStatus.NOT_FOUND, 'etcdserver: requested lease not found');
export const leaseExists = () => new EtcdApiError(grpcStatus.FAILED_PRECONDITION, 'etcdserver: lease already exists');
export const leaseTooLong = () => new EtcdApiError(grpcStatus.OUT_OF_RANGE, 'etcdserver: too large lease TTL');
export const unimplemented = (path: string) =>
  new EtcdApiError(grpcStatus.UNIMPLEMENTED, `the store in memory has no ${path}`);
