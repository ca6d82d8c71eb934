/** The state of a loop and its last errors, for debugging. Bounded in size, without secrets. */
import { type Clock, formatMicroTime } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import type { WorkQueue } from '#client/workqueue/queue.js';

/** Times are API micro times; durations are in seconds. */
export interface LoopReport {
  readonly name: string;
  /** The number of workers. */
  readonly concurrency: number;
  /** When the last reconcile ended; absent before the first. */
  readonly lastSync?: string;
  /** The full lengths of the lists below, which are truncated to the requested limit. */
  readonly counts: Readonly<Record<'waiting' | 'working' | 'retrying' | 'scheduled', number>>;
  /** Keys ready for a worker. */
  readonly waiting: readonly { readonly key: string; readonly seconds: number }[];
  /** `again`: the object changed meanwhile, so the key is reconciled once more. */
  readonly working: readonly { readonly key: string; readonly seconds: number; readonly again: boolean }[];
  /** `failures`: consecutive failures. */
  readonly retrying: readonly {
    readonly key: string;
    readonly failures: number;
    readonly nextTry: string;
    readonly error?: string;
  }[];
  /** Keys requeued after a delay without a failure. */
  readonly scheduled: readonly { readonly key: string; readonly at: string }[];
  /** The last error of each key, newest first. */
  readonly errors: readonly KeyError[];
}

interface KeyError {
  readonly key: string;
  readonly time: string;
  readonly error: string;
  /** When the key was reconciled successfully again; absent before. */
  readonly recovered?: string;
}

export interface Reporting {
  readonly name: string;
  readonly queue: Pick<WorkQueue<string>, 'isIdle' | 'unfinished'>;
  /** `limit`: the maximum of keys in each list. */
  report(limit: number): LoopReport;
}

/** The maximum of keys per loop with a stored error. */
const maxErrors = 256;
const maxErrorLength = 1024;

/** Records the outcomes of reconciles. */
export class OutcomeJournal {
  readonly #clock: Clock;
  readonly #errors = new LruCache<string, KeyError>({ limit: maxErrors });
  #lastMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record(key: string, outcome: Outcome): void {
    this.#lastMs = this.#clock.now();
    const time = () => formatMicroTime(this.#clock.now());
    if (outcome.kind === 'retry' || outcome.kind === 'terminal') {
      this.#errors.set(key, { key, time: time(), error: withoutSecrets(messageOf(outcome.error)) });
    } else if (this.#errors.size > 0) {
      const last = this.#errors.get(key);
      if (last !== undefined && last.recovered === undefined) this.#errors.set(key, { ...last, recovered: time() });
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

/** Removes tokens, private keys and passwords in URLs, and truncates the text to `maxErrorLength`. */
export function withoutSecrets(text: string): string {
  const shown = secrets.reduce((rest, secret) => rest.replace(secret, '[withheld]'), text);
  return shown.length > maxErrorLength ? `${shown.slice(0, maxErrorLength - 1)}…` : shown;
}
