/** The scheduler's configuration file of `orch up`, for a scheduler that is a process of its own. */
import { dirname, resolve } from 'node:path';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { isPlain, parseConfigText } from '#daemon/options/config-decode.js';
import { clientConfigField, configVersions } from '#scheduler/options/config/fields.js';

/**
 * The same with the client's file, which no option can name beside a configuration file, and with the paths of modules
 * that it may be read from anywhere. Throws OptionsError for what is no object; all else is the scheduler's to refuse.
 * `source`: the path that `text` was read from.
 */
export function withClient(text: string, source: string, client: string): string {
  const file = parseConfigText(text);
  const dialect = configVersions(kubernetesDialect).includes(String(file['apiVersion']))
    ? kubernetesDialect
    : orchDialect;
  const { clientConnection, pluginModules, ...rest } = file;
  const modules = Array.isArray(pluginModules)
    ? pluginModules.map((each) =>
        isPlain(each) && typeof each['path'] === 'string'
          ? { ...each, path: resolve(dirname(source), each['path']) }
          : each,
      )
    : pluginModules;
  const connection = isPlain(clientConnection) ? clientConnection : {};
  // JSON is YAML.
  return JSON.stringify({
    ...rest,
    ...(modules === undefined ? {} : { pluginModules: modules }),
    clientConnection: { [clientConfigField(dialect)]: client, ...connection },
  });
}
