/** The servers of kubeconfig files that options name. */
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { WebhookBackend, type WebhookBackendOptions } from '#apiserver/webhooks/backend/backend.js';
import { KubeconfigError } from '#client/kubeconfig/file.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { OptionsError } from '#daemon/options/option.js';

export interface BackendOption {
  readonly name: string;
  /** What 1.24 says before the reason why it cannot use the file; absent: the option's name. */
  readonly words?: string;
}

/** Undefined without the option. Throws OptionsError. */
export async function openBackend(
  option: BackendOption,
  path: string | undefined,
  { clock, egress, random }: Pick<ServerEnvironment, 'clock' | 'egress' | 'random'>,
  limits: Pick<WebhookBackendOptions, 'initialBackoffMs' | 'retriesAll' | 'totalMs' | 'maxCalls'> = {},
): Promise<WebhookBackend | undefined> {
  if (path === undefined || path === '') return undefined;
  const { namespace: _, ...target } = await clientConfig(option, path, clock);
  return new WebhookBackend({
    transport: new HttpTransport({ ...target, clock, dial: egress?.dialOf('controlplane') }),
    url: new URL(target.server),
    clock,
    random,
    ...limits,
  });
}

async function clientConfig(
  { name, words }: BackendOption,
  path: string,
  clock: ServerEnvironment['clock'],
): Promise<ClientConfig> {
  try {
    return await loadKubeconfig(path, { clock });
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    if (words === undefined) throw new OptionsError([`--${name}: ${error.message}`]);
    const isMissing = (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
    throw new OptionsError([`${words}${isMissing ? `stat ${path}: no such file or directory` : error.message}`]);
  }
}

/** `user`: what uses the webhook, for errors. Throws OptionsError with 1.24's message. */
export function reviewVersion(user: string, version: string): 'v1' | 'v1beta1' {
  if (version === 'v1' || version === 'v1beta1') return version;
  const supported = 'supported versions are "v1", "v1beta1"';
  throw new OptionsError([`unsupported ${user} version ${JSON.stringify(version)}, ${supported}`]);
}
