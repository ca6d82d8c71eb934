/** How requests reach an API server: over HTTPS, or by a function call in the same process. */

export interface TransportRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** Aborting ends the request and its response stream. */
  readonly signal?: AbortSignal;
  /** Called right before sending, after waits for connections and credentials; its error cancels the request. */
  readonly beforeSending?: () => void;
}

export interface TransportResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The body as it arrives; must be consumed, or the request aborted. */
  readonly body: AsyncIterable<Buffer>;
}

export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

/** A body that has arrived. */
export class WholeBody implements AsyncIterable<Buffer> {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    if (this.bytes.length > 0) yield this.bytes;
  }
}
