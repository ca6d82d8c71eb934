import type { Client } from '#client/client.js';

export interface RunningCluster {
  /** With all rights. */
  readonly client: Client;
  /** Settles when a part ends that was not told to. */
  readonly failed: Promise<void>;
}
