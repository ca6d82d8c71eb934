/** Transforms a resource's values for the store: the first transformer writes, all can read. */
import { type CipherName, TransformError, type ValueCipher } from '#storage/encryption/value-cipher.js';

/** A decoded value. */
export interface Transformed {
  readonly value: Buffer;
  /** True if the value is stored in another form than new values. */
  readonly stale: boolean;
  /** True if the bytes are authenticated: a change would have been detected. */
  readonly authenticated: boolean;
}

export interface ValueTransformer {
  /** `context` is the value's key in the store. */
  toStorage(value: Buffer, context: string): Buffer;
  /** Throws TransformError. */
  fromStorage(bytes: Buffer, context: string): Transformed;
}

/** A transformer and the prefix of its stored values. */
export interface PrefixedTransformer {
  /** Empty for plain values. */
  readonly prefix: string;
  readonly transformer: ValueTransformer;
}

/** Records each attempt in the metrics. */
export type RecordTransformation = (attempt: {
  readonly direction: 'to_storage' | 'from_storage';
  readonly prefix: string;
  readonly ok: boolean;
  readonly seconds: number;
}) => void;

export interface PrefixTransformersOptions {
  /** The first one writes. */
  readonly transformers: readonly PrefixedTransformer[];
  /** Error for bytes that no transformer can read. */
  readonly noMatch: string;
  readonly record: RecordTransformation;
  /** Monotonic time in seconds. */
  readonly seconds: () => number;
}

export class PrefixTransformers implements ValueTransformer {
  readonly #options: PrefixTransformersOptions;
  readonly #rows: readonly {
    readonly prefix: Buffer;
    readonly label: string;
    readonly transformer: ValueTransformer;
  }[];

  /** Throws a RangeError without transformers. */
  constructor(options: PrefixTransformersOptions) {
    if (options.transformers.length === 0) throw new RangeError('at least one transformer is needed');
    this.#options = options;
    this.#rows = options.transformers.map(({ prefix, transformer }) => ({
      prefix: Buffer.from(prefix),
      label: prefix,
      transformer,
    }));
  }

  toStorage(value: Buffer, context: string): Buffer {
    const { record, seconds } = this.#options;
    const [first] = this.#rows;
    if (first === undefined) throw new RangeError('at least one transformer is needed');
    const started = seconds();
    const bytes = Buffer.concat([first.prefix, first.transformer.toStorage(value, context)]);
    record({ direction: 'to_storage', prefix: first.label, ok: true, seconds: seconds() - started });
    return bytes;
  }

  fromStorage(bytes: Buffer, context: string): Transformed {
    const { record, seconds, noMatch } = this.#options;
    const direction = 'from_storage';
    const started = seconds();
    const reasons: string[] = [];
    for (const [i, { prefix, label, transformer }] of this.#rows.entries()) {
      if (!startsWith(bytes, prefix)) continue;
      const result = attempt(() => transformer.fromStorage(bytes.subarray(prefix.length), context));
      // The plain transformer refuses encrypted bytes, which belong to a later one.
      if (label === '' && result instanceof TransformError) continue;
      const ok = !(result instanceof TransformError);
      record({ direction, prefix: label === '' ? 'identity' : label, ok, seconds: seconds() - started });
      if (ok) return { ...result, stale: result.stale || i !== 0 };
      // Try the next key: several may have the same name while a secret is being replaced.
      reasons.push(result.message);
    }
    if (reasons.length === 0) record({ direction, prefix: 'unknown', ok: false, seconds: seconds() - started });
    const distinct = [...new Set(reasons)];
    throw new TransformError(distinct.length > 1 ? `[${distinct.join(', ')}]` : (distinct[0] ?? noMatch));
  }
}

/** A cipher with one secret. */
export class CipherTransformer implements ValueTransformer {
  readonly #cipher: ValueCipher;

  constructor(cipher: ValueCipher) {
    this.#cipher = cipher;
  }

  toStorage(value: Buffer, context: string): Buffer {
    return this.#cipher.encrypt(value, context);
  }

  fromStorage(bytes: Buffer, context: string): Transformed {
    const { authenticated } = this.#cipher;
    return { value: this.#cipher.decrypt(bytes, context), stale: false, authenticated };
  }
}

/** Plain values; `reserved` is the prefix of encrypted ones. */
export class IdentityTransformer implements ValueTransformer {
  readonly #reserved: Buffer;

  constructor(reserved: string) {
    this.#reserved = Buffer.from(reserved);
  }

  toStorage(value: Buffer): Buffer {
    return value;
  }

  fromStorage(bytes: Buffer): Transformed {
    if (startsWith(bytes, this.#reserved)) {
      throw new TransformError('identity transformer tried to read encrypted data');
    }
    return { value: bytes, stale: false, authenticated: false };
  }
}

/** Errors if no key has the name in a value's prefix; texts of 1.24. */
export const noMatchingKey: { readonly [name in CipherName]: string } = {
  aescbc: 'no matching key was found for the provided AES transformer',
  aesgcm: 'no matching key was found for the provided AES transformer',
  secretbox: 'no matching key was found for the provided Secretbox transformer',
};

function attempt(read: () => Transformed): Transformed | TransformError {
  try {
    return read();
  } catch (err) {
    if (err instanceof TransformError) return err;
    throw err;
  }
}

function startsWith(bytes: Buffer, prefix: Buffer): boolean {
  return bytes.length >= prefix.length && bytes.subarray(0, prefix.length).equals(prefix);
}
