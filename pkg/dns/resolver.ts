/** Answers a question: from the cluster's records, by another name, or through the node's resolvers. */
import type { Clock } from '#apimachinery/clock.js';
import { ForwardError, type Forwarder } from '#dns/forward/forwarder.js';
import { isWithin, nameBytes } from '#dns/message/names.js';
import { flag, recordType, responseCode } from '#dns/message/numbers.js';
import type { Query, OutgoingQuestion } from '#dns/message/query.js';
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
  /** False while nothing is known of the cluster yet: then nothing is said about it either. */
  readonly hasSynced: () => boolean;
  /** The namespace of the pod with that address, where that is known and the pod searches its namespace's domain. */
  readonly namespaceOf: (address: string) => string | undefined;
  /** Domains that pods search after the cluster's. */
  readonly hostSearches: () => readonly (readonly string[])[];
}

/** Names that lead to names. */
const maxAliases = 8;
/** Below the cluster's domain; nothing else has such names. */
const probeLabel = 'loop-probe';
/** Probes that came back and that nobody has asked for are somebody's mischief; they must not pile up. */
const maxProbes = 100;

/** The outcome for another name than the question's: the owners of its records are in full. */
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

  /** At once for whatever is in memory. Never rejects. */
  resolve(query: Query, source: string): Content | Promise<Content> {
    const { zone, hasSynced } = this.#options;
    const { labels, type } = query;
    const lookup = zone.lookup(labels, type);
    if (lookup.kind === 'outside') return this.#forward(query);
    if (lookup.kind === 'nxdomain') this.#notice(labels);
    if (!hasSynced()) return failed;
    if (lookup.kind === 'alias') return this.#alias(query, lookup);
    if (lookup.kind === 'nxdomain') {
      const base = this.#searched(query, source);
      if (base !== undefined) return this.#search(query, base);
    }
    return contentOf(lookup, query, zone);
  }

  /** The name that is asked for to find out whether a resolver asks this server. */
  probe(token: string): readonly string[] {
    return [token, probeLabel, ...this.#options.zone.domain];
  }

  /** True when that probe has come back. */
  hasSeen(token: string): boolean {
    return this.#probes.delete(token);
  }

  #notice(labels: readonly string[]): void {
    if (labels[1] !== probeLabel || this.#probes.size >= maxProbes) return;
    this.#probes.add(labels[0] ?? '');
  }

  #forward(query: Query): Content | Promise<Content> {
    const { clock, forwarder } = this.#options;
    if (!forwarder.hasUpstreams) return { code: responseCode.REFUSED };
    const question = outgoing(query, query.labels);
    const cached = forwarder.cached(question);
    if (cached !== undefined) return cached.content(clock.monotonic());
    return forwarder.ask(question).then((answer) => answer.content(clock.monotonic()), failure);
  }

  async #alias(query: Query, { target, cname }: Extract<Lookup, { kind: 'alias' }>): Promise<Content> {
    if (query.type === recordType.CNAME) return { code: responseCode.NOERROR, authoritative: true, answers: cname };
    try {
      const { code, answers } = await this.#follow(query, target, maxAliases);
      return { code, authoritative: true, answers: joined([cname, answers]) };
    } catch (error) {
      return failure(error);
    }
  }

  async #follow(query: Query, labels: readonly string[], aliases: number): Promise<Followed> {
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
        const answer = forwarder.cached(question) ?? (await forwarder.ask(question));
        if (answer.code !== responseCode.NOERROR && answer.code !== responseCode.NXDOMAIN)
          throw new ForwardError(`code ${answer.code}`);
        return { code: answer.code, answers: answer.expandedAnswers(clock.monotonic()) };
      }
      default:
        return lookup satisfies never;
    }
  }

  /** What a pod looks for when its resolver has added the first domain of its search list; undefined for all else. */
  #searched({ labels, type }: Query, source: string): readonly string[] | undefined {
    if (type !== recordType.A && type !== recordType.AAAA) return undefined;
    const namespace = this.#options.namespaceOf(source);
    if (namespace === undefined) return undefined;
    const domain = [namespace, 'svc', ...this.#options.zone.domain];
    return labels.length > domain.length && isWithin(labels, domain)
      ? labels.slice(0, labels.length - domain.length)
      : undefined;
  }

  /** Goes through the rest of the search list in the pod's place, which has asked for its first name. */
  async #search(query: Query, base: readonly string[]): Promise<Content> {
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

/** Whatever the reason, clients try somebody else. It is counted where it happened. */
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

/** A base and a domain may be too long together. Records of the package have no dots in their labels. */
function isSendable(labels: readonly string[]): boolean {
  if (labels.some((label) => label.includes('.'))) return false;
  try {
    return nameBytes(labels).length > 0;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** What is answered to a question that the cluster's records decide. */

/** `lookup`: of the question's own name, neither an alias nor outside of the zone. */
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
      // Reverse names have their own domain, whose records are not the cluster's.
      if (labels.at(-1) !== zone.domain.at(-1)) return { code, authoritative: true };
      return { code, authoritative: true, authority: zone.authority(question.length - 4) };
    }
    default:
      return lookup satisfies never;
  }
}
