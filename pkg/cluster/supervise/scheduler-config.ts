/** The configuration file of a scheduler that is a process of its own. */
import { dirname, resolve } from 'node:path';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { isPlain, parseConfigText } from '#daemon/options/config-decode.js';
import { clientConfigField, configVersions } from '#scheduler/options/config/fields.js';

/**
 * Adds the client config, since the scheduler ignores the option for it when it has a configuration file, and makes the
 * paths of modules absolute. Throws OptionsError for a text that is no object; the scheduler validates the rest.
 * @param source Path that `text` was read from.
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
  return JSON.stringify({
    ...rest,
    ...(modules === undefined ? {} : { pluginModules: modules }),
    clientConnection: { [clientConfigField(dialect)]: client, ...connection },
  });
}
