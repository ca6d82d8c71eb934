/**
 * Asks the node's own resolvers what the cluster does not know, and keeps their answers. A resolver that hangs costs its
 * own questions only: each has a time-out, equal ones are one, and no more than a limit of them wait.
 */

import type { Clock } from '#apimachinery/clock.js';
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
  /** A number below 65,536 that nobody can guess. */
  readonly randomId: () => number;
}

/** Waiting questions, of all resolvers together and of each. */
const maxWaiting = 1000;
const maxWaitingOfOne = 500;
const attemptMs = 2000;
/** Clients ask again after five seconds. */
const questionMs = 4500;
/** Time-outs in a row after which a resolver is asked last. */
const failuresUntilLast = 2;
const cacheEntries = 8192;
/** Larger answers are rare, and are not kept: the cache holds a bounded number of bytes. */
const cachedBytes = 2048;

interface UpstreamState {
  readonly upstream: Upstream;
  readonly name: string;
  waiting: number;
  failures: number;
  /** It asks this server itself. */
  isLoop: boolean;
}

/** Nobody could be asked, or nobody answered. */
export class ForwardError extends Error {
  override readonly name = 'ForwardError';
}

export class Forwarder {
  readonly #options: ForwarderOptions;
  #upstreams: readonly UpstreamState[] = [];
  readonly #waiting = new Map<string, Promise<UpstreamAnswer>>();
  readonly #cache: LruCache<string, UpstreamAnswer>;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    const ttlMs = (answer: UpstreamAnswer) => answer.keepSeconds * 1000;
    this.#cache = new LruCache({ limit: cacheEntries, age: { clock: options.clock, ttlMs } });
    options.metrics.observeCache(() => this.#cache.size);
  }

  /** False where there is nobody to ask. */
  get hasUpstreams(): boolean {
    return this.#upstreams.some(({ isLoop }) => !isLoop);
  }

  /** In the order of preference. True when they are others than before. */
  setUpstreams(upstreams: readonly Upstream[]): boolean {
    const named = upstreams.map((upstream) => ({ upstream, name: nameOf(upstream) }));
    if (named.map(({ name }) => name).join() === this.#upstreams.map(({ name }) => name).join()) return false;
    const previous = new Map(this.#upstreams.map((state) => [state.name, state]));
    this.#upstreams = named.map(
      ({ upstream, name }) => previous.get(name) ?? { upstream, name, waiting: 0, failures: 0, isLoop: false },
    );
    return true;
  }

  /** An answer that is known already. */
  cached(question: OutgoingQuestion): UpstreamAnswer | undefined {
    const { metrics } = this.#options;
    const answer = this.#cache.get(keyOf(question));
    metrics.cacheLooked(answer !== undefined);
    return answer;
  }

  /** Rejects with a ForwardError. */
  ask(question: OutgoingQuestion): Promise<UpstreamAnswer> {
    const key = keyOf(question);
    const same = this.#waiting.get(key);
    if (same !== undefined) return same;
    if (this.#waiting.size >= maxWaiting) {
      this.#options.metrics.rejects.inc();
      return Promise.reject(new ForwardError('too many questions wait for the node’s resolvers'));
    }
    const pending = this.#askAny(question).then((answer) => {
      if (answer.byteLength <= cachedBytes && answer.keepSeconds > 0) this.#cache.set(key, answer);
      return answer;
    });
    this.#waiting.set(key, pending);
    const forget = () => this.#waiting.delete(key);
    pending.then(forget, forget);
    return pending;
  }

  /** Asks each resolver for a name that only it is asked for; those whose question comes back are asked no more. */
  async findLoops(nameOfProbe: (token: string) => readonly string[], seen: (token: string) => boolean): Promise<void> {
    const { log, randomId } = this.#options;
    await Promise.all(
      this.#upstreams.map(async (state) => {
        const token = `${randomId().toString(16)}-${randomId().toString(16)}-${randomId().toString(16)}`;
        const question = { labels: nameOfProbe(token), type: 1, dnssecOk: false, checkingDisabled: false };
        try {
          await this.#askOne(state, question);
        } catch {
          // One that does not answer may have asked this server all the same.
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
      // Each has said no by itself; asking again would not help.
      if (unhelpful !== undefined && problems.length === 0 && state === ordered.at(-1)) break;
    }
    if (unhelpful !== undefined) return unhelpful;
    throw new ForwardError(problems.length === 0 ? 'the node has no resolver' : problems.slice(-2).join('; '));
  }

  async #askOne(state: UpstreamState, question: OutgoingQuestion): Promise<UpstreamAnswer> {
    const { clock, exchange, metrics, randomId } = this.#options;
    if (state.waiting >= maxWaitingOfOne) throw new Error('too many questions wait for it');
    const query = writeQuery(randomId(), question);
    const end = new AbortController();
    const timer = clock.setTimer(() => end.abort(new Error(`no answer within ${attemptMs} ms`)), attemptMs);
    const startMs = clock.monotonic();
    state.waiting += 1;
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
      state.waiting -= 1;
    }
  }
}

function nameOf({ address, port }: Upstream): string {
  return hostPort(address, port);
}

function keyOf({ labels, type, dnssecOk, checkingDisabled }: OutgoingQuestion): string {
  // A label may contain any character, and its length tells where it ends.
  return `${type} ${dnssecOk} ${checkingDisabled} ${labels.map((label) => `${label.length}.${label}`).join('')}`;
}
