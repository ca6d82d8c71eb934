/** The configuration of the webhook plugins: a kubeconfig file whose users are the server's credentials at webhooks. */
import { dirname, isAbsolute } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  configurationError,
  configurationOption,
  decodeConfiguration,
  type PluginConfiguration,
} from '#apiserver/admission/configuration.js';
import type { WebhookCredentials, WebhookUser } from '#apiserver/webhooks/credentials.js';
import { inlineOrFile, KubeconfigError, parseKubeconfig, type User } from '#client/kubeconfig/file.js';
import { withAbsolutePaths } from '#client/kubeconfig/merge.js';
import { credentialsOf } from '#client/kubeconfig/user-credentials.js';
import { readFromDisk } from '#daemon/certificates/certificate-files.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import type { FieldTable } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';
import { FileTls } from '#http/client/credentials.js';

const fields: FieldTable = { apiVersion: 'string', kind: 'string', kubeConfigFile: 'string' };

/** Undefined: webhooks are called without credentials. Throws OptionsError. */
export async function webhookCredentials(
  own: PluginConfiguration | undefined,
  { dialect, clock }: { readonly dialect: Dialect; readonly clock: Clock },
): Promise<WebhookCredentials | undefined> {
  if (own === undefined) return undefined;
  const versions = [dialect.apiServerConfigVersion];
  const decoded = decodeConfiguration(own, { fields, kind: 'WebhookAdmissionConfiguration', versions });
  const { kubeConfigFile: path = '' } = decoded as { kubeConfigFile?: string };
  if (path === '') return undefined;
  if (!isAbsolute(path)) {
    const why = `kubeConfigFile: Invalid value: ${JSON.stringify(path)}: must be an absolute file path`;
    throw configurationError(own.path, [why]);
  }
  return usersOf({ path, text: await textOf(configurationOption, path), clock });
}

/** The users of a kubeconfig file. Throws OptionsError. */
function usersOf({
  path,
  text,
  clock,
}: {
  readonly path: string;
  readonly text: string;
  readonly clock: Clock;
}): WebhookCredentials {
  try {
    const config = withAbsolutePaths(parseKubeconfig(text, path), dirname(path), path);
    const users = new Map(config.users.map(({ name, user }) => [name, userOf(user, { name, source: path, clock })]));
    const context = config.contexts.find(({ name }) => name === config['current-context']);
    return { users, current: users.get(context?.context.user ?? '') };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new OptionsError([`--${configurationOption}: ${error.message}`]);
    throw error;
  }
}

/** Like 1.24, supports no credential plugins here. */
function userOf(
  user: User,
  { name, source, clock }: { readonly name: string; readonly source: string; readonly clock: Clock },
): WebhookUser {
  if (user.exec !== undefined || user['auth-provider'] !== undefined) {
    throw new KubeconfigError(
      `${source}: user ${JSON.stringify(name)}: expected fixed credentials; webhooks support no credential plugins`,
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
