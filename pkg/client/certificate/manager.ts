/**
 * Keeps a certificate of this process: asks for it when there is none, for another before it ends or when other names
 * are wanted, and hands out the one in use. A restart at any moment finds the request that was under way.
 */
import { deadline } from '#apimachinery/async/deadline.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import {
  type CertificateTemplate,
  hasNotEnded,
  rotationTime,
  satisfies,
  type TimedKeyCertificate,
  timed,
} from '#client/certificate/key-certificate.js';
import { RequestRefusedError, requestCertificate } from '#client/certificate/request.js';
import type { CertificateStore } from '#client/certificate/store.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import type { KeyCertificate } from '#pki/certificate.js';
import { generateEcKey, type KeyPair, keyPairFromPem, privateKeyToPem } from '#pki/keys.js';

export interface CertificateManagerOptions {
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly store: CertificateStore;
  /** Whom to ask; `current` is the certificate in use as long as it is valid. Throws when nobody can be asked. */
  readonly client: (current: TimedKeyCertificate | undefined) => Client;
  readonly signerName: string;
  readonly usages: readonly string[];
  /** For whom; undefined while that is not known. */
  readonly template: () => CertificateTemplate | undefined;
  /** Renews in time; else it only asks when there is no valid one. */
  readonly rotates: boolean;
  /** Stands in while the store has none; another is asked for at once. */
  readonly initial?: KeyCertificate | undefined;
  readonly onFailure?: () => void;
  /** `livedMs`: how long the one before was valid by now; undefined for the first. */
  readonly onRenewed?: (livedMs: number | undefined) => void;
}

/** As 1.24 waits for one request, before it begins anew. */
const patienceMs = 15 * 60_000;
/** How often is looked whether something is due: the clock may be set, and names may change. */
const lookMs = 60_000;
const untilKnownMs = 100;

export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #backoff: Backoff;
  readonly #handlers: ((pair: TimedKeyCertificate) => void)[] = [];
  #pair: TimedKeyCertificate | undefined;
  #changed = deferred();
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ initialMs: 500, maxMs: 32_000, jitter: 0.1, random: options.random });
  }

  /** The one in use; undefined when it is not valid, or there is none. */
  get current(): TimedKeyCertificate | undefined {
    const { clock } = this.#options;
    return this.#pair !== undefined && hasNotEnded(this.#pair, clock.now()) ? this.#pair : undefined;
  }

  /** When what it has ends, in milliseconds since the epoch, even if that is past; undefined without any. */
  get notAfter(): number | undefined {
    return this.#pair?.notAfter;
  }

  /** Resolves as soon as there is a valid one. */
  async available(): Promise<TimedKeyCertificate> {
    for (;;) {
      const { current } = this;
      if (current !== undefined) return current;
      await this.#changed.promise;
    }
  }

  /** Called with each new one. */
  onChange(handler: (pair: TimedKeyCertificate) => void): void {
    this.#handlers.push(handler);
  }

  /** Reads what the store has. Before everything else. */
  async load(): Promise<void> {
    const { store, log, initial } = this.#options;
    try {
      const found = await store.current();
      if (found !== undefined) return this.#use(timed(found));
    } catch (error) {
      // A damaged file is as good as none: another certificate is asked for.
      log.error({ err: error, file: store.currentFile }, 'The certificate cannot be used');
    }
    if (initial === undefined) return;
    this.#use(timed(initial));
    this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /** Until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, template } = this.#options;
    while (!signal.aborted) {
      await this.#loadReplaced();
      const wanted = template();
      const due = wanted === undefined ? Number.POSITIVE_INFINITY : this.#dueFor(wanted);
      if (wanted !== undefined && due <= clock.now()) {
        try {
          await this.#renew(wanted, signal);
          this.#backoff.reset();
        } catch (error) {
          if (signal.aborted) return;
          this.#options.onFailure?.();
          log.error({ err: error, signer: this.#options.signerName }, 'Failed while requesting a signed certificate');
          await clock.sleep(this.#backoff.nextMs(), signal);
        }
        continue;
      }
      await clock.sleep(wanted === undefined ? untilKnownMs : Math.min(lookMs, due - clock.now()), signal);
    }
  }

  /** Somebody may have asked for another one in this process's stead. */
  async #loadReplaced(): Promise<void> {
    const { clock, store, log } = this.#options;
    try {
      const found = await store.current();
      if (found === undefined || found.certificate === this.#pair?.certificate) return;
      const pair = timed(found);
      if (!hasNotEnded(pair, clock.now())) return;
      this.#use(pair);
      log.info({ notAfter: new Date(pair.notAfter).toISOString() }, 'The certificate was replaced on disk');
    } catch (error) {
      log.debug({ err: error, file: store.currentFile }, 'The certificate cannot be read again; the one in use stays');
    }
  }

  #dueFor(template: CertificateTemplate): number {
    const { rotates } = this.#options;
    if (this.#pair === undefined) return Number.NEGATIVE_INFINITY;
    if (!rotates) return this.#pair.notAfter;
    return satisfies(this.#pair, template) ? this.#dueAt : Number.NEGATIVE_INFINITY;
  }

  async #renew(template: CertificateTemplate, signal: AbortSignal): Promise<void> {
    const { clock, log, store, signerName, usages, client, onRenewed } = this.#options;
    const before = this.current;
    log.info({ signer: signerName }, 'Requesting a certificate');
    const keys = await this.#pendingKeys();
    const patience = deadline(clock, patienceMs, signal);
    let certificate: string;
    try {
      const wanted = { keys, template, signerName, usages };
      certificate = await requestCertificate(client(before), wanted, { clock, signal: patience.signal });
    } catch (error) {
      // The same key would find the same request again.
      if (error instanceof RequestRefusedError) await store.forgetPendingKey();
      if (!patience.signal.aborted || signal.aborted) throw error;
      throw new Error(`nobody has approved and signed the request within ${patienceMs / 60_000} minutes`, {
        cause: error,
      });
    } finally {
      patience.release();
    }
    const pair = timed({ certificate, privateKey: privateKeyToPem(keys.privateKey) });
    await store.update(pair, clock.now());
    await store.forgetPendingKey();
    onRenewed?.(before === undefined ? undefined : clock.now() - before.notBefore);
    this.#use(pair);
    log.info({ signer: signerName, notAfter: new Date(pair.notAfter).toISOString() }, 'A certificate was issued');
  }

  /** Those of a request that was under way when the process ended, else new ones. */
  async #pendingKeys(): Promise<KeyPair> {
    const { store, log } = this.#options;
    const kept = await store.pendingKey();
    // The process may have ended between taking the certificate into use and forgetting the key.
    if (kept !== undefined && kept !== this.#pair?.privateKey) {
      try {
        return keyPairFromPem(kept);
      } catch (error) {
        log.warn({ err: error }, 'The key of the last request cannot be read; there will be another');
      }
    }
    const keys = await generateEcKey();
    await store.keepPendingKey(privateKeyToPem(keys.privateKey));
    return keys;
  }

  #use(pair: TimedKeyCertificate): void {
    this.#pair = pair;
    this.#dueAt = rotationTime(pair, this.#options.random);
    const changed = this.#changed;
    this.#changed = deferred();
    changed.resolve();
    for (const handler of this.#handlers) handler(pair);
  }
}
