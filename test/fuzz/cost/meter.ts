/** What a request costs: processor time of all threads, and how long it keeps everybody else waiting. */
import type { ApiServer } from '#apiserver/build/api-server.js';
import { Turns } from '#test/fuzz/cost/turns.js';

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
  /** The longest turn of the event loop, as `Turns` counts. */
  readonly turnMs: number;
  /** The answer, as far as it is of interest when something is wrong. */
  readonly text: string;
}

const excerptBytes = 400;

/** Sends one and waits for all of its answer. */
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
