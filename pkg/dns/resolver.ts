/** Answers a query from the cluster's records, through an alias, or from the node's resolvers. */
import type { Clock } from '#apimachinery/clock.js';
import { ForwardError, type Forwarder } from '#dns/forward/forwarder.js';
import { isWithin, nameBytes } from '#dns/message/names.js';
import { flag, recordType, responseCode } from '#dns/message/numbers.js';
import type { OutgoingQuestion, Query } from '#dns/message/query.js';
import { joined, noRecords, type RecordSet, record, withOwner } from '#dns/message/records.js';
import type { Content } from '#dns/message/response.js';
import type { DnsMetrics } from '#dns/metrics/dns-metrics.js';
import type { ClusterZone, Lookup } from '#dns/records/zone.js';

export interface ResolverOptions {
  readonly zone: ClusterZone;
  readonly forwarder: Forwarder;
  readonly clock: Clock;
  readonly metrics: DnsMetrics;
  readonly ttl: number;
  /** False until the cluster's records are complete; its names are not answered before. */
  readonly hasSynced: () => boolean;
  /** Namespace of the pod with this address, if known and if the pod searches its namespace's domain. */
  readonly namespaceOf: (address: string) => string | undefined;
  /** Domains that pods search after the cluster's. */
  readonly hostSearches: () => readonly (readonly string[])[];
}

/** Limit of chained aliases. */
const maxAliases = 8;
/** Label of probes below the cluster's domain. */
const probeLabel = 'loop-probe';
/** Limit of remembered probes, since clients can send names that look like probes. */
const maxProbes = 100;

interface SourcedQuery extends Query {
  /** The client's address. */
  readonly source: string;
}

/** Result for a name other than the question's, with uncompressed owners. */
interface Followed {
  readonly code: number;
  readonly answers: RecordSet;
}

export class Resolver {
  readonly #options: ResolverOptions;
  readonly #probes = new Set<string>();

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  /** Returns without a promise if the answer is in memory. Never rejects. */
  resolve(query: Query, source: string): Content | Promise<Content> {
    const { zone, hasSynced } = this.#options;
    const { labels, type } = query;
    const lookup = zone.lookup(labels, type);
    if (lookup.kind === 'outside') return this.#forward(query, source);
    if (lookup.kind === 'nxdomain') this.#notice(labels);
    if (!hasSynced()) return failed;
    if (lookup.kind === 'alias') return this.#alias({ ...query, source }, lookup);
    if (lookup.kind === 'nxdomain') {
      const base = this.#searched(query, source);
      if (base !== undefined) return this.#search({ ...query, source }, base);
    }
    return contentOf(lookup, query, zone);
  }

  /** The name of a probe that shows whether a resolver forwards to this server. */
  probe(token: string): readonly string[] {
    return [token, probeLabel, ...this.#options.zone.domain];
  }

  /** True if the probe has arrived. */
  hasSeen(token: string): boolean {
    return this.#probes.delete(token);
  }

  #notice(labels: readonly string[]): void {
    if (labels[1] !== probeLabel || this.#probes.size >= maxProbes) return;
    this.#probes.add(labels[0] ?? '');
  }

  #forward(query: Query, source: string): Content | Promise<Content> {
    const { clock, forwarder } = this.#options;
    if (!forwarder.hasUpstreams) return { code: responseCode.REFUSED };
    const question = outgoing(query, query.labels);
    const cached = forwarder.cached(question);
    if (cached !== undefined) return cached.content(clock.monotonic());
    return forwarder.ask(question, source).then((answer) => answer.content(clock.monotonic()), failure);
  }

  async #alias(query: SourcedQuery, { target, cname }: Extract<Lookup, { kind: 'alias' }>): Promise<Content> {
    if (query.type === recordType.CNAME) return { code: responseCode.NOERROR, authoritative: true, answers: cname };
    try {
      const { code, answers } = await this.#follow(query, target, maxAliases);
      return { code, authoritative: true, answers: joined([cname, answers]) };
    } catch (error) {
      return failure(error);
    }
  }

  async #follow(query: SourcedQuery, labels: readonly string[], aliases: number): Promise<Followed> {
    const { clock, forwarder, zone } = this.#options;
    const lookup = zone.lookup(labels, query.type);
    switch (lookup.kind) {
      case 'records':
        return { code: responseCode.NOERROR, answers: withOwner(lookup.answers, labels) };
      case 'nodata':
        return { code: responseCode.NOERROR, answers: noRecords };
      case 'nxdomain':
        return { code: responseCode.NXDOMAIN, answers: noRecords };
      case 'alias': {
        if (aliases === 0) throw new ForwardError('names lead to names in a circle');
        const { code, answers } = await this.#follow(query, lookup.target, aliases - 1);
        return { code, answers: joined([withOwner(lookup.cname, labels), answers]) };
      }
      case 'outside': {
        const question = outgoing(query, labels);
        const answer = forwarder.cached(question) ?? (await forwarder.ask(question, query.source));
        if (answer.code !== responseCode.NOERROR && answer.code !== responseCode.NXDOMAIN)
          throw new ForwardError(`code ${answer.code}`);
        return { code: answer.code, answers: answer.expandedAnswers(clock.monotonic()) };
      }
      default:
        return lookup satisfies never;
    }
  }

  /** The name that a pod wants, if its resolver has appended the first search domain; otherwise undefined. */
  #searched({ labels, type }: Query, source: string): readonly string[] | undefined {
    if (type !== recordType.A && type !== recordType.AAAA) return undefined;
    const namespace = this.#options.namespaceOf(source);
    if (namespace === undefined) return undefined;
    const domain = [namespace, 'svc', ...this.#options.zone.domain];
    return labels.length > domain.length && isWithin(labels, domain)
      ? labels.slice(0, labels.length - domain.length)
      : undefined;
  }

  /** Continues the search list for a pod that has tried its first domain. */
  async #search(query: SourcedQuery, base: readonly string[]): Promise<Content> {
    const { forwarder, hostSearches, metrics, ttl, zone } = this.#options;
    const own = [['svc', ...zone.domain], zone.domain];
    const others = forwarder.hasUpstreams ? [...hostSearches(), []] : [];
    for (const domain of [...own, ...others]) {
      const labels = [...base, ...domain];
      if (!isSendable(labels)) continue;
      try {
        const { code, answers } = await this.#follow(query, labels, maxAliases);
        if (code === responseCode.NXDOMAIN) continue;
        metrics.autopathSuccesses.inc();
        const cname = record('question', { type: 'CNAME', ttl, data: labels.join('.') });
        return { code, authoritative: true, answers: joined([cname, answers]) };
      } catch (error) {
        return failure(error);
      }
    }
    return contentOf({ kind: 'nxdomain' }, query, zone);
  }
}

const failed: Content = { code: responseCode.SERVFAIL };

/** Clients try another server, whatever the reason; the failure was already counted. */
function failure(_error: unknown): Content {
  return failed;
}

function outgoing({ type, edns, flags }: Query, labels: readonly string[]): OutgoingQuestion {
  return {
    labels,
    type,
    dnssecOk: edns?.dnssecOk === true,
    checkingDisabled: (flags & flag.checkingDisabled) !== 0,
  };
}

/** A name with a search domain may be too long. The DNS package does not support dots in labels. */
function isSendable(labels: readonly string[]): boolean {
  if (labels.some((label) => label.includes('.'))) return false;
  try {
    return nameBytes(labels).length > 0;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Content of a response from the zone. `lookup`: for the question's own name, not an alias. */
export function contentOf(
  lookup: Exclude<Lookup, { kind: 'alias' | 'outside' }>,
  { question, labels }: Query,
  zone: ClusterZone,
): Content {
  switch (lookup.kind) {
    case 'records': {
      const { answers, additional } = lookup;
      const content = { code: responseCode.NOERROR, authoritative: true, answers };
      return additional === undefined ? content : { ...content, additional };
    }
    case 'nodata':
    case 'nxdomain': {
      const code = lookup.kind === 'nodata' ? responseCode.NOERROR : responseCode.NXDOMAIN;
      // Reverse names have a domain of their own.
      if (labels.at(-1) !== zone.domain.at(-1)) return { code, authoritative: true };
      return { code, authoritative: true, authority: zone.authority(question.length - 4) };
    }
    default:
      return lookup satisfies never;
  }
}
