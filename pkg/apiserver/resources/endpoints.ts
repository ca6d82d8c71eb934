/** Endpoints that other parts of the server implement and the router serves. */
import type { Duplex } from 'node:stream';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { GroupKey } from '#apimachinery/dialect.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { MessageSender } from '#apiserver/http/websocket.js';

export interface VirtualRequest {
  /** The decoded body. */
  readonly object: ApiObjectShape;
  readonly namespace: string;
  /** The object that a subresource belongs to; empty for resources. */
  readonly name: string;
  readonly dryRun: boolean;
  readonly context: RequestContext;
}

/**
 * A resource that is an operation rather than an object: a POST that is answered with the completed object
 * (`tokenreviews`, `subjectaccessreviews`, `serviceaccounts/token`).
 */
export interface VirtualResource {
  readonly group: GroupKey;
  readonly resource: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
  handle(request: VirtualRequest): Promise<ApiObjectShape>;
}

/** A client's upgraded connection. */
export interface UpgradedConnection {
  readonly socket: Duplex;
  /** Bytes that the client has already sent. */
  readonly head: Buffer;
  /** Sender for WebSocket clients. */
  readonly messages: MessageSender;
}

/** A subresource that connects to another server: `pods/log`, `pods/exec`, `nodes/proxy`. */
export interface ConnectEndpoint {
  readonly group: GroupKey;
  readonly resource: string;
  readonly subresource: string;
  /** Serves a plain request. */
  connect?(context: RequestContext): Promise<ApiResponse>;
  /**
   * Takes over an upgraded connection, unless it resolves with a plain response to send instead; may throw a StatusError
   * before the first byte is written.
   */
  upgrade?(context: RequestContext, connection: UpgradedConnection): Promise<ApiResponse | undefined>;
}
