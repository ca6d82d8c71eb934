/** The connection is gone, or was cut because its client did not read. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}
