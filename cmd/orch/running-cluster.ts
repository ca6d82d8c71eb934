import type { Registry } from 'prom-client';
import type { Client } from '#client/client.js';

export interface RunningCluster {
  /** With all rights. */
  readonly client: Client;
  /** Settles when a part ends that was not told to. */
  readonly failed: Promise<void>;
  /** Of the process, where it shows any. */
  readonly metrics?: Registry;
  /** Has controllers and scheduler compete with those of other servers; resolves when they lead. Absent on mere nodes. */
  readonly elect?: (candidate: string) => Promise<void>;
}
