/**
 * Forwards queries to the node's resolvers and caches their responses. A stalled resolver delays only its own queries:
 * each has a timeout, equal queries share one request, and their number is limited and divided among the clients.
 */

import type { Clock } from '#apimachinery/clock.js';
import { FairShare } from '#apimachinery/collections/fair-share.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Exchange, Upstream } from '#dns/forward/exchange.js';
import { UpstreamAnswer } from '#dns/forward/upstream-answer.js';
import { responseCode } from '#dns/message/numbers.js';
import { type OutgoingQuestion, writeQuery } from '#dns/message/query.js';
import type { DnsMetrics } from '#dns/metrics/dns-metrics.js';

export interface ForwarderOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: DnsMetrics;
  readonly exchange: Exchange;
  /** An unpredictable number below 65,536. */
  readonly randomId: () => number;
}

/** Limit of clients' pending queries, of which one client may have a third. */
const maxWaiting = 1000;
const clientFactor = 0.5;
const attemptMs = 2000;
/** Clients retry after five seconds. */
const questionMs = 4500;
/** Consecutive failures after which a resolver is tried last. */
const failuresUntilLast = 2;
const cacheEntries = 8192;
/** Larger responses are rare and not cached, which bounds the cache's memory. */
const cachedBytes = 2048;

interface UpstreamState {
  readonly upstream: Upstream;
  readonly name: string;
  failures: number;
  /** It forwards to this server. */
  isLoop: boolean;
}

/** No resolver responded, or there is none. */
export class ForwardError extends Error {
  override readonly name = 'ForwardError';
}

export class Forwarder {
  readonly #options: ForwarderOptions;
  #upstreams: readonly UpstreamState[] = [];
  readonly #waiting = new Map<string, Promise<UpstreamAnswer>>();
  readonly #cache: LruCache<string, UpstreamAnswer>;
  readonly #places = new FairShare<string>({ limit: maxWaiting, factor: clientFactor });

  constructor(options: ForwarderOptions) {
    this.#options = options;
    const ttlMs = (answer: UpstreamAnswer) => answer.keepSeconds * 1000;
    this.#cache = new LruCache({ limit: cacheEntries, age: { clock: options.clock, ttlMs } });
    options.metrics.observeCache(() => this.#cache.size);
  }

  /** False if no usable resolver exists. */
  get hasUpstreams(): boolean {
    return this.#upstreams.some(({ isLoop }) => !isLoop);
  }

  /** Sets the resolvers, in order of preference. True if they changed. */
  setUpstreams(upstreams: readonly Upstream[]): boolean {
    const named = upstreams.map((upstream) => ({ upstream, name: nameOf(upstream) }));
    if (named.map(({ name }) => name).join() === this.#upstreams.map(({ name }) => name).join()) return false;
    const previous = new Map(this.#upstreams.map((state) => [state.name, state]));
    this.#upstreams = named.map(
      ({ upstream, name }) => previous.get(name) ?? { upstream, name, failures: 0, isLoop: false },
    );
    return true;
  }

  /** A cached response. */
  cached(question: OutgoingQuestion): UpstreamAnswer | undefined {
    const { metrics } = this.#options;
    const answer = this.#cache.get(keyOf(question));
    metrics.cacheLooked(answer !== undefined);
    return answer;
  }

  /** `client`: its address. Rejects with a ForwardError. */
  async ask(question: OutgoingQuestion, client: string): Promise<UpstreamAnswer> {
    // Also for equal questions, of which each holds its client's query.
    const release = this.#places.take(client);
    if (release === undefined) {
      this.#options.metrics.rejects.inc();
      throw new ForwardError('too many questions wait for the node’s resolvers');
    }
    try {
      return await this.#askOnce(question);
    } finally {
      release();
    }
  }

  /** Equal pending questions share one request. */
  #askOnce(question: OutgoingQuestion): Promise<UpstreamAnswer> {
    const key = keyOf(question);
    const same = this.#waiting.get(key);
    if (same !== undefined) return same;
    const pending = this.#askAny(question).then((answer) => {
      if (answer.byteLength <= cachedBytes && answer.keepSeconds > 0) this.#cache.set(key, answer);
      return answer;
    });
    this.#waiting.set(key, pending);
    const forget = () => this.#waiting.delete(key);
    pending.then(forget, forget);
    return pending;
  }

  /** Queries each resolver for a unique name; a resolver whose query arrives at this server is not used any more. */
  async findLoops(nameOfProbe: (token: string) => readonly string[], seen: (token: string) => boolean): Promise<void> {
    const { log, randomId } = this.#options;
    await Promise.all(
      this.#upstreams.map(async (state) => {
        const token = `${randomId().toString(16)}-${randomId().toString(16)}-${randomId().toString(16)}`;
        const question = { labels: nameOfProbe(token), type: 1, dnssecOk: false, checkingDisabled: false };
        try {
          await this.#askOne(state, question);
        } catch {
          // A resolver that does not respond may still have forwarded the query.
        }
        if (!seen(token)) return;
        state.isLoop = true;
        log.error({ resolver: state.name }, "a resolver of the node forwards to the cluster's DNS; skipping it");
      }),
    );
  }

  async #askAny(question: OutgoingQuestion): Promise<UpstreamAnswer> {
    const { clock } = this.#options;
    const endMs = clock.monotonic() + questionMs;
    let unhelpful: UpstreamAnswer | undefined;
    const problems: string[] = [];
    const all = this.#upstreams.filter(({ isLoop }) => !isLoop);
    const isLast = ({ failures }: UpstreamState) => failures >= failuresUntilLast;
    const ordered = [...all.filter((state) => !isLast(state)), ...all.filter(isLast)];
    for (const state of [...ordered, ...ordered]) {
      if (clock.monotonic() >= endMs) break;
      try {
        const answer = await this.#askOne(state, question);
        if (answer.code === responseCode.NOERROR || answer.code === responseCode.NXDOMAIN) return answer;
        unhelpful = answer;
      } catch (error) {
        problems.push(`${state.name}: ${messageOf(error)}`);
      }
      // All resolvers have refused; do not ask again.
      if (unhelpful !== undefined && problems.length === 0 && state === ordered.at(-1)) break;
    }
    if (unhelpful !== undefined) return unhelpful;
    throw new ForwardError(problems.length === 0 ? 'the node has no resolver' : problems.slice(-2).join('; '));
  }

  async #askOne(state: UpstreamState, question: OutgoingQuestion): Promise<UpstreamAnswer> {
    const { clock, exchange, metrics, randomId } = this.#options;
    const query = writeQuery(randomId(), question);
    const end = new AbortController();
    const timer = clock.setTimer(() => end.abort(new Error(`no answer within ${attemptMs} ms`)), attemptMs);
    const startMs = clock.monotonic();
    metrics.forwarding(state.name);
    try {
      const message = await exchange(state.upstream, query, end.signal);
      const answer = UpstreamAnswer.read(message, clock.monotonic());
      if (answer === undefined) throw new Error('its answer is broken');
      state.failures = 0;
      metrics.forwarded(state.name, answer.code, (clock.monotonic() - startMs) / 1000);
      return answer;
    } catch (error) {
      state.failures += 1;
      metrics.forwardFailed(state.name);
      throw error;
    } finally {
      timer.cancel();
    }
  }
}

function nameOf({ address, port }: Upstream): string {
  return hostPort(address, port);
}

function keyOf({ labels, type, dnssecOk, checkingDisabled }: OutgoingQuestion): string {
  // Labels may contain any character, so each is prefixed with its length.
  return `${type} ${dnssecOk} ${checkingDisabled} ${labels.map((label) => `${label.length}.${label}`).join('')}`;
}
