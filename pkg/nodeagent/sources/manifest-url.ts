/** Static pods from a web server, polled periodically. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, upkeepClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { ManifestError, type ManifestReader, maxManifestBytes } from '#nodeagent/sources/static-pod.js';

export interface ManifestURLOptions {
  readonly url: string;
  /** Name and value; names may repeat. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly periodMs: number;
  readonly reader: ManifestReader;
  readonly clock: Clock;
  readonly log: Logger;
  /** All pods of the response; not called while the response stays the same. */
  readonly onPods: (pods: readonly Pod[]) => void;
}

const timeoutMs = 10_000;
/** Consecutive failures to log as warnings; later ones would fill the log. */
const loggedFailures = 4;

/** Parses `Name:value`, the format of the option and of the configuration file. Throws RangeError. */
export function parseHeaders(texts: readonly string[]): [string, string][] {
  return texts.map((text) => {
    const at = text.indexOf(':');
    if (at < 1) throw new RangeError(`malformed header ${JSON.stringify(text)}: must be of the form name:value`);
    return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  });
}

export class ManifestURL {
  readonly #options: ManifestURLOptions;
  #last: Buffer | undefined;
  #failures = 0;

  constructor(options: ManifestURLOptions) {
    this.#options = options;
  }

  /** Polls until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, periodMs } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#poll(signal);
        if (this.#failures > 0) log.info('reading pods from URL works again');
        this.#failures = 0;
      } catch (error) {
        this.#failures++;
        const problem = { problem: messageOf(error) };
        if (signal.aborted) return;
        if (this.#failures <= loggedFailures) log.warn(problem, 'failed to read pods from URL');
        else log.debug(problem, 'failed to read pods from URL');
      }
      await upkeepClock(clock).sleep(periodMs, signal);
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { url, headers, reader, onPods } = this.#options;
    const data = await this.#download(url, headers, signal);
    if (data.length === 0) {
      // An empty response completes the source too: it has no pods.
      this.#last = data;
      onPods([]);
      throw new ManifestError(`zero-length data received from ${url}`);
    }
    if (this.#last?.equals(data) === true) return;
    this.#last = data;
    onPods(reader.podsOf(data, url));
  }

  /** Follows redirects, as 1.24 does. Throws for a status other than 200, for large bodies and for timeouts. */
  async #download(url: string, headers: readonly (readonly [string, string])[], signal: AbortSignal): Promise<Buffer> {
    const over = new AbortController();
    const timer = this.#options.clock.setTimer(
      () => over.abort(new Error(`${url}: no response within 10 s`)),
      timeoutMs,
    );
    const stop = () => over.abort(new Error('stopped'));
    signal.addEventListener('abort', stop, { once: true });
    try {
      const response = await fetch(url, {
        headers: headers.map(([name, value]) => [name, value]),
        signal: over.signal,
      });
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of response.body ?? []) {
        size += chunk.length;
        if (size > maxManifestBytes) throw new ManifestError(`${url}: the read limit is reached`);
        chunks.push(chunk);
      }
      if (response.status !== 200) throw new ManifestError(`${url}: ${response.status} ${response.statusText}`);
      return Buffer.concat(chunks);
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', stop);
      over.abort();
    }
  }
}
