/** What an answer is written to, whatever version of HTTP its client speaks. */
export interface AnswerTarget {
  /** The client is gone, or the answer was broken off. */
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  /** Is told while there is one; one at a time. */
  listener: AnswerListener | undefined;
  /**
   * The head. Names of headers are in lower case. It may wait for what follows it. Throws TypeErrors for headers that cannot
   * be sent; nothing has been written then. `cookies`: values of `set-cookie`, each of which is a field of its own.
   */
  head(status: number, headers: Readonly<Record<string, string>>, cookies?: readonly string[]): void;
  /** The head leaves without waiting for a body. */
  flush(): void;
  /** A body is written at less cost when the head says how long it is. */
  readonly needsLength: boolean;
  /**
   * A part of the body. False when it would be better to wait until the listener is told of room. `left` is called when the
   * memory may be used for something else.
   */
  write(bytes: Buffer, left?: () => void): boolean;
  /** A piece of the body that fills the buffer, laid out as it is sent. */
  piece(buffer: Buffer): Piece;
  /** The end, with the last part of the body if there is one. */
  end(bytes?: Buffer, left?: () => void): void;
  /** Breaks the answer off. */
  destroy(): void;
}

export interface AnswerListener {
  /** There is room again. */
  drained(): void;
  /** Nothing more can be written; it is no loss when all was. */
  closed(): void;
}

/** A piece of a body, gathered in the memory that it is sent from. */
export interface Piece {
  readonly buffer: Buffer;
  /** Where in the buffer what comes next belongs. */
  readonly at: number;
  /** Bytes of the body that are in it. */
  readonly length: number;
  /** Whether so many bytes can be written one behind the other at `at`, which this may move. */
  hasRoom(length: number): boolean;
  /** Most bytes that can be written one behind the other at `at`, which this may move; 0 when it is full. */
  mostRoom(): number;
  /** So many bytes have been written at `at`. */
  wrote(length: number): void;
  /** `left` is called when the memory may be used for something else. */
  send(left: () => void): void;
  /** The same for the last piece of a body. */
  end(left: () => void): void;
}
