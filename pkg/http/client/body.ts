/** Response bodies as streams, decompressed if necessary. A truncated body is an error. */
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ExchangeResponse } from '#http/client/connections.js';
import type { TransportError } from '#http/client/transport-error.js';

export interface BodyHooks {
  readonly onChunk: (() => void) | undefined;
  readonly explain: (error: unknown) => TransportError;
  readonly release: () => void;
}

/** Yields the body; leaving early ends the exchange. Throws `explain(error)` on failure. */
export async function* readBody(response: ExchangeResponse, hooks: BodyHooks): AsyncGenerator<Buffer> {
  const unpacked = isCompressed(response) ? gunzip(response.body) : response.body;
  try {
    // `cancel` below closes the exchange, as its protocol requires.
    for await (const chunk of unpacked.iterator({ destroyOnReturn: false })) {
      hooks.onChunk?.();
      yield chunk as Buffer;
    }
    if (!response.isComplete()) throw new Error('the response is incomplete');
  } catch (error) {
    throw hooks.explain(error);
  } finally {
    response.cancel();
    if (unpacked !== response.body) unpacked.destroy();
    hooks.release();
  }
}

export function isCompressed(response: Pick<ExchangeResponse, 'headers'>): boolean {
  return response.headers['content-encoding']?.trim().toLowerCase() === 'gzip';
}

/** `pipe` does not propagate errors of its source. */
function gunzip(body: Readable): Readable {
  const unpacked = createGunzip();
  body.on('error', (error) => unpacked.destroy(error));
  body.on('aborted', () => unpacked.destroy(new Error('the response is incomplete')));
  return body.pipe(unpacked);
}
