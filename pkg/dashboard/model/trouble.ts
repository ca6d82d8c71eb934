/** Why a source shows nothing, or nothing new. */
export interface Trouble {
  /** Of the HTTP response; 0 without one. */
  readonly code: number;
  readonly message: string;
}

/** Thrown for a refused or failed request. */
export class RequestError extends Error implements Trouble {
  override readonly name = 'RequestError';
  readonly code: number;
  /** The server's Status, where it sent one. */
  readonly status: FailureStatus | undefined;

  constructor(code: number, message: string, status?: FailureStatus) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export interface FailureStatus {
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
    readonly retryAfterSeconds?: number;
  };
}

export function troubleFrom(error: unknown): Trouble {
  if (error instanceof RequestError) return { code: error.code, message: error.message };
  return { code: 0, message: error instanceof Error ? error.message : String(error) };
}
