import t from 'tap';
import { grpcStatus } from '#http/grpc/status.js';
import { isLearnersRefusal, isLeaseNotFound, translateEtcdError } from '#storage/etcd/errors.js';
import { StoreError, type StoreErrorCode } from '#storage/store.js';

const rows: { grpc: number; details: string; code: StoreErrorCode }[] = [
  {
    grpc: grpcStatus.OUT_OF_RANGE,
    details: 'etcdserver: mvcc: required revision has been compacted',
    code: 'compacted',
  },
  {
    grpc: grpcStatus.OUT_OF_RANGE,
    details: 'etcdserver: mvcc: required revision is a future revision',
    code: 'futureRevision',
  },
  { grpc: grpcStatus.RESOURCE_EXHAUSTED, details: 'etcdserver: mvcc: database space exceeded', code: 'noSpace' },
  { grpc: grpcStatus.INVALID_ARGUMENT, details: 'etcdserver: request is too large', code: 'tooLarge' },
  {
    grpc: grpcStatus.RESOURCE_EXHAUSTED,
    details: 'grpc: received message larger than max (2097200 vs. 2097152)',
    code: 'tooLarge',
  },
  { grpc: grpcStatus.UNAVAILABLE, details: 'etcdserver: request timed out', code: 'timeout' },
  { grpc: grpcStatus.UNAVAILABLE, details: 'etcdserver: leader changed', code: 'unavailable' },
  { grpc: grpcStatus.RESOURCE_EXHAUSTED, details: 'etcdserver: too many requests', code: 'unavailable' },
  { grpc: grpcStatus.DEADLINE_EXCEEDED, details: 'Deadline exceeded', code: 'timeout' },
  { grpc: grpcStatus.UNAVAILABLE, details: 'No connection established', code: 'unavailable' },
  { grpc: grpcStatus.INTERNAL, details: 'anything', code: 'unavailable' },
];

void t.test('errors of etcd and gRPC', async (t) => {
  for (const { grpc, details, code } of rows) {
    const cause = Object.assign(new Error(`${grpc}: ${details}`), { code: grpc, details });
    const error = translateEtcdError(cause);
    t.equal(error.code, code, details);
    t.equal(error.message, details);
    t.equal(error.cause, cause);
  }
  const ours = new StoreError('compacted', 'x');
  t.equal(translateEtcdError(ours), ours);
  t.equal(translateEtcdError('text').message, 'text');
});

void t.test('an ended lease', async (t) => {
  const details = 'etcdserver: requested lease not found';
  t.ok(isLeaseNotFound({ code: grpcStatus.NOT_FOUND, details }));
  t.notOk(isLeaseNotFound({ code: grpcStatus.NOT_FOUND, details: 'etcdserver: key not found' }));
  t.notOk(isLeaseNotFound(undefined));
});

void t.test('a member without a vote', async (t) => {
  t.ok(isLearnersRefusal({ code: grpcStatus.UNAVAILABLE, details: 'etcdserver: rpc not supported for learner' }));
  t.notOk(isLearnersRefusal({ code: grpcStatus.UNAVAILABLE, details: 'etcdserver: leader changed' }));
});
