/** Transforms a resource's values for the store: the first transformer writes, all can read. */
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { KeyServiceError } from '#storage/encryption/key-service.js';
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
  /** `context` is the value's key in the store. Fails with KeyServiceError. Synchronous for keys of this process. */
  toStorage(value: Buffer, context: string): MaybePromise<Buffer>;
  /** Fails with TransformError for an unreadable value, and with KeyServiceError while its key is out of reach. */
  fromStorage(bytes: Buffer, context: string): MaybePromise<Transformed>;
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
  /** `OK`, or the name of a gRPC status. */
  readonly status: string;
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

interface Row {
  readonly prefix: Buffer;
  readonly label: string;
  readonly transformer: ValueTransformer;
}

/** The reading of one value. */
interface Reading {
  readonly bytes: Buffer;
  readonly context: string;
  readonly started: number;
  /** Why transformers could not read it. */
  readonly reasons: string[];
  unreachable: KeyServiceError | undefined;
}

type Failure = TransformError | KeyServiceError;

export class PrefixTransformers implements ValueTransformer {
  readonly #options: PrefixTransformersOptions;
  readonly #rows: readonly Row[];
  readonly #first: Row;

  /** Throws a RangeError without transformers. */
  constructor(options: PrefixTransformersOptions) {
    this.#options = options;
    this.#rows = options.transformers.map(({ prefix, transformer }) => ({
      prefix: Buffer.from(prefix),
      label: prefix,
      transformer,
    }));
    const [first] = this.#rows;
    if (first === undefined) throw new RangeError('at least one transformer is needed');
    this.#first = first;
  }

  toStorage(value: Buffer, context: string): MaybePromise<Buffer> {
    const { seconds } = this.#options;
    const { prefix, label, transformer } = this.#first;
    const started = seconds();
    return andThen(
      attempt(() => transformer.toStorage(value, context)),
      (result) => {
        this.#record('to_storage', { label, started, result });
        if (isFailure(result)) throw result;
        return Buffer.concat([prefix, result]);
      },
    );
  }

  fromStorage(bytes: Buffer, context: string): MaybePromise<Transformed> {
    const started = this.#options.seconds();
    return this.#readFrom(0, { bytes, context, started, reasons: [], unreachable: undefined });
  }

  /** Tries the transformers from the index on: several may have the same name while a secret is being replaced. */
  #readFrom(first: number, reading: Reading): MaybePromise<Transformed> {
    const { bytes, context } = reading;
    for (let i = first; i < this.#rows.length; i += 1) {
      const row = this.#rows[i] as Row;
      if (!startsWith(bytes, row.prefix)) continue;
      const result = attempt(() => row.transformer.fromStorage(bytes.subarray(row.prefix.length), context));
      if (result instanceof Promise) {
        return result.then((read) => this.#settle(i, reading, read) ?? this.#readFrom(i + 1, reading));
      }
      const settled = this.#settle(i, reading, result);
      if (settled !== undefined) return settled;
    }
    throw this.#failed(reading);
  }

  /** Undefined if another transformer must try. */
  #settle(index: number, reading: Reading, result: Transformed | Failure): Transformed | undefined {
    const { label } = this.#rows[index] as Row;
    // The plain transformer refuses encrypted bytes, which belong to another one.
    if (label === '' && isFailure(result)) return undefined;
    const name = label === '' ? 'identity' : label;
    this.#record('from_storage', { label: name, started: reading.started, result });
    if (!isFailure(result)) return { ...result, stale: result.stale || index !== 0 };
    if (result instanceof KeyServiceError) reading.unreachable ??= result;
    else reading.reasons.push(result.message);
    return undefined;
  }

  #failed({ reasons, started, unreachable }: Reading): Failure {
    if (unreachable !== undefined) return unreachable;
    const distinct = [...new Set(reasons)];
    const { noMatch } = this.#options;
    const error = new TransformError(distinct.length > 1 ? `[${distinct.join(', ')}]` : (distinct[0] ?? noMatch));
    if (reasons.length === 0) this.#record('from_storage', { label: 'unknown', started, result: error });
    return error;
  }

  #record(
    direction: 'to_storage' | 'from_storage',
    { label, started, result }: { readonly label: string; readonly started: number; readonly result: unknown },
  ): void {
    const { record, seconds } = this.#options;
    const status = isFailure(result) ? (result instanceof KeyServiceError ? result.code : 'Unknown') : 'OK';
    record({ direction, prefix: label, status, seconds: seconds() - started });
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

function isFailure(result: unknown): result is Failure {
  return result instanceof TransformError || result instanceof KeyServiceError;
}

/** The result, or why there is none. */
function attempt<T>(work: () => MaybePromise<T>): MaybePromise<T | Failure> {
  try {
    const result = work();
    return result instanceof Promise ? result.catch(failureOf) : result;
  } catch (error) {
    return failureOf(error);
  }
}

function failureOf(error: unknown): Failure {
  if (isFailure(error)) return error;
  throw error;
}

function startsWith(bytes: Buffer, prefix: Buffer): boolean {
  return bytes.length >= prefix.length && bytes.subarray(0, prefix.length).equals(prefix);
}
