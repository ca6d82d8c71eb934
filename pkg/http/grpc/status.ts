/** Status codes of gRPC, an error with one, and the text beside them. */

/** The status codes used here. */
export const grpcStatus = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly code: number;
  readonly details: string;
  /** False if the server has certainly not received the call. */
  readonly sent: boolean;

  constructor(code: number, details: string, options: { sent?: boolean; cause?: unknown } = {}) {
    super(details, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.details = details;
    this.sent = options.sent ?? true;
  }
}

const ofHttpStatus: Readonly<Record<number, number>> = {
  400: grpcStatus.INTERNAL,
  401: grpcStatus.UNAUTHENTICATED,
  403: grpcStatus.PERMISSION_DENIED,
  404: grpcStatus.UNIMPLEMENTED,
  429: grpcStatus.UNAVAILABLE,
  502: grpcStatus.UNAVAILABLE,
  503: grpcStatus.UNAVAILABLE,
  504: grpcStatus.UNAVAILABLE,
};

/** The code of a response that is not gRPC, such as from a proxy; gRPC's table of HTTP statuses. */
export function statusOfHttp(httpStatus: number): number {
  return ofHttpStatus[httpStatus] ?? grpcStatus.UNKNOWN;
}

/** Decodes a percent-encoded `grpc-message`; invalid text is returned as it is. */
export function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A text as `grpc-message`: all but printable characters of ASCII is percent-encoded, and the percent sign itself. */
export function encodeMessage(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
