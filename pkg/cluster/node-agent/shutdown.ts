/** Lets a node agent see shutdowns of its machine if its configuration file has periods for them. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Logger } from '#daemon/log/logger.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { FileOnlySettings } from '#nodeagent/options/config/file-only.js';
import { BusctlLogind } from '#nodeagent/shutdown/busctl-logind.js';
import type { Logind } from '#nodeagent/shutdown/logind.js';

export interface ShutdownContext {
  readonly dialect: Dialect;
  readonly log: Logger;
  /** A simulated node has no machine. */
  readonly isSimulated: boolean;
  /** Default: that of this machine. */
  readonly logind?: Logind;
}

export function shutdownDependencies(
  settings: FileOnlySettings,
  { dialect, log, isSimulated, logind }: ShutdownContext,
): Pick<NodeAgentDependencies, 'shutdown'> {
  const { shutdownGracePeriod: gracePeriodMs, shutdownGracePeriodCriticalPods: criticalPodsMs } = settings;
  const byPriority = settings.shutdownGracePeriodByPodPriority.map(({ priority, shutdownGracePeriodSeconds }) => ({
    priority,
    graceSeconds: shutdownGracePeriodSeconds,
  }));
  if (gracePeriodMs === 0 && byPriority.length === 0) return {};
  if (isSimulated) {
    log.warn('field shutdownGracePeriod has no effect: a simulated node has no machine that shuts down');
    return {};
  }
  const onInvalid = (line: string) => log.warn({ line }, 'reading a signal of logind failed');
  return {
    shutdown: {
      settings: { gracePeriodMs, criticalPodsMs, byPriority },
      logind: logind ?? new BusctlLogind({ dialect, onInvalid }),
    },
  };
}
