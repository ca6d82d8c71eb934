/** Resolves a name as a pod would, without a DNS server, for clusters in tests. */
import { decode } from 'dns-packet';
import { Registry } from 'prom-client';
import { services } from '#api/core/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { silentLogger } from '#daemon/log/logger.js';
import { Forwarder } from '#dns/forward/forwarder.js';
import { labelsOf } from '#dns/message/names.js';
import { maxMessageBytes, recordType } from '#dns/message/numbers.js';
import { readQuery, writeQuery } from '#dns/message/query.js';
import { writeResponse } from '#dns/message/response.js';
import { DnsMetrics } from '#dns/metrics/dns-metrics.js';
import { RecordTable } from '#dns/records/table.js';
import { ClusterZone } from '#dns/records/zone.js';
import { Resolver } from '#dns/resolver.js';

export interface NameQuestion {
  readonly name: string;
  /** Namespace of the pod; names may omit it. */
  readonly namespace: string;
  /** `cluster.local`. */
  readonly domain: string;
}

const ttl = 5;

/** Addresses of the first existing name of the search list; empty if none exists. Reads the API. */
export async function resolveName(client: Client, clock: Clock, question: NameQuestion): Promise<string[]> {
  const { name, namespace, domain } = question;
  const resolver = await resolverOf(client, clock, domain);
  const own = [`${namespace}.svc.${domain}`, `svc.${domain}`, domain];
  const searches = name.endsWith('.') ? [[]] : [...own.map(labelsOf), []];
  for (const search of searches) {
    const labels = [...labelsOf(name), ...search];
    const addresses: string[] = [];
    for (const type of [recordType.A, recordType.AAAA]) addresses.push(...(await addressesOf(resolver, labels, type)));
    if (addresses.length > 0) return addresses;
  }
  return [];
}

async function resolverOf(client: Client, clock: Clock, domain: string): Promise<Resolver> {
  const { dialect } = client;
  const table = new RecordTable(dialect.labels.serviceName);
  for (const service of (await client.resource(services).list()).items) table.setService(service);
  for (const slice of (await client.resource(endpointslices).list()).items) table.setSlice(slice);
  const metrics = new DnsMetrics(new Registry(), dialect, '');
  const exchange = () => Promise.reject(new Error('there is no other resolver'));
  return new Resolver({
    zone: new ClusterZone({ table, domain, ttl, serverAddresses: [] }),
    forwarder: new Forwarder({ clock, log: silentLogger, metrics, exchange, randomId: () => 0 }),
    ...{ clock, metrics, ttl },
    hasSynced: () => true,
    namespaceOf: () => undefined,
    hostSearches: () => [],
  });
}

async function addressesOf(resolver: Resolver, labels: readonly string[], type: number): Promise<string[]> {
  const read = readQuery(writeQuery(0, { labels, type, dnssecOk: false, checkingDisabled: false }));
  if (read.kind !== 'query') return [];
  const content = await resolver.resolve(read.query, '');
  const { answers = [] } = decode(writeResponse(read.query, content, { maxBytes: maxMessageBytes, random: () => 0 }));
  return answers.flatMap((answer) => (answer.type === 'A' || answer.type === 'AAAA' ? [answer.data] : []));
}
