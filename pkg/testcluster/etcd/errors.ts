/** Errors of etcd's API, in its words (`rpctypes`, etcd 3.5). */

/** Codes of gRPC. */
export const grpcCode = {
  ok: 0,
  canceled: 1,
  unknown: 2,
  invalidArgument: 3,
  notFound: 5,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

export class EtcdApiError extends Error {
  override readonly name = 'EtcdApiError';
  /** See `grpcCode`. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const invalid = (why: string) => new EtcdApiError(grpcCode.invalidArgument, `etcdserver: ${why}`);

export const emptyKey = () => invalid('key is not provided');
export const keyNotFound = () => invalid('key not found');
export const valueProvided = () => invalid('value is provided');
export const leaseProvided = () => invalid('lease is provided');
export const tooManyOperations = () => invalid('too many operations in txn request');
export const duplicateKey = () => invalid('duplicate key given in txn request');
export const requestTooLarge = () => invalid('request is too large');
export const compactedRevision = () =>
  new EtcdApiError(grpcCode.outOfRange, 'etcdserver: mvcc: required revision has been compacted');
export const futureRevision = () =>
  new EtcdApiError(grpcCode.outOfRange, 'etcdserver: mvcc: required revision is a future revision');
export const leaseNotFound = () => new EtcdApiError(grpcCode.notFound, 'etcdserver: requested lease not found');
export const leaseExists = () => new EtcdApiError(grpcCode.failedPrecondition, 'etcdserver: lease already exists');
export const leaseTooLong = () => new EtcdApiError(grpcCode.outOfRange, 'etcdserver: too large lease TTL');
export const unimplemented = (path: string) =>
  new EtcdApiError(grpcCode.unimplemented, `the store in memory has no ${path}`);
