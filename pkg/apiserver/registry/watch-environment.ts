import type { Cancellation } from '#apimachinery/cancellation.js';
import type { MessageSender } from '#apiserver/http/websocket.js';
import type { RecentFrames } from '#apiserver/representation/watch-events.js';

/** Dependencies of watches. */
export interface WatchEnvironment {
  /** A watch without timeoutSeconds lives between this long and twice as long. */
  readonly minTimeoutMs: number;
  /** Aborts when the server closes: ends all watches. */
  readonly closing: Cancellation;
  readonly frames: RecentFrames;
  /** Sends to WebSocket clients. */
  readonly messages: MessageSender;
}
