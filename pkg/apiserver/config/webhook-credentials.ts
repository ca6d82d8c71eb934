/** The users of a client config file, as whom webhooks are asked (`WebhookAdmissionConfiguration`). */
import { dirname } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import type { WebhookCredentials, WebhookUser } from '#apiserver/webhooks/credentials.js';
import { KubeconfigError, parseKubeconfig, type User } from '#client/kubeconfig/file.js';
import { inlineOrFile } from '#client/kubeconfig/inline-or-file.js';
import { withAbsolutePaths } from '#client/kubeconfig/merge.js';
import { credentialsOf } from '#client/kubeconfig/user-credentials.js';
import { readFromDisk } from '#daemon/certificates/certificate-files.js';
import { OptionsError } from '#daemon/options/option.js';
import { FileTls } from '#http/client/credentials.js';

/** Throws OptionsError. */
export function webhookCredentials(option: string, path: string, text: string, clock: Clock): WebhookCredentials {
  try {
    const config = withAbsolutePaths(parseKubeconfig(text, path), dirname(path), path);
    const users = new Map(config.users.map(({ name, user }) => [name, userOf(user, { name, source: path, clock })]));
    const context = config.contexts.find(({ name }) => name === config['current-context']);
    return { users, current: users.get(context?.context.user ?? '') };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new OptionsError([`--${option}: ${error.message}`]);
    throw error;
  }
}

/** Programs that give credentials are not run: 1.24 has none here, either. */
function userOf(
  user: User,
  { name, source, clock }: { readonly name: string; readonly source: string; readonly clock: Clock },
): WebhookUser {
  if (user.exec !== undefined || user['auth-provider'] !== undefined) {
    throw new KubeconfigError(
      `${source}: user ${JSON.stringify(name)}: webhooks are asked with fixed credentials only`,
    );
  }
  const { token, headers } = credentialsOf(user, {
    name,
    source,
    file: undefined,
    clock,
    readFile: readFromDisk,
    env: {},
    plugins: undefined,
    metrics: undefined,
    proxy: undefined,
    cluster: { server: '' },
  });
  const [certificate, key] = [inlineOrFile(user, 'client-certificate'), inlineOrFile(user, 'client-key')];
  const tls = new FileTls({
    inline: { cert: certificate.inline, key: key.inline },
    files: { cert: certificate.file, key: key.file },
    clock,
  });
  return { tls, token, headers };
}
