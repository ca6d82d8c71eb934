/**
 * Reloads certificates that were replaced. It checks when a client connects, so an idle daemon reads nothing: file
 * times each second at most, and what the cluster publishes once a minute.
 */
import type { Clock } from '#apimachinery/clock.js';
import { stampOf } from '#daemon/certificates/followed-file.js';
import type { Logger } from '#daemon/log/logger.js';

export interface CertificateReloaderOptions<T> {
  /** Reads texts, which are compared as JSON. */
  readonly load: () => Promise<T>;
  readonly apply: (loaded: T) => void;
  readonly current: T;
  /** The files that `load` reads. */
  readonly files: readonly string[];
  /** True while the current result is insufficient, so that every check loads again. */
  readonly isWanting?: () => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** client-go and the daemons of 1.24 check rotated files every minute. */
const freshMs = 60_000;
const lookMs = 1_000;

export class CertificateReloader<T> {
  readonly #options: CertificateReloaderOptions<T>;
  #current: string;
  #loadedAtMs: number;
  #lookedAtMs: number;
  /** Stamp of the files at the last load; undefined before the first reload. */
  #stamp: string | undefined;
  #loading = false;

  constructor(options: CertificateReloaderOptions<T>) {
    this.#options = options;
    this.#current = JSON.stringify(options.current);
    this.#loadedAtMs = options.clock.monotonic();
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Called for each connection. Resolves after the check. */
  async check(): Promise<void> {
    const { clock, files, load, apply, log, isWanting } = this.#options;
    const now = clock.monotonic();
    if (this.#loading || now - this.#lookedAtMs < lookMs) return;
    this.#lookedAtMs = now;
    this.#loading = true;
    try {
      const stamp = await stampOf(files);
      const isFresh = now - this.#loadedAtMs < freshMs && isWanting?.() !== true;
      if (stamp === this.#stamp && isFresh) return;
      this.#loadedAtMs = now;
      const loaded = await load();
      this.#stamp = stamp;
      const text = JSON.stringify(loaded);
      if (text !== this.#current) {
        apply(loaded);
        this.#current = text;
        log.info('reloaded certificates');
      }
    } catch (error) {
      // Half-written files are read again later; the current ones stay in use.
      log.warn({ err: error }, 'cannot reload certificates; keeping the old ones');
    } finally {
      this.#loading = false;
    }
  }
}
