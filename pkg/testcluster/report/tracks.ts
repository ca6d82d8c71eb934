/** What the report remembers of objects, requests and watches. Plain data that `RequestLog` fills. */

/** An object as one client uses it. */
export interface ObjectTrack {
  readonly userAgent: string;
  readonly resource: string;
  readonly name: string;
  reads: number;
  /** Reads of the version that was read before. */
  unchangedReads: number;
  lastReadVersion: string;
  writes: number;
  /** Writes that changed nothing. */
  unchangedWrites: number;
  /** Times of the last writes that changed it, the newest last. */
  changes: number[];
  /** Updates without a version: they overwrite what others wrote. */
  unconditionalUpdates: number;
  unconditionalDeletes: number;
  conflicts: number;
  /** Reason of the last write if it failed and was not tried again; empty otherwise. */
  failedWrite: string;
}

/** Requests that are equal: the same client, verb and object or collection. */
export interface RepeatTrack {
  readonly userAgent: string;
  readonly what: string;
  count: number;
  lastMs: number;
  /** The last times between two requests. */
  gaps: number[];
  /** Failures in a row, and the times between them. */
  failures: number;
  failureGaps: number[];
  lastReason: string;
  /** Most failures in a row without a growing pause. */
  eager: number;
  eagerReason: string;
  /** No earlier than this may the client try again, as the server said; 0: not said. */
  notBeforeMs: number;
  tooEarly: number;
}

/** A collection as one client lists and watches it. */
export interface CollectionTrack {
  readonly userAgent: string;
  readonly resource: string;
  readonly namespace: string;
  fullLists: number;
  watches: number;
  open: number;
  /** Watches without a version or an earlier list: each sends everything anew. */
  watchesFromNowhere: number;
  /** The version of the last watch that ended because it was too old; empty: none, or it was resumed. */
  expiredVersion: string;
  /** The last watch ended by the server and not by the client. */
  isCutOff: boolean;
  cutOffs: number;
  /** Watches that were opened again with a version that was too old. */
  stubborn: number;
}

/** An object that a client created. */
export interface Creation {
  readonly userAgent: string;
  readonly resource: string;
  /** Of the API that has it: `/apis/apps/v1/namespaces/shop/deployments/web`. */
  readonly path: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly isOwned: boolean;
}

export interface RequestCount {
  readonly verb: string;
  readonly resource: string;
  count: number;
  readonly errors: Map<string, number>;
}

export interface AgentTrack {
  readonly userAgent: string;
  requests: number;
  firstMs: number;
  lastMs: number;
  readonly byRequest: Map<string, RequestCount>;
  watches: number;
}
