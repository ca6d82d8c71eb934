/** Options of `etcd` (release 3.5), of which a member in memory needs few. */
import type { OptionDeclaration, OptionTable } from '#daemon/options/option.js';

const member = 'Member';
const security = 'Security';

type Row = Pick<OptionDeclaration, 'type' | 'default'>;
const text: Row = { type: 'string' };
const texts: Row = { type: 'strings' };
const flag: Row = { type: 'bool', default: false };
const number: Row = { type: 'int', default: 0 };

/** Options without effect, for one reason. */
function without(why: string, meaning: string, rows: Readonly<Record<string, Row>>): OptionTable {
  const declared = Object.entries(rows).map(([name, row]) => [
    name,
    { ...row, section: 'Without effect', meaning, inert: why },
  ]);
  return Object.fromEntries(declared) as OptionTable;
}

const etcdOptions = {
  name: { type: 'string', default: 'default', section: member, meaning: 'Name of the member.' },
  'listen-client-urls': {
    type: 'strings',
    default: ['http://localhost:2379'],
    section: member,
    meaning: 'URLs to listen at for clients.',
  },
  'advertise-client-urls': { type: 'strings', section: member, meaning: 'URLs that clients are told.' },
  'initial-advertise-peer-urls': { type: 'strings', section: member, meaning: 'URLs of the member for others.' },
  'cert-file': { type: 'string', section: security, meaning: 'Serving certificate of https URLs.' },
  'key-file': { type: 'string', section: security, meaning: 'Its key.' },
  'client-cert-auth': { type: 'bool', default: false, section: security, meaning: 'Clients need a certificate.' },
  'trusted-ca-file': { type: 'string', section: security, meaning: 'Authority of the certificates of clients.' },
} as const satisfies OptionTable;

const unused: OptionTable = {
  ...without('objects are in memory, and end with the process', 'Files of the member.', {
    'data-dir': text,
    'wal-dir': text,
    'snapshot-count': number,
    'max-snapshots': number,
    'max-wals': number,
    'quota-backend-bytes': number,
    'backend-batch-interval': text,
    'backend-batch-limit': number,
    'backend-bbolt-freelist-type': text,
    'unsafe-no-fsync': flag,
    'auto-compaction-retention': text,
    'auto-compaction-mode': text,
    'force-new-cluster': flag,
    'experimental-bootstrap-defrag-threshold-megabytes': number,
    'experimental-initial-corrupt-check': flag,
    'experimental-corrupt-check-time': text,
    'experimental-compaction-batch-limit': number,
    'experimental-enable-lease-checkpoint': flag,
    'experimental-enable-lease-checkpoint-persist': flag,
    'experimental-memory-mlock': flag,
  }),
  ...without('the cluster has one member', 'Other members.', {
    'listen-peer-urls': texts,
    'initial-cluster': text,
    'initial-cluster-state': text,
    'initial-cluster-token': text,
    'heartbeat-interval': number,
    'election-timeout': number,
    'initial-election-tick-advance': flag,
    'pre-vote': flag,
    'strict-reconfig-check': flag,
    discovery: text,
    'discovery-fallback': text,
    'discovery-proxy': text,
    'discovery-srv': text,
    'discovery-srv-name': text,
    'peer-cert-file': text,
    'peer-key-file': text,
    'peer-client-cert-auth': flag,
    'peer-trusted-ca-file': text,
    'peer-auto-tls': flag,
    'socket-reuse-port': flag,
    'socket-reuse-address': flag,
  }),
  ...without('a store for tests keeps its own limits and logs only failures', 'Limits and logs.', {
    'max-txn-ops': number,
    'max-request-bytes': number,
    'max-concurrent-streams': number,
    'grpc-keepalive-min-time': text,
    'grpc-keepalive-interval': text,
    'grpc-keepalive-timeout': text,
    'enable-v2': flag,
    'enable-pprof': flag,
    metrics: text,
    'listen-metrics-urls': texts,
    logger: text,
    'log-outputs': texts,
    'log-level': text,
    'log-format': text,
    'enable-log-rotation': flag,
    'log-rotation-config-json': text,
    cors: text,
    'host-whitelist': text,
    'auth-token': text,
    'auth-token-ttl': number,
    'bcrypt-cost': number,
    'experimental-watch-progress-notify-interval': text,
    'experimental-warning-apply-duration': text,
  }),
};

export const etcdOptionTable = { ...unused, ...etcdOptions } as typeof etcdOptions & OptionTable;

/** Options that are not on the command line, from variables such as ETCD_NAME. They come first, so that the others override them. */
export function fromEnvironment(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(etcdOptionTable).flatMap((name) => {
    const value = env[`ETCD_${name.toUpperCase().replaceAll('-', '_')}`];
    return value === undefined || value === '' ? [] : [`--${name}=${value}`];
  });
}

/** One dash is as good as two, as Go's own package of flags has it. */
export function withTwoDashes(argv: readonly string[]): string[] {
  return argv.map((word) => word.replace(/^-(?=[a-z])/, '--'));
}
