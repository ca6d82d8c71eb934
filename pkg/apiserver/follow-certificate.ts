import type { Clock } from '#apimachinery/clock.js';
import type { ApiServer } from '#apiserver/apiserver.js';
import type { ClientAuthorities } from '#apiserver/config/client-authorities.js';
import { followFiles } from '#daemon/certificates/followed-file.js';
import type { Logger } from '#daemon/log/logger.js';
import type { TLSMaterial } from '#http/server/https-server.js';

/** The serving certificate as a server's parts describe it, and whose client certificates are asked for. */
export interface FollowedCertificate {
  readonly dependencies: { readonly clock: Clock; readonly log: Logger };
  /** Files that may be replaced while the server runs, and how to read them again. */
  readonly servingFiles: readonly string[];
  readonly loadServing: () => Promise<TLSMaterial>;
  readonly authentication: { readonly authorities: ClientAuthorities };
}

/**
 * Serves with new certificates, and believes other authorities, when their files are replaced; `believesOthers` is called
 * after that.
 */
export async function followCertificate(
  server: ApiServer,
  { authentication, dependencies, loadServing, servingFiles }: FollowedCertificate,
  signal: AbortSignal,
  believesOthers: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const { clock, log } = dependencies;
  const { authorities } = authentication;
  const files = [...servingFiles, ...authorities.files];
  if (files.length === 0) return;
  const changed = async () => {
    const others = await authorities.reload();
    server.reloadTLS(await loadServing());
    if (others) await believesOthers();
  };
  await followFiles({ files, clock, log, changed }, signal);
}
