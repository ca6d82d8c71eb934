/**
 * Notices that certificate files were replaced. Looked at when somebody connects: an idle daemon reads nothing. Files are
 * asked for their times, which costs nothing worth saving, and what the cluster publishes once a minute.
 */
import type { Clock } from '#apimachinery/clock.js';
import { stampOf } from '#daemon/certificates/followed-file.js';
import type { Logger } from '#daemon/log/logger.js';

export interface CertificateReloaderOptions<T> {
  /** Texts, which are compared as JSON. */
  readonly load: () => Promise<T>;
  readonly apply: (loaded: T) => void;
  readonly current: T;
  /** Those from which it is loaded, as far as it is from files. */
  readonly files: readonly string[];
  /** True while what there is will not do, so that it is loaded again at every look. */
  readonly isWanting?: () => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** client-go and the daemons of 1.24 look at rotated files every minute. */
const freshMs = 60_000;
const lookMs = 1_000;

export class CertificateReloader<T> {
  readonly #options: CertificateReloaderOptions<T>;
  #current: string;
  #loadedAtMs: number;
  #lookedAtMs: number;
  /** Of the files when they were last loaded; undefined before they were loaded again for the first time. */
  #stamp: string | undefined;
  #loading = false;

  constructor(options: CertificateReloaderOptions<T>) {
    this.#options = options;
    this.#current = JSON.stringify(options.current);
    this.#loadedAtMs = options.clock.monotonic();
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** To be called for each connection. Resolves when the files were looked at, if they were. */
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
        log.info('Certificates were replaced');
      }
    } catch (error) {
      // Half-written files are read again later; what is in use stays in use.
      log.warn({ err: error }, 'Certificates could not be read again');
    } finally {
      this.#loading = false;
    }
  }
}
