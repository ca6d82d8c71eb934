/**
 * Keeps a certificate of this process current: requests one when there is none, when it nears its end or when its names
 * change. After a restart it continues with the pending request.
 */
import { deadline } from '#apimachinery/async/deadline.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import {
  type CertificateTemplate,
  isUnexpired,
  rotationTime,
  satisfies,
  type TimedKeyCertificate,
  withValidity,
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
  /** The client for requests; `current`: the valid certificate in use. Throws if there are no credentials. */
  readonly client: (current: TimedKeyCertificate | undefined) => Client;
  readonly signerName: string;
  readonly usages: readonly string[];
  /** The required names; undefined while they are not available. */
  readonly template: () => CertificateTemplate | undefined;
  /** Whether to renew before the end; otherwise only when there is no valid certificate. */
  readonly rotates: boolean;
  /** Used while the store has none; a renewal starts at once. */
  readonly initial?: KeyCertificate | undefined;
  readonly onFailure?: () => void;
  /** `livedMs`: age of the replaced certificate; undefined for the first. */
  readonly onRenewed?: (livedMs: number | undefined) => void;
}

/** Time limit of one request before a new attempt, as in 1.24. */
const requestTimeoutMs = 15 * 60_000;
/** Interval of checks: the clock may be set, and names may change. */
const checkMs = 60_000;
const unavailablePollMs = 100;

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

  /** The certificate in use; undefined if there is none or it has expired. */
  get current(): TimedKeyCertificate | undefined {
    const { clock } = this.#options;
    return this.#pair !== undefined && isUnexpired(this.#pair, clock.now()) ? this.#pair : undefined;
  }

  /** End of the last certificate in milliseconds since the epoch, even if past; undefined: there was none. */
  get notAfter(): number | undefined {
    return this.#pair?.notAfter;
  }

  /** Resolves when there is a valid certificate. */
  async available(): Promise<TimedKeyCertificate> {
    for (;;) {
      const { current } = this;
      if (current !== undefined) return current;
      await this.#changed.promise;
    }
  }

  /** Calls the handler with each new certificate. */
  onChange(handler: (pair: TimedKeyCertificate) => void): void {
    this.#handlers.push(handler);
  }

  /** Reads the stored certificate. Must be called first. */
  async load(): Promise<void> {
    const { store, log, initial } = this.#options;
    try {
      const stored = await store.current();
      if (stored !== undefined) return this.#use(withValidity(stored));
    } catch (error) {
      // A damaged file counts as none: a new certificate is requested.
      log.error({ err: error, file: store.currentFile }, 'cannot use stored certificate: requesting another');
    }
    if (initial === undefined) return;
    this.#use(withValidity(initial));
    this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, template } = this.#options;
    while (!signal.aborted) {
      await this.#loadReplaced();
      const requiredNames = template();
      const due = requiredNames === undefined ? Number.POSITIVE_INFINITY : this.#dueFor(requiredNames);
      if (requiredNames !== undefined && due <= clock.now()) {
        try {
          await this.#renew(requiredNames, signal);
          this.#backoff.reset();
        } catch (error) {
          if (signal.aborted) return;
          this.#options.onFailure?.();
          log.error({ err: error, signer: this.#options.signerName }, 'certificate request failed');
          await clock.sleep(this.#backoff.nextMs(), signal);
        }
        continue;
      }
      await clock.sleep(requiredNames === undefined ? unavailablePollMs : Math.min(checkMs, due - clock.now()), signal);
    }
  }

  /** Loads a certificate that another process has written meanwhile. */
  async #loadReplaced(): Promise<void> {
    const { clock, store, log } = this.#options;
    try {
      const stored = await store.current();
      if (stored === undefined || stored.certificate === this.#pair?.certificate) return;
      const pair = withValidity(stored);
      if (!isUnexpired(pair, clock.now())) return;
      this.#use(pair);
      log.info({ notAfter: new Date(pair.notAfter).toISOString() }, 'certificate was replaced on disk');
    } catch (error) {
      log.debug({ err: error, file: store.currentFile }, 'cannot reread certificate: keeping the one in use');
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
    log.info({ signer: signerName }, 'requesting certificate');
    const keys = await this.#pendingKeys();
    const patience = deadline(clock, requestTimeoutMs, signal);
    let certificate: string;
    try {
      const request = { keys, template, signerName, usages };
      certificate = await requestCertificate(client(before), request, { clock, signal: patience.signal });
    } catch (error) {
      // The same key would find the refused request again.
      if (error instanceof RequestRefusedError) await store.forgetPendingKey();
      if (!patience.signal.aborted || signal.aborted) throw error;
      throw new Error(`the request was not approved and signed within ${requestTimeoutMs / 60_000} minutes`, {
        cause: error,
      });
    } finally {
      patience.release();
    }
    const pair = withValidity({ certificate, privateKey: privateKeyToPem(keys.privateKey) });
    await store.update(pair, clock.now());
    await store.forgetPendingKey();
    onRenewed?.(before === undefined ? undefined : clock.now() - before.notBefore);
    this.#use(pair);
    log.info({ signer: signerName, notAfter: new Date(pair.notAfter).toISOString() }, 'certificate issued');
  }

  /** The key pair of the pending request of an earlier run, or a new one. */
  async #pendingKeys(): Promise<KeyPair> {
    const { store, log } = this.#options;
    const pendingKey = await store.pendingKey();
    // The process may have ended after it used the certificate but before it deleted the pending key.
    if (pendingKey !== undefined && pendingKey !== this.#pair?.privateKey) {
      try {
        return keyPairFromPem(pendingKey);
      } catch (error) {
        log.warn({ err: error }, 'cannot read key of pending request: creating another');
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
