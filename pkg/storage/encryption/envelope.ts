/**
 * Envelope encryption, byte-compatible with 1.24: each write has a key of its own, which a key management service
 * encrypts. A stored value is `length (2) | encrypted key | value in AES-CBC`.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { KeyProbe } from '#storage/encryption/key-probe.js';
import { type KeyService, KeyServiceError } from '#storage/encryption/key-service.js';
import type { Transformed, ValueTransformer } from '#storage/encryption/transformer.js';
import {
  type RandomBytes,
  secretLengths,
  TransformError,
  type ValueCipher,
  valueCipher,
} from '#storage/encryption/value-cipher.js';
import type { StorageMetrics } from '#storage/metrics.js';

export interface EnvelopeOptions {
  readonly service: Pick<KeyService, 'encrypt' | 'decrypt'>;
  /** Tells a value that the service refuses from a service that does not work. */
  readonly probe: Pick<KeyProbe, 'works'>;
  /** Number of decrypted keys to keep; zero or less: none. */
  readonly cacheSize: number;
  readonly random: RandomBytes;
  /** Monotonic time in seconds. */
  readonly seconds: () => number;
  readonly metrics: StorageMetrics;
}

/** A value's key, for both ciphers of 1.24: it writes the first, and reads the second of releases after it. */
interface DataKey {
  readonly cbc: ValueCipher;
  readonly gcm: ValueCipher;
}

type Direction = 'from_storage' | 'to_storage';

const lengthBytes = 2;
const maxKeyBytes = 2 ** 16 - 1;
const newKeyBytes = 32;

export class EnvelopeTransformer implements ValueTransformer {
  readonly #options: EnvelopeOptions;
  /** Saves a call per read; by the encrypted key. */
  readonly #keys: LruCache<string, DataKey> | undefined;
  readonly #arrivals: Partial<Record<Direction, number>> = {};

  constructor(options: EnvelopeOptions) {
    this.#options = options;
    const { cacheSize } = options;
    this.#keys = cacheSize > 0 ? new LruCache({ limit: cacheSize }) : undefined;
  }

  async toStorage(value: Buffer, context: string): Promise<Buffer> {
    this.#arrived('to_storage');
    const secret = this.#newSecret();
    const encryptedKey = await this.#options.service.encrypt(secret);
    if (encryptedKey.length > maxKeyBytes) {
      const reason = `the encrypted key has ${encryptedKey.length} bytes, more than ${maxKeyBytes}`;
      throw new KeyServiceError('Unknown', reason);
    }
    const { cbc } = this.#keep(encryptedKey, secret);
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt16BE(encryptedKey.length);
    return Buffer.concat([length, encryptedKey, cbc.encrypt(value, context)]);
  }

  fromStorage(bytes: Buffer, context: string): MaybePromise<Transformed> {
    this.#arrived('from_storage');
    const end = bytes.length < lengthBytes ? Number.POSITIVE_INFINITY : lengthBytes + bytes.readUInt16BE();
    if (end > bytes.length) {
      const reason = 'failed to read uint16 length prefixed data';
      throw new TransformError(`invalid data encountered by envelope transformer: ${reason}`);
    }
    const encryptedKey = bytes.subarray(lengthBytes, end);
    const sealed = bytes.subarray(end);
    const kept = this.#keys?.get(encryptedKey.toString('base64'));
    if (kept !== undefined) return opened(kept, sealed, context);
    if (this.#keys !== undefined) this.#options.metrics.dataKeyMisses.inc();
    return this.#decrypt(encryptedKey).then((key) => opened(key, sealed, context));
  }

  async #decrypt(encryptedKey: Buffer): Promise<DataKey> {
    const { probe, service } = this.#options;
    let secret: Buffer;
    try {
      secret = await service.decrypt(encryptedKey);
    } catch (error) {
      if (!(error instanceof KeyServiceError) || error.isPassing) throw error;
      // Many plugins report each trouble of theirs as an unknown error. Only a plugin that works refuses this key.
      if (await probe.works()) throw new TransformError(error.message);
      throw error;
    }
    if (!(secretLengths.aescbc as readonly number[]).includes(secret.length)) {
      throw new TransformError(`crypto/aes: invalid key size ${secret.length}`);
    }
    return this.#keep(encryptedKey, secret);
  }

  #newSecret(): Buffer {
    const { metrics, random, seconds } = this.#options;
    const started = seconds();
    try {
      const secret = random(newKeyBytes);
      metrics.dataKeyDuration.observe(seconds() - started);
      return secret;
    } catch (error) {
      metrics.dataKeyFailures.inc();
      throw error;
    }
  }

  #keep(encryptedKey: Buffer, secret: Buffer): DataKey {
    const { cacheSize, metrics, random } = this.#options;
    const key = { cbc: valueCipher('aescbc', secret, random), gcm: valueCipher('aesgcm', secret, random) };
    if (this.#keys !== undefined) {
      this.#keys.set(encryptedKey.toString('base64'), key);
      metrics.dataKeyCacheFill.set(this.#keys.size / cacheSize);
    }
    return key;
  }

  #arrived(direction: Direction): void {
    const { metrics, seconds } = this.#options;
    const now = seconds();
    metrics.dataKeyArrivals.observe({ transformation_type: direction }, now - (this.#arrivals[direction] ?? now));
    this.#arrivals[direction] = now;
  }
}

/** AES-GCM first, because it detects what it has not written; such a value is stale. Throws TransformError. */
function opened({ cbc, gcm }: DataKey, sealed: Buffer, context: string): Transformed {
  try {
    return { value: gcm.decrypt(sealed, context), stale: true, authenticated: gcm.authenticated };
  } catch (error) {
    if (!(error instanceof TransformError)) throw error;
    return { value: cbc.decrypt(sealed, context), stale: false, authenticated: cbc.authenticated };
  }
}
