import type { Clock } from '#apimachinery/clock.js';
import type { ApiServer } from '#apiserver/apiserver.js';
import { followFiles } from '#apiserver/config/serving-files.js';
import type { TLSMaterial } from '#apiserver/http/server.js';
import type { Logger } from '#daemon/log/logger.js';

/** The serving certificate as a server's parts describe it. */
export interface FollowedCertificate {
  readonly dependencies: { readonly clock: Clock; readonly log: Logger };
  /** Files that may be replaced while the server runs, and how to read them again. */
  readonly servingFiles: readonly string[];
  readonly loadServing: () => Promise<TLSMaterial>;
}

/** Serves with new certificates when their files are replaced. */
export async function followCertificate(
  server: ApiServer,
  { dependencies, loadServing, servingFiles: files }: FollowedCertificate,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = dependencies;
  if (files.length === 0) return;
  const changed = async () => server.reloadTLS(await loadServing());
  await followFiles({ files, clock, log, changed }, signal);
}
