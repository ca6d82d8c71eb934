/**
 * Notices that certificate files were replaced. Looked at when somebody connects, and then not again for a while: an
 * idle daemon reads nothing, and a new certificate is in use at the latest one connection after that time.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';

export interface CertificateReloaderOptions<T> {
  /** Texts, which are compared as JSON. */
  readonly load: () => Promise<T>;
  readonly apply: (loaded: T) => void;
  readonly current: T;
  readonly clock: Clock;
  readonly log: Logger;
}

/** client-go and the daemons of 1.24 look at rotated files every minute. */
const freshMs = 60_000;

export class CertificateReloader<T> {
  readonly #options: CertificateReloaderOptions<T>;
  #current: string;
  #loadedAtMs: number;
  #loading = false;

  constructor(options: CertificateReloaderOptions<T>) {
    this.#options = options;
    this.#current = JSON.stringify(options.current);
    this.#loadedAtMs = options.clock.monotonic();
  }

  /** To be called for each connection. Resolves when the files were looked at, if they were. */
  async check(): Promise<void> {
    const { clock, load, apply, log } = this.#options;
    if (this.#loading || clock.monotonic() - this.#loadedAtMs < freshMs) return;
    this.#loading = true;
    try {
      const loaded = await load();
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
      this.#loadedAtMs = clock.monotonic();
    }
  }
}
