/** What the node agent has set at logind for graceful shutdowns outlives it, until the cluster leaves the machine. */
import { dialectByName } from '#apimachinery/dialect.js';
import type { ClusterSettings } from '#cluster/config/settings.js';
import { BusctlLogind } from '#nodeagent/shutdown/busctl-logind.js';

/** Lets logind delay shutdowns no longer than before the cluster. Does nothing where no agent has changed that. */
export async function forgetShutdownDelay({ dialect, runtime }: ClusterSettings): Promise<void> {
  if (runtime !== 'containerd') return;
  const onInvalid = (): void => undefined;
  await new BusctlLogind({ dialect: dialectByName(dialect), onInvalid }).forgetInhibitDelay();
}
