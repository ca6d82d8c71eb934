/**
 * Decides which traces are kept. The library's sampler combines the four words of a trace ID by XOR and keeps the trace
 * if the result is below the share of 2^32. New traces get IDs that combine to the hash of the object's key, so that
 * all daemons keep traces of the same objects.
 */

import { randomFillSync } from 'node:crypto';
import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace-base';

const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/** A 32-bit hash, equal everywhere: FNV-1a with final mixing, because keys often differ only at the end. Pure. */
export function shareOf(key: string): number {
  let hash = fnvOffset;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), fnvPrime);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Hashes below this are kept, as in the library's sampler. Pure. */
export function boundOf(ratio: number): number {
  return ratio >= 1 ? 2 ** 32 : Math.floor(ratio * 0xffffffff);
}

/** Generates random IDs, except for a trace with a given hash. */
export class TraceIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  readonly #words = Buffer.alloc(16);
  #next: number | undefined;

  readonly generateSpanId = this.#random.generateSpanId;

  /** Runs `start`, which begins a trace with this hash. */
  withShare<T>(share: number, start: () => T): T {
    this.#next = share;
    try {
      return start();
    } finally {
      this.#next = undefined;
    }
  }

  readonly generateTraceId = (): string => {
    const share = this.#next;
    if (share === undefined) return this.#random.generateTraceId();
    const words = this.#words;
    randomFillSync(words, 0, 12);
    const others = words.readUInt32BE(0) ^ words.readUInt32BE(4) ^ words.readUInt32BE(8);
    words.writeUInt32BE((others ^ share) >>> 0, 12);
    return words.toString('hex');
  };
}

/** A parsed `traceparent` header (W3C Trace Context, version 00). */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

/** Undefined for an invalid header, which is ignored. Pure. */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header ?? '') ?? [];
  // Later versions may append fields.
  if (version === '' || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
