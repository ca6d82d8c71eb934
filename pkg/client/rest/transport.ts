/** How a client's requests reach an API server: over HTTPS, or by a function call in the same process. */

export interface TransportRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** Aborting ends the request and its response stream. */
  readonly signal?: AbortSignal;
  /** Called when it is about to go out, after all waiting for connections and credentials; what it throws ends it unsent. */
  readonly beforeSending?: () => void;
}

export interface TransportResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The body as it arrives; must be consumed or the request aborted. */
  readonly body: AsyncIterable<Buffer>;
}

export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}
