import type { Client } from '#client/client.js';

export interface RunningCluster {
  /** With all rights. */
  readonly client: Client;
  /** Settles when a part ends that was not told to. */
  readonly failed: Promise<void>;
  /** Has controllers and scheduler compete with those of other servers; resolves when they lead. Absent on mere nodes. */
  readonly elect?: (candidate: string) => Promise<void>;
}
