/**
 * The cluster's zone, following version 1.1 of the DNS specification of 1.24's clusters. All data is in memory, so a
 * lookup takes microseconds.
 */
import { formatAddress } from '#apimachinery/net/ip.js';
import { strictFamily } from '#apimachinery/net/parse-ip.js';
import { isWithin, labelsOf, nameBytes } from '#dns/message/names.js';
import { headerBytes, recordType } from '#dns/message/numbers.js';
import { addressRecords, joined, type RecordSet, record } from '#dns/message/records.js';
import type { RecordTable, ServiceEntry } from '#dns/records/table.js';

export type Lookup =
  | { readonly kind: 'records'; readonly answers: RecordSet; readonly additional?: RecordSet }
  /** An alias; `cname` is its record. */
  | { readonly kind: 'alias'; readonly target: readonly string[]; readonly cname: RecordSet }
  /** The name exists without records of the type. */
  | { readonly kind: 'nodata' }
  | { readonly kind: 'nxdomain' }
  /** Not part of the cluster. */
  | { readonly kind: 'outside' };

export interface ClusterZoneOptions {
  readonly table: RecordTable;
  /** `cluster.local`. */
  readonly domain: string;
  /** TTL of records and negative responses; seconds. */
  readonly ttl: number;
  /** Addresses of this server. */
  readonly serverAddresses: readonly string[];
}

/** Names of one address in an answer; clients use the first. */
const maxNames = 100;
const specification = '1.1.0';
const nodata: Lookup = { kind: 'nodata' };
const nxdomain: Lookup = { kind: 'nxdomain' };
const outside: Lookup = { kind: 'outside' };
const day = 86_400;

export class ClusterZone {
  readonly domain: readonly string[];
  readonly #table: RecordTable;
  readonly #ttl: number;
  readonly #serverAddresses: readonly string[];
  readonly #domainBytes: number;
  /** Owner as a pointer; the serial number is 20 bytes before the end. */
  readonly #soa: RecordSet;

  constructor({ table, domain, ttl, serverAddresses }: ClusterZoneOptions) {
    this.domain = labelsOf(domain);
    this.#table = table;
    this.#ttl = ttl;
    this.#serverAddresses = serverAddresses;
    this.#domainBytes = nameBytes(this.domain).length;
    const name = this.domain.join('.');
    this.#soa = record('question', {
      type: 'SOA',
      ttl,
      data: {
        mname: `ns.dns.${name}`,
        rname: `hostmaster.${name}`,
        serial: 0,
        refresh: 7200,
        retry: 1800,
        expire: day,
        minimum: ttl,
      },
    });
  }

  lookup(labels: readonly string[], type: number): Lookup {
    if (!isWithin(labels, this.domain)) return this.#reverse(labels, type);
    const below = labels.slice(0, labels.length - this.domain.length);
    switch (below.at(-1)) {
      case undefined:
        return this.#apex(type);
      case 'svc':
        return this.#services(below.slice(0, -1), type);
      case 'pod':
        return this.#pods(below.slice(0, -1), type);
      case 'dns':
        return this.#server(below.slice(0, -1), type);
      case 'dns-version':
        return below.length === 1 ? this.#version(type) : nxdomain;
      default:
        return nxdomain;
    }
  }

  /** SOA record of a negative response; its owner is the domain at the end of a name of this length. */
  authority(questionNameBytes: number): RecordSet {
    const bytes = Buffer.from(this.#soa.bytes);
    bytes.writeUInt16BE(0xc000 | (headerBytes + questionNameBytes - this.#domainBytes), 0);
    bytes.writeUInt32BE(this.#table.changes >>> 0, bytes.length - 20);
    return { bytes, count: 1 };
  }

  #apex(type: number): Lookup {
    const name = this.domain.join('.');
    if (type === recordType.SOA) return recordsOrNodata(this.authority(this.#domainBytes));
    if (type === recordType.NS)
      return recordsOrNodata(
        record('question', { type: 'NS', ttl: this.#ttl, data: `ns.dns.${name}` }),
        this.#serverRecords(['ns', 'dns', ...this.domain]),
      );
    return nodata;
  }

  #server(below: readonly string[], type: number): Lookup {
    if (below.length === 0) return nodata;
    if (below.length > 1 || below[0] !== 'ns') return nxdomain;
    return isAddress(type)
      ? recordsOrNodata(addressRecords('question', this.#serverAddresses, { type, ttl: this.#ttl }))
      : nodata;
  }

  #serverRecords(owner: readonly string[]): RecordSet {
    const records = (type: number) => addressRecords(owner, this.#serverAddresses, { type, ttl: this.#ttl });
    return joined([records(recordType.A), records(recordType.AAAA)]);
  }

  #version(type: number): Lookup {
    return type === recordType.TXT
      ? recordsOrNodata(record('question', { type: 'TXT', ttl: this.#ttl, data: specification }))
      : nodata;
  }

  /** Pod names contain their address; the specification does not require that the pod exists. */
  #pods(below: readonly string[], type: number): Lookup {
    if (below.length < 2) return nodata;
    const address = below.length === 2 ? addressOfPodLabel(below[0] ?? '') : undefined;
    if (address === undefined) return nxdomain;
    return isAddress(type) ? recordsOrNodata(addressRecords('question', [address], { type, ttl: this.#ttl })) : nodata;
  }

  #services(below: readonly string[], type: number): Lookup {
    const namespace = below.at(-1);
    const name = below.at(-2);
    if (namespace === undefined) return nodata;
    if (name === undefined) return this.#table.hasServices(namespace) ? nodata : nxdomain;
    const entry = this.#table.service(namespace, name);
    if (entry === undefined) return nxdomain;
    const { externalName } = entry;
    if (externalName !== undefined) return below.length === 2 ? this.#alias(externalName) : nxdomain;
    return this.#service(entry, below.slice(0, -2), type);
  }

  #alias(externalName: string): Lookup {
    const target = labelsOf(externalName);
    // The API server validates the name, but it may not be encodable as a record.
    if (!isName(target)) return nodata;
    return {
      kind: 'alias',
      target,
      cname: record('question', { type: 'CNAME', ttl: this.#ttl, data: target.join('.') }),
    };
  }

  #service(entry: ServiceEntry, below: readonly string[], type: number): Lookup {
    const view = entry.view(this.domain, this.#ttl);
    if (!view.exists) return nxdomain;
    const [first = '', second = ''] = below;
    switch (below.length) {
      case 0: {
        if (type !== recordType.SRV) return isAddress(type) ? recordsOrNodata(view.addresses(type)) : nodata;
        const { answers, additional } = view.allPorts();
        return recordsOrNodata(answers, additional);
      }
      case 1: {
        if (view.hasProtocol(first)) return nodata;
        const records = view.endpoint(first, type);
        if (records === undefined) return nxdomain;
        return isAddress(type) ? recordsOrNodata(records) : nodata;
      }
      case 2: {
        const ports = view.port(first, second);
        if (ports === undefined) return nxdomain;
        return type === recordType.SRV ? recordsOrNodata(ports.answers, ports.additional) : nodata;
      }
      default:
        return nxdomain;
    }
  }

  /** Reverse names of the cluster's addresses; others are outside. */
  #reverse(labels: readonly string[], type: number): Lookup {
    const address = addressOfReverse(labels);
    const owners = address === undefined ? [] : this.#table.ownersOf(address, maxNames);
    if (owners.length === 0) return outside;
    if (type !== recordType.PTR) return nodata;
    const names = owners.map(({ entry, label }) =>
      [...(label === undefined ? [] : [label]), entry.name, entry.namespace, 'svc', ...this.domain].join('.'),
    );
    return recordsOrNodata(joined(names.map((data) => record('question', { type: 'PTR', ttl: this.#ttl, data }))));
  }
}

const isAddress = (type: number): boolean => type === recordType.A || type === recordType.AAAA;

function recordsOrNodata(answers: RecordSet, additional?: RecordSet): Lookup {
  if (answers.count === 0) return nodata;
  return additional === undefined ? { kind: 'records', answers } : { kind: 'records', answers, additional };
}

function isName(labels: readonly string[]): boolean {
  try {
    return labels.length > 0 && nameBytes(labels).length > 0;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Address of a reverse name such as `1.0.96.10.in-addr.arpa`; undefined for partial names. */
function addressOfReverse(labels: readonly string[]): string | undefined {
  const [domain, top] = labels.slice(-2);
  if (top !== 'arpa') return undefined;
  const parts = labels.slice(0, -2).reverse();
  if (domain === 'in-addr') return parts.length === 4 ? ipv4(parts) : undefined;
  if (domain !== 'ip6' || parts.length !== 32 || !parts.every((part) => /^[0-9a-f]$/.test(part))) return undefined;
  return formatAddress(Buffer.from(parts.join(''), 'hex'));
}

function ipv4(parts: readonly string[]): string | undefined {
  const isPart = (part: string) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256;
  return parts.every(isPart) ? parts.join('.') : undefined;
}

/** Address in a pod's label: `10-244-0-7`, `fd00--7`; undefined if invalid. */
function addressOfPodLabel(label: string): string | undefined {
  const parts = label.split('-');
  if (parts.length === 4) {
    const address = ipv4(parts);
    if (address !== undefined) return address;
  }
  const address = parts.join(':');
  return address.includes(':') && strictFamily(address) === 6 ? address : undefined;
}
