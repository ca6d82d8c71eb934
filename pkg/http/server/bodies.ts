/** Reads the bodies of requests into memory: limited in size, in time, and in what each user holds. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import { badRequest, requestEntityTooLarge, requestTimeout, tooManyRequests } from '#apimachinery/errors/status.js';
import { brokenOff, type StreamedBody } from '#http/server/exchange.js';
import type { ServerRequest } from '#http/server/server-request.js';

export interface BodiesOptions {
  readonly clock: Clock;
  /** Limit of one body. */
  readonly maxBytes: number;
  /** A body of which less than `minBytes` arrive in such a period is refused. */
  readonly periodMs: number;
  /** A body that takes longer is refused. */
  readonly limitMs: number;
}

/** 100 bytes per second, at the default period: less than the slowest modems. */
const minBytes = 1000;
const retryAfterSeconds = 1;

/** A body on its way. */
interface Reading {
  /** Bytes so far. */
  size: number;
  /** `size` at the last check; undefined before the first. */
  checked: number | undefined;
  checks: number;
  readonly refuse: (error: Error) => void;
}

export class Bodies {
  readonly #options: BodiesOptions;
  readonly #readings = new Set<Reading>();
  /** One for all readings. */
  #timer: Timer | undefined;

  constructor(options: BodiesOptions) {
    this.#options = options;
  }

  /**
   * Reads the whole body for its request. Throws 413 if it is too large, 429 if its user holds too much memory, 408 if it
   * arrives too slowly, all after calling `refuse`, and 400 if it is incomplete: errors on the way are the client's.
   */
  read(
    { source, length = 0 }: Pick<StreamedBody, 'source' | 'length'>,
    holder: Pick<ServerRequest, 'hold'>,
    refuse: () => void,
  ): Promise<Buffer> {
    const { clock, maxBytes, periodMs } = this.#options;
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      let over = false;
      const stop = (error: unknown) => {
        over = true;
        parts.length = 0;
        this.#readings.delete(reading);
        reject(error);
      };
      const reading: Reading = {
        size: 0,
        checked: undefined,
        checks: 0,
        refuse(error) {
          source.pause();
          refuse();
          stop(error);
        },
      };
      const tooLarge = () => requestEntityTooLarge(`limit is ${maxBytes}`);
      if (length > maxBytes) return reading.refuse(tooLarge());
      const broken = (error?: unknown) => {
        if (over) return;
        const cause = error ?? brokenOff();
        stop(badRequest(String(cause), cause));
      };
      if (source.destroyed) return broken();
      this.#readings.add(reading);
      this.#timer ??= clock.setTimer(this.#check, periodMs);
      source.on('data', (part: Buffer) => {
        if (over) return;
        reading.size += part.length;
        if (reading.size > maxBytes) reading.refuse(tooLarge());
        else if (holder.hold(part.length)) parts.push(part);
        else reading.refuse(tooMuch());
      });
      source.on('end', () => {
        if (over) return;
        over = true;
        this.#readings.delete(reading);
        const [only] = parts;
        resolve(parts.length === 1 && only !== undefined ? only : Buffer.concat(parts, reading.size));
      });
      source.on('error', broken);
      source.on('close', () => broken());
    });
  }

  readonly #check = (): void => {
    const { clock, periodMs, limitMs } = this.#options;
    for (const reading of this.#readings) {
      const { size, checked } = reading;
      reading.checks++;
      const slow = checked !== undefined && size - checked < minBytes;
      reading.checked = size;
      if (slow || reading.checks * periodMs > limitMs) reading.refuse(tooSlow());
    }
    this.#timer = this.#readings.size === 0 ? undefined : clock.setTimer(this.#check, periodMs);
  };
}

function tooSlow(): Error {
  return requestTimeout('the body of the request arrives too slowly');
}

function tooMuch(): Error {
  return tooManyRequests(
    'The bodies of your requests hold as much memory as the server allows, please try again later.',
    retryAfterSeconds,
  );
}
