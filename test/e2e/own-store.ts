import { layoutOf } from '#cluster/config/layout.js';
import { readSettings } from '#cluster/config/settings.js';
import { openStore, runningEtcd } from '#cluster/etcd/access.js';
import type { Store } from '#storage/store.js';

/** Direct access to the store of a running cluster, without its API server. */
export function ownStore(dataDir: string): Store {
  const layout = layoutOf(dataDir);
  const settings = readSettings(layout.settings);
  const access = settings && runningEtcd(layout, settings);
  if (access === undefined) throw new Error(`no etcd of ${dataDir} runs`);
  return openStore(access);
}
