/** A key management service, which encrypts the keys of values with a key that never leaves it. */

export interface KeyService {
  /** Rejects with KeyServiceError. */
  encrypt(plain: Buffer): Promise<Buffer>;
  /** Rejects with KeyServiceError. */
  decrypt(cipher: Buffer): Promise<Buffer>;
  /** Fails open calls. */
  close(): void;
}

/** A call that failed, in the words of gRPC for Go. */
export class KeyServiceError extends Error {
  override readonly name = 'KeyServiceError';
  /** Name of the gRPC status, such as `Unavailable`; label of a metric. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** The service did not answer: the same call may succeed at another time. */
  get isPassing(): boolean {
    return passingCodes.has(this.code);
  }
}

const passingCodes: ReadonlySet<string> = new Set(['Unavailable', 'DeadlineExceeded', 'Canceled', 'ResourceExhausted']);
