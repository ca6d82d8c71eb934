/** A transport that simulates network and server faults. */

import { aborted } from '#apimachinery/async/abort.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Transport, TransportRequest, TransportResponse } from '#client/rest/transport.js';
import { TransportError } from '#http/client/transport-error.js';

export type NetworkState =
  /** Responses arrive at once. */
  | 'up'
  /** Connections are refused. */
  | 'down'
  /** Nothing passes in either direction, without errors. */
  | 'partitioned'
  /** Each response and each part of a stream is delayed. */
  | 'slow';

export interface FaultyTransportOptions {
  readonly inner: Transport;
  readonly clock: Clock;
  /** Returns an integer below the argument. */
  readonly random: (below: number) => number;
}

const maxDelayMs = 5000;

export class FaultyTransport implements Transport {
  readonly #options: FaultyTransportOptions;
  readonly #connections = new Set<AbortController>();
  #state: NetworkState = 'up';
  #changed: Deferred<void> = deferred<void>();

  constructor(options: FaultyTransportOptions) {
    this.#options = options;
  }

  set(state: NetworkState): void {
    this.#state = state;
    this.#changed.resolve();
    this.#changed = deferred<void>();
  }

  /** Breaks every connection at its current position. */
  breakAll(): void {
    for (const connection of [...this.#connections]) connection.abort();
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    if (this.#state === 'down') throw new TransportError('ConnectionRefused', 'connection refused');
    const broken = new AbortController();
    const ends = request.signal === undefined ? broken.signal : AbortSignal.any([broken.signal, request.signal]);
    this.#connections.add(broken);
    try {
      await this.#pass(ends);
      const response = await this.#options.inner.request({ ...request, signal: ends });
      // The server has acted; the response may still be lost.
      await this.#pass(ends);
      return { ...response, body: this.#body(response.body, broken, ends) };
    } catch (error) {
      this.#connections.delete(broken);
      throw this.#explain(error, broken);
    }
  }

  close(): Promise<void> {
    this.breakAll();
    return this.#options.inner.close();
  }

  async *#body(body: AsyncIterable<Buffer>, broken: AbortController, ends: AbortSignal): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of body) {
        await this.#pass(ends);
        // A connection may break within a line.
        const half = chunk.length >> 1;
        yield chunk.subarray(0, half);
        if (ends.aborted) throw new Error('broken');
        yield chunk.subarray(half);
      }
    } catch (error) {
      throw this.#explain(error, broken);
    } finally {
      this.#connections.delete(broken);
    }
  }

  #explain(error: unknown, broken: AbortController): unknown {
    return broken.signal.aborted
      ? new TransportError('ConnectionReset', 'the connection broke', { cause: error })
      : error;
  }

  /** Waits as long as the network delays data. */
  async #pass(ends: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    if (this.#state === 'slow') await clock.sleep(random(maxDelayMs), ends);
    while (this.#state === 'partitioned' && !ends.aborted) await Promise.race([this.#changed.promise, aborted(ends)]);
    if (ends.aborted) throw new TransportError('Aborted', 'request aborted');
  }
}
