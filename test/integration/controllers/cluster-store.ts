/** A store over a real etcd, if available. */
import { existsSync } from 'node:fs';
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import type { Store } from '#storage/store.js';
import { startEtcd } from '#test/etcd.js';

/** Runs until the end of the test. Empty on a machine without etcd, where tests use the store in memory. */
export async function startEtcdStore(t: Test): Promise<{ store?: Store }> {
  if (!existsSync('/usr/bin/etcd')) return {};
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random });
  t.teardown(() => store.close());
  return { store };
}
