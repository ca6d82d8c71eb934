/** Options of the store. */
import { posix } from 'node:path';
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Etcd';

export const etcdOptions = {
  'etcd-servers': { type: 'strings', section, meaning: 'Addresses of etcd, scheme://host:port, comma separated.' },
  'etcd-cafile': { type: 'string', section, meaning: 'CA bundle for etcd.' },
  'etcd-certfile': { type: 'string', section, meaning: 'Client certificate for etcd.' },
  'etcd-keyfile': { type: 'string', section, meaning: 'Key of the client certificate for etcd.' },
  'etcd-prefix': { type: 'string', default: '/registry', section, meaning: 'Prefix of all keys in etcd.' },
  'etcd-servers-overrides': {
    type: 'strings',
    section,
    meaning:
      'Other etcd servers for single resources, including custom ones: group/resource#servers, where servers are URLs, semicolon separated.',
  },
  'etcd-compaction-interval': {
    type: 'duration',
    default: 300_000,
    section,
    meaning: 'Time between compactions, which is also how long history is kept; 0 turns compaction off.',
  },
  'etcd-count-metric-poll-period': {
    type: 'duration',
    default: 60_000,
    section,
    meaning: 'How often objects are counted for the metrics; 0 turns that off.',
  },
  'etcd-db-metric-poll-interval': {
    type: 'duration',
    default: 30_000,
    section,
    meaning: 'How often the size of the store is measured for the metrics; 0 turns that off.',
  },
  'etcd-healthcheck-timeout': {
    type: 'duration',
    default: 2000,
    section,
    meaning: 'Time limit of the health check of etcd.',
  },
  'lease-reuse-duration-seconds': {
    type: 'int',
    default: 60,
    section,
    meaning: 'Longest time that an etcd lease is reused for further keys.',
  },
  'storage-backend': { type: 'string', default: 'etcd3', choices: ['etcd3'], section, meaning: 'The kind of store.' },
  'storage-media-type': {
    type: 'string',
    default: 'application/json',
    inert: 'objects are stored as JSON; objects in other formats can be read',
    inertUnless: ['', 'application/json'],
    section,
    meaning: 'Format in which objects are stored. Empty: JSON.',
  },
  'encryption-provider-config': {
    type: 'string',
    section,
    meaning: 'Encryption configuration: the resources that are encrypted in the store, and their keys.',
  },
  'enable-garbage-collector': {
    type: 'bool',
    default: true,
    section,
    meaning:
      'Set the finalizers by which a garbage collector orphans or deletes dependents. Must equal the option of the controller manager.',
  },
  'delete-collection-workers': {
    type: 'int',
    default: 1,
    section,
    meaning: 'Concurrent deletions by one request to delete a collection.',
  },
  'watch-cache': {
    type: 'bool',
    default: true,
    section,
    meaning:
      'Serve reads from memory where they may be older than the store (resourceVersion=0). If false, all reads are as new as the store; watches are served from memory in any case.',
  },
  'default-watch-cache-size': {
    type: 'int',
    default: 100,
    inert: 'caches size themselves; release 1.24 does not read it, either',
    section,
    meaning: 'Events kept per resource; the cache sizes itself.',
  },
  'watch-cache-sizes': {
    type: 'strings',
    section,
    meaning:
      'Size 0 turns the watch cache of a resource off, resource.group#0; other sizes log a warning, because caches size themselves.',
  },
} as const satisfies OptionTable;

/** Prefix of the keys in etcd: with a leading slash, without a trailing one. */
export function etcdRoot(prefix: string): string {
  return posix.join('/', prefix).replace(/\/$/, '');
}
