/** What a request costs: processor time of all threads, and how long it keeps everybody else waiting. */
import type { ApiServer } from '#apiserver/apiserver.js';
import { call } from '#test/integration/apiserver/server.js';

export interface CostRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface Cost {
  readonly status: number;
  /** Of body, path and headers. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cpuMs: number;
  /** The longest turn of the event loop. */
  readonly turnMs: number;
  /** The answer, as far as it is of interest when something is wrong. */
  readonly text: string;
}

/** Sends one and waits for all of its answer. */
export async function costOf(server: ApiServer, request: CostRequest): Promise<Cost> {
  const { method, url, headers = {}, body } = request;
  let last = performance.now();
  let turnMs = 0;
  let under = true;
  const tick = () => {
    const now = performance.now();
    turnMs = Math.max(turnMs, now - last);
    last = now;
    if (under) setImmediate(tick);
  };
  setImmediate(tick);
  const before = process.cpuUsage();
  const answer = await call(server, method, url, { headers, ...(body === undefined ? {} : { body }) });
  const { user, system } = process.cpuUsage(before);
  under = false;
  turnMs = Math.max(turnMs, performance.now() - last);
  const named = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return {
    status: answer.status,
    bytesIn: (body?.length ?? 0) + url.length + named,
    bytesOut: answer.text.length,
    cpuMs: (user + system) / 1000,
    turnMs,
    text: answer.text.slice(0, 400),
  };
}
