/** The state of a loop and its last errors, for debugging. Bounded, and without secrets. */
import { type Clock, formatMicroTime } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import type { WorkQueue } from '#client/workqueue/queue.js';

/** Instants are micro times of the API, durations seconds. */
export interface LoopReport {
  readonly name: string;
  /** Keys worked on at once. */
  readonly concurrency: number;
  /** When a pass over a key last ended; absent: none has. */
  readonly lastSync?: string;
  /** The full length of each of the lists below, which are cut to the limit that was asked for. */
  readonly counts: Readonly<Record<'waiting' | 'working' | 'retrying' | 'scheduled', number>>;
  /** Ready for a worker. */
  readonly waiting: readonly { readonly key: string; readonly seconds: number }[];
  /** `again`: it changed meanwhile and will be reconciled once more. */
  readonly working: readonly { readonly key: string; readonly seconds: number; readonly again: boolean }[];
  /** Failures in a row, and when the next attempt is. */
  readonly retrying: readonly {
    readonly key: string;
    readonly failures: number;
    readonly nextTry: string;
    readonly error?: string;
  }[];
  /** Requeued for later without a failure. */
  readonly scheduled: readonly { readonly key: string; readonly at: string }[];
  /** The last error of each key, the newest first. */
  readonly errors: readonly KeyError[];
}

interface KeyError {
  readonly key: string;
  readonly time: string;
  readonly error: string;
  /** When a later pass over the key succeeded; absent: none has. */
  readonly recovered?: string;
}

/** Can report its state. `limit`: the most keys in each list. */
export interface Reporting {
  report(limit: number): LoopReport;
}

/** The most keys per loop whose last error is kept. */
const keptErrors = 256;
const maxErrorLength = 1024;

/** Remembers how reconciles ended. */
export class PassJournal {
  readonly #clock: Clock;
  readonly #errors = new LruCache<string, KeyError>({ limit: keptErrors });
  #lastMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(key: string, outcome: Outcome): void {
    this.#lastMs = this.#clock.now();
    const time = () => formatMicroTime(this.#clock.now());
    if (outcome.kind === 'retry' || outcome.kind === 'terminal') {
      this.#errors.set(key, { key, time: time(), error: withoutSecrets(messageOf(outcome.error)) });
    } else if (this.#errors.size > 0) {
      const known = this.#errors.get(key);
      if (known !== undefined && known.recovered === undefined) this.#errors.set(key, { ...known, recovered: time() });
    }
  }

  report(queue: WorkQueue<string>, limit: number): Omit<LoopReport, 'name' | 'concurrency'> {
    const { ready, held, delayed } = queue.snapshot();
    const errors = new Map(this.#errors.entries());
    const instant = (inMs: number) => formatMicroTime(this.#clock.now() + inMs);
    const timed = ({ item: key, forMs }: { readonly item: string; readonly forMs: number }) => ({
      key,
      seconds: forMs / 1000,
    });
    const retrying = delayed.filter(({ failures }) => failures > 0);
    const scheduled = delayed.filter(({ failures }) => failures === 0);
    return {
      ...(this.#lastMs === undefined ? {} : { lastSync: formatMicroTime(this.#lastMs) }),
      counts: {
        waiting: ready.length,
        working: held.length,
        retrying: retrying.length,
        scheduled: scheduled.length,
      },
      waiting: ready.slice(0, limit).map(timed),
      working: held.slice(0, limit).map((each) => ({ ...timed(each), again: each.again })),
      retrying: retrying.slice(0, limit).map(({ item: key, failures, inMs }) => {
        const error = errors.get(key)?.error;
        return { key, failures, nextTry: instant(inMs), ...(error === undefined ? {} : { error }) };
      }),
      scheduled: scheduled.slice(0, limit).map(({ item: key, inMs }) => ({ key, at: instant(inMs) })),
      errors: [...errors.values()].reverse().slice(0, limit),
    };
  }
}

const secrets: readonly RegExp[] = [
  /-----BEGIN [^-]*PRIVATE KEY-----[\s\S]*?(?:-----END [^-]*-----|$)/g,
  /\beyJ[\w-]{6,}\.[\w-]+(?:\.[\w-]*)?/g,
  /(?<=\bBearer )\S+/gi,
  /(?<=:\/\/)[^/\s@]+(?=@)/g,
];

/** The text without tokens, private keys and passwords in URLs, cut to `maxErrorLength`. */
export function withoutSecrets(text: string): string {
  const shown = secrets.reduce((rest, secret) => rest.replace(secret, '[withheld]'), text);
  return shown.length > maxErrorLength ? `${shown.slice(0, maxErrorLength - 1)}…` : shown;
}
