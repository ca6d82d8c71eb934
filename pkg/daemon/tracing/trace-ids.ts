/**
 * Which traces are kept. The library's sampler takes the four words of a trace's ID together by XOR, and keeps the trace
 * where the result is below the share of 2^32. So that a daemon keeps the same objects as the others, and they what it asks
 * them for an object, the traces that it begins have IDs that come to the hash of the object's key.
 */
import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace-base';
import { randomFillSync } from 'node:crypto';

const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/** A number of 32 bits, the same everywhere: FNV-1a, mixed well at the end since keys often differ only there. Pure. */
export function shareOf(key: string): number {
  let hash = fnvOffset;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), fnvPrime);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Shares below this are kept: as the library's sampler has it. Pure. */
export function boundOf(ratio: number): number {
  return ratio >= 1 ? 2 ** 32 : Math.floor(ratio * 0xffffffff);
}

/** Random IDs, but for the trace whose share is given. */
export class TraceIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  readonly #words = Buffer.alloc(16);
  #next: number | undefined;

  readonly generateSpanId = this.#random.generateSpanId;

  /** Runs `start`, in which a trace begins. */
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

/** W3C's header `traceparent`, version 00. Pure. */

export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 of them. */
  readonly spanId: string;
  readonly sampled: boolean;
}

/** Undefined for anything that is none: whoever sent that is not followed. */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header ?? '') ?? [];
  // Later versions may say more behind it.
  if (version === '' || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
