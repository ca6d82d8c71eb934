/** Measures a request: processor time of all threads, and the longest turn of the event loop. */
import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { ThreadTime } from '#test/fuzz/cost/thread-time.js';

/** A turn of the event loop, measured in processor time, which does not depend on other load. */
interface Turn {
  /** On the clock of `performance`. */
  readonly fromMs: number;
  readonly wallMs: number;
  readonly processorMs: number;
}

/**
 * Measures every turn after construction. Excludes major garbage collections, whose cost depends on all live objects of
 * the process; minor ones belong to the turn's own garbage.
 */
class Turns {
  readonly #thread = new ThreadTime();
  readonly #turns: Turn[] = [];
  readonly #collections = new PerformanceObserver(() => {});
  #under = true;
  #fromMs = performance.now();
  #threadMs = this.#thread.milliseconds();

  constructor() {
    this.#collections.observe({ entryTypes: ['gc'] });
    setImmediate(this.#tick);
  }

  /** The longest turn; ms. */
  async stop(): Promise<number> {
    this.#under = false;
    this.#measure();
    this.#thread.close();
    // Collections are reported one turn later.
    await new Promise((resolve) => setImmediate(resolve));
    const old = this.#collections.takeRecords().filter(isOld);
    this.#collections.disconnect();
    let longestMs = 0;
    for (const { fromMs, wallMs, processorMs } of this.#turns) {
      const within = old.filter(({ startTime }) => startTime >= fromMs && startTime < fromMs + wallMs);
      const collectingMs = within.reduce((sum, { duration }) => sum + duration, 0);
      // The system counts in ticks, so a short turn may include time of an earlier one.
      const lastedMs = Math.min(wallMs, processorMs);
      // The waiting time inside a collection is unknown: assumes the same share as in the turn.
      longestMs = Math.max(longestMs, lastedMs * (1 - Math.min(1, collectingMs / wallMs)));
    }
    return longestMs;
  }

  readonly #tick = (): void => {
    if (!this.#under) return;
    this.#measure();
    setImmediate(this.#tick);
  };

  #measure(): void {
    const [nowMs, threadMs] = [performance.now(), this.#thread.milliseconds()];
    const turn = { fromMs: this.#fromMs, wallMs: nowMs - this.#fromMs, processorMs: threadMs - this.#threadMs };
    // A request that is parsed in another thread waits for a hundred thousand empty turns.
    if (turn.wallMs > 1) this.#turns.push(turn);
    this.#fromMs = nowMs;
    this.#threadMs = threadMs;
  }
}

function isOld(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail: NodeGCPerformanceDetail };
  return detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR;
}

export interface CostRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface Cost {
  readonly status: number;
  /** Bytes of body, path and headers. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cpuMs: number;
  /** The longest turn of the event loop, as measured by `Turns`. */
  readonly turnMs: number;
  /** The beginning of the response, for error messages. */
  readonly text: string;
}

const excerptBytes = 400;

/** Sends a request and waits for the whole response. */
export async function costOf(server: ApiServer, request: CostRequest): Promise<Cost> {
  const { method, url, headers = {}, body } = request;
  const turns = new Turns();
  const before = process.cpuUsage();
  const answer = await server.handler({
    method,
    url,
    headers,
    body: body ?? Buffer.alloc(0),
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
  });
  let bytesOut = 0;
  let text = '';
  const take = (part: Buffer) => {
    bytesOut += part.length;
    if (text.length < excerptBytes) text += part.toString('utf8', 0, excerptBytes);
  };
  if (Buffer.isBuffer(answer.body)) take(answer.body);
  else if (answer.body !== undefined) for await (const part of answer.body) take(part);
  const { user, system } = process.cpuUsage(before);
  const turnMs = await turns.stop();
  const named = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return {
    status: answer.status,
    bytesIn: (body?.length ?? 0) + url.length + named,
    bytesOut,
    cpuMs: (user + system) / 1000,
    turnMs,
    text: text.slice(0, excerptBytes),
  };
}
