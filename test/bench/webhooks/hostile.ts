/** The hostile cluster of the tests, for those who measure. */
import { startHostileCluster } from '#test/integration/apiserver/webhooks/hostile-cluster.js';
import { type HostileMode, hostileModes } from '#test/integration/apiserver/webhooks/hostile-server.js';

export interface Hostile {
  readonly sorts: readonly HostileMode[];
  become(sort: HostileMode): Promise<void>;
  /** Of those that suffer: writes, conversions and requests to an extension server in turn. */
  suffer(): Promise<void>;
  others(): Promise<void>;
  /** Lets go whoever waits. */
  release(): Promise<void>;
  stop(): Promise<void>;
}

export async function startHostile(): Promise<Hostile> {
  const ends: (() => unknown)[] = [];
  const teardown = (end: () => unknown) => void ends.unshift(end);
  const { hostile, write, convert, serve, other } = await startHostileCluster({ teardown } as never);
  let turn = 0;
  return {
    sorts: hostileModes,
    become: (sort) => hostile.become(sort),
    suffer: async () => {
      turn += 1;
      await [write, () => convert('timeout=1s'), serve][turn % 3]?.();
    },
    others: async () => {
      const { status } = await other();
      if (status !== 201) throw new Error(`another one's request was answered with ${status}`);
    },
    release: async () => {
      await hostile.become('good');
      await hostile.cut();
    },
    stop: async () => {
      for (const end of ends) await end();
    },
  };
}
