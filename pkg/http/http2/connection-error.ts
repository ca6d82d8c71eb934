/** The peer broke the protocol in a way after which nothing that it says can be relied upon (RFC 9113, 5.4.1). */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError';

  /** `code`: one of `resetCode`, told to the peer. */
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}
